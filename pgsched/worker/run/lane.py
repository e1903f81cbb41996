"""A lane, which delivers one row after another."""

import asyncio
from dataclasses import dataclass

from pgsched.domain.execution import ClaimedExecution


@dataclass(slots=True, eq=False)
class Lane:
    """Delivers one row at a time. ``expires`` is the monotonic moment at which the watch ends the attempt; ``only``
    says that it is the only attempt that the row may have, and has begun. ``expired`` and ``stopped`` say that the
    worker has cancelled it: the watch did, or it was ended in the database."""

    task: asyncio.Task[None] | None = None
    execution: ClaimedExecution | None = None
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
