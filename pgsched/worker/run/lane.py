"""Lanes, each of which delivers one row after another, and how many rows to have in hand for them."""

import asyncio
from dataclasses import dataclass

from pgsched.domain.execution import Execution

WEIGHT = 0.02
"""How much one attempt counts in the typical duration."""
_QUICKEST = 1e-5
_MOST_WAITING = 4_000


@dataclass(slots=True, eq=False)
class Lane:
    """Delivers one row at a time. ``expires`` is the monotonic moment at which the watch ends the attempt; ``only``
    says that it is the only attempt that the row may have, and has begun. ``expired`` and ``stopped`` say that the
    worker has cancelled it: the watch did, or it was ended in the database."""

    task: asyncio.Task[None] | None = None
    execution: Execution | None = None
    started: float = 0.0
    expires: float = float("inf")
    expired: bool = False
    stopped: bool = False
    only: bool = False
    sleeping: asyncio.Future[None] | None = None
    _lent: float = 0.0
    _lent_to: float = 0.0

    def stop(self) -> None:
        """Ends the attempt, whose outcome will not count."""
        if self.task is not None and not self.expired:
            self.stopped = True
            self.task.cancel()

    def forgive(self) -> None:
        """Undoes the task's cancellation, after it has ended the attempt."""
        if self.task is not None:
            self.task.uncancel()

    def lend(self, seconds: float) -> None:
        """Extends the attempt by the time that the loop stood still. An attempt is lent no more time than it had."""
        if self._lent_to != self.started:
            self._lent, self._lent_to = 0.0, self.started
        own = self.expires - self._lent - self.started
        more = min(seconds, own - self._lent)
        self._lent += more
        self.expires += more


class AttemptPace:
    """Decides how many rows to have in hand. ``typical`` is the seconds that an attempt takes; the last count most."""

    def __init__(self, *, concurrency: int, ahead: float) -> None:
        self._concurrency, self._ahead = concurrency, ahead
        self.typical = ahead

    @property
    def capacity(self) -> int:
        """As many rows as there are lanes, and as many more as the lanes can finish within the look-ahead.

        Quick handlers need more rows than lanes, or a lane would wait for each claim and each settle; slow ones no
        more, or their rows would wait here while another worker has lanes to spare.
        """
        finished = int(self._concurrency * self._ahead / max(self.typical, _QUICKEST))
        return self._concurrency + min(finished, _MOST_WAITING)

    def observe_running(self, seconds: float) -> None:
        """Takes the seconds that all attempts under way have taken together up to now."""
        self.typical = max(self.typical, seconds / self._concurrency)
