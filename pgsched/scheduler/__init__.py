"""The composition root: assembles one worker process, runs it and drains it.

``assembly`` creates all parts, ``wiring`` connects them, and ``worker`` runs them.
"""

from pgsched.scheduler.assembly import Containment
from pgsched.scheduler.worker import Worker

__all__ = ["Containment", "Worker"]
