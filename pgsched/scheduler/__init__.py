"""The composition root: puts one worker process together, runs it and drains it.

``assembly`` makes all parts and connects them: those that all need (``common_parts``), those that attempts use
(``attempt_parts``), and those that bring rows (``row_supply``). ``worker`` runs them.
"""

from pgsched.scheduler.attempt_parts import Containment
from pgsched.scheduler.worker import Worker

__all__ = ["Containment", "Worker"]
