"""Adds counts per minute, queue and client to the rollups, which ``throughput`` reads."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson
from psycopg import AsyncConnection

from pgsched.domain.execution import instant_text
from pgsched.domain.histogram import nothing
from pgsched.store import internal_verbs

EVERYBODY = ""
"""Stands for all clients together; no client has this name."""


@dataclass(slots=True)
class Counted:
    """What a worker has counted in a minute (wire instant), for a queue (by number) and a client."""

    minute: int
    queue: int
    client_id: str
    attempts: int = 0
    failed_attempts: int = 0
    succeeded: int = 0
    lateness: list[int] = field(default_factory=nothing)
    duration: list[int] = field(default_factory=nothing)

    def add(self, other: "Counted") -> None:
        """Adds the counts of ``other``."""
        self.attempts += other.attempts
        self.failed_attempts += other.failed_attempts
        self.succeeded += other.succeeded
        self.lateness = [one + more for one, more in zip(self.lateness, other.lateness, strict=True)]
        self.duration = [one + more for one, more in zip(self.duration, other.duration, strict=True)]


async def add(connection: AsyncConnection[Any], counted: Sequence[Counted], queue_names: Mapping[int, str]) -> None:
    """Adds these counts to the rollups. A queue that no longer has a name is listed by its number."""
    told = [
        asdict(one) | {"minute": instant_text(one.minute), "queue": queue_names.get(one.queue, str(one.queue))}
        for one in counted
    ]
    await internal_verbs.roll_up(connection, orjson.dumps(told).decode())
