"""A lane: delivers one row after another."""

import asyncio

from pgsched.domain.execution import Execution


class Lane:
    """One row at a time; ``expires`` is the monotonic moment at which the watch ends the attempt."""

    __slots__ = ("execution", "expired", "expires", "sleeping", "started", "task")

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.execution: Execution | None = None
        self.started = 0.0
        self.expires = float("inf")
        self.expired = False
        self.sleeping: asyncio.Future[None] | None = None
