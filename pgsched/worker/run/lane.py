"""A lane: delivers one row after another."""

import asyncio

from pgsched.domain.execution import Execution


class Lane:
    """One row at a time; ``expires`` is the monotonic moment at which the watch ends the attempt, and ``only`` whether
    it is the one attempt that there may be, and has begun. ``expired`` and ``stopped`` say that it was cancelled by the
    worker: by the watch, or since it was ended in the database."""

    __slots__ = (
        "_lent",
        "_lent_to",
        "execution",
        "expired",
        "expires",
        "only",
        "sleeping",
        "started",
        "stopped",
        "task",
    )

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.execution: Execution | None = None
        self.started = 0.0
        self.expires = float("inf")
        self.expired = self.stopped = self.only = False
        self.sleeping: asyncio.Future[None] | None = None
        self._lent, self._lent_to = 0.0, 0.0

    def stop(self) -> None:
        """Ends the attempt: its outcome does not count."""
        if self.task is not None and not self.expired:
            self.stopped = True
            self.task.cancel()

    def forgive(self) -> None:
        """Its cancellation has done what it was for."""
        if self.task is not None:
            self.task.uncancel()

    def lend(self, seconds: float) -> None:
        """The loop stood still for so long, which was not the target's time. An attempt is lent no more than it had."""
        if self._lent_to != self.started:
            self._lent, self._lent_to = 0.0, self.started
        own = self.expires - self._lent - self.started
        more = min(seconds, own - self._lent)
        self._lent += more
        self.expires += more
