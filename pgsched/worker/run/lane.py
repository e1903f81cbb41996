"""A lane: delivers one row after another."""

import asyncio

from pgsched.domain.execution import Execution


class Lane:
    """One row at a time; ``expires`` is the monotonic moment at which the watch ends the attempt, and ``only`` whether
    it is the one attempt that there may be, and has begun."""

    __slots__ = ("_lent", "_lent_to", "execution", "expired", "expires", "only", "sleeping", "started", "task")

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.execution: Execution | None = None
        self.started = 0.0
        self.expires = float("inf")
        self.expired = self.only = False
        self.sleeping: asyncio.Future[None] | None = None
        self._lent, self._lent_to = 0.0, 0.0

    def lend(self, seconds: float) -> None:
        """The loop stood still for so long, which was not the target's time. An attempt is lent no more than it had."""
        if self._lent_to != self.started:
            self._lent, self._lent_to = 0.0, self.started
        own = self.expires - self._lent - self.started
        more = min(seconds, own - self._lent)
        self._lent += more
        self.expires += more
