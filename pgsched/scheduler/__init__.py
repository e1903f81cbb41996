"""The composition root: puts one worker process together, runs it and drains it.

``assembly`` makes all parts and connects them: the ``base`` that they share, the ``deliveries`` that attempts use, and
the ``supply`` of rows. ``worker`` runs them.
"""

from pgsched.scheduler.deliveries import Containment
from pgsched.scheduler.worker import Worker

__all__ = ["Containment", "Worker"]
