"""The composition root: puts one worker process together, runs it and drains it.

``foundation`` makes the parts that need no claim, ``assembly`` those that supply them with rows, ``worker`` runs them
all.
"""

from pgsched.scheduler.foundation import Containment
from pgsched.scheduler.worker import Worker

__all__ = ["Containment", "Worker"]
