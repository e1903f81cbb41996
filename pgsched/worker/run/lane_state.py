"""The state of a lane, which delivers one row after another: its task, its row and the time limit."""

import asyncio
from dataclasses import dataclass

from pgsched.domain.execution import ClaimedExecution


@dataclass(slots=True, eq=False)
class Lane:
    """Delivers one row at a time. ``expires`` is the monotonic time at which the attempt times out. ``only`` means that
    the attempt has begun and is the only one that the row may have. The worker has cancelled the attempt if it is
    ``expired`` (timed out) or ``stopped`` (the row was ended in the database)."""

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
        """Clears the task's cancellation, which has ended the attempt but must not end the lane."""
        if self.task is not None:
            self.task.uncancel()

    def lend(self, seconds: float) -> None:
        """Extends the attempt's time limit by the seconds for which the loop was blocked. In total, the extension is at
        most as long as the attempt's timeout."""
        if self._lent_to != self.started:
            self._lent, self._lent_to = 0.0, self.started
        own = self.expires - self._lent - self.started
        more = min(seconds, own - self._lent)
        self._lent += more
        self.expires += more
