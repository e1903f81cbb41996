"""A lane, which delivers one row after another."""

import asyncio
from dataclasses import dataclass

from pgsched.domain.execution import ClaimedExecution


@dataclass(slots=True, eq=False)
class Lane:
    """Delivers one row at a time. ``expires`` is the monotonic time at which the attempt times out. ``only`` means that
    it is the only attempt that the row may have, and has begun. The worker has cancelled the attempt if it is
    ``expired`` (it timed out) or ``stopped`` (the row was ended in the database)."""

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
        """Cancels the attempt. Its outcome does not count."""
        if self.task is not None and not self.expired:
            self.stopped = True
            self.task.cancel()

    def forgive(self) -> None:
        """Undoes the task's cancellation after it has ended the attempt."""
        if self.task is not None:
            self.task.uncancel()

    def lend(self, seconds: float) -> None:
        """Extends the attempt by the time for which the loop was blocked, in total at most by its timeout."""
        if self._lent_to != self.started:
            self._lent, self._lent_to = 0.0, self.started
        own = self.expires - self._lent - self.started
        more = min(seconds, own - self._lent)
        self._lent += more
        self.expires += more
