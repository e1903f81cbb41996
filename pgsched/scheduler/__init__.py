"""The composition root: one worker process, put together from its rooms, run, drained and taken down.

``foundation`` makes what needs no claim, ``assembly`` what supplies it with rows, ``worker`` runs them all.
"""

from pgsched.scheduler.foundation import Trials
from pgsched.scheduler.worker import Worker

__all__ = ["Trials", "Worker"]
