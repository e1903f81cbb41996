"""How a worker process ends that can no longer do its work.

Handlers run in the worker's own process. One can keep the event loop or the interpreter for ever, or cancel what the
worker lives by; then nothing goes on, and nothing in that process can be trusted to mend it. So the process ends at
once, and whoever keeps it (the supervisor, systemd, Kubernetes) starts another. What it had in hand is with others
within two seconds, and counts as lost, so that the culprit is soon run alone (``witness``).

Three look after that: the watchdog's thread while the loop stands still (``stand_in``); the process itself when a part
of its worker has ended though nobody told it to; and a timer outside the interpreter, which the thread winds up
again and again, where not even that thread can run.
"""

import faulthandler
import os
import time
from collections.abc import Iterable, Sequence
from enum import IntEnum

from pgsched.domain.execution import Execution
from pgsched.events import Events

_TOLD = 10
_UNTIL_TOLD = 5.0
_STANDARD_ERROR = 2
_WINDS = 20


class Status(IntEnum):
    """The exit status of a process that has ended itself."""

    BLOCKED = 70
    BROKEN = 71

    @property
    def words(self) -> str:
        """What had happened."""
        return _WORDS[self]


_WORDS = {
    Status.BLOCKED: "it kept the event loop beyond its time",
    Status.BROKEN: "it ended what the worker lives by",
}


class Ending:
    """Ends the process at once. ``after``: seconds without a ``wind`` after which that happens by itself."""

    def __init__(self, events: Events, *, after: float) -> None:
        self._events, self.after = events, after
        self._wound_at = float("-inf")

    def now(self, status: Status, why: str, running: Iterable[Execution]) -> None:
        """Says what is in hand and does not return. Callable in any thread; if what it says cannot be written, it ends
        all the same."""
        faulthandler.dump_traceback_later(_UNTIL_TOLD, exit=True, file=_STANDARD_ERROR)
        rows = list(running)
        self._events.emit("worker.gave_up", why=why, in_hand=len(rows), running=named(rows))
        os._exit(status)

    def wind(self) -> None:
        """A thread of this process runs. Called again and again, after the first time by one thread."""
        now = time.monotonic()
        if now - self._wound_at >= self.after / _WINDS:
            self._wound_at = now
            faulthandler.dump_traceback_later(self.after, exit=True, file=_STANDARD_ERROR)

    def unwind(self) -> None:
        """The process is about to end by itself."""
        faulthandler.cancel_dump_traceback_later()


def named(rows: Sequence[Execution]) -> str:
    """The first of them, for the log."""
    return ", ".join(f"{row.target} {row.uuid} of {row.client_id}" for row in rows[:_TOLD])
