"""What would fire once a held installation is released, and what is done about it before."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store import internal
from pgsched.store.core.query import rows

_LOOKED_AT, _SHOWN = 20_000, 10
_MOVED_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue:
    """What of a client and a queue fires at once: those that are due, and those that workers had ``in_hand``."""

    client: str
    queue: str
    executions: int
    in_hand: int
    of_jobs: int
    an_hour_late: int
    a_day_late: int
    oldest: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OverdueExecution:
    """One of those that have been due the longest."""

    id: UUID
    client: str
    target: str
    key: str | None
    scheduled_for: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A host, or a scheme such as ``python:``, and how many executions call it."""

    called: str
    executions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryPreview:
    """What fires once the installation is released. ``calls`` is of what is due or comes within a day, as far as
    20,000 executions tell."""

    overdue: Sequence[Overdue]
    oldest: Sequence[OverdueExecution]
    calls: Sequence[Called]


async def preview(connection: AsyncConnection[Any]) -> RecoveryPreview:
    return RecoveryPreview(
        overdue=await rows(connection, Overdue, "admin/overdue"),
        oldest=await rows(connection, OverdueExecution, "admin/overdue_sample", most=_SHOWN),
        calls=await rows(connection, Called, "admin/coming_hosts", looked_at=_LOOKED_AT, most=_SHOWN),
    )


class Spreading:
    """Moves what is due to instants from now on, ``rate`` of them a second, in the order in which it was due.

    A step is one statement, for a transaction of its own. Ended before it is through, it can be begun again.
    """

    def __init__(self, places: Sequence[SimpleNamespace], rate: float) -> None:
        self._partitions = [place.partition for place in places]
        self._apart = timedelta(seconds=len(places) / rate)
        self._begins = {
            place.partition: place.now + timedelta(seconds=(n + 1) / rate) for n, place in enumerate(places)
        }
        self._due_by = min((place.now for place in places), default=None)
        self.moved = 0

    @classmethod
    async def of(cls, connection: AsyncConnection[Any], rate: float) -> "Spreading":
        """Finds the partitions in which something is due."""
        return cls(await rows(connection, SimpleNamespace, "admin/overdue_partitions"), rate)

    async def step(self, connection: AsyncConnection[Any]) -> bool:
        """Moves the next. Returns whether there may be more."""
        if not self._partitions or self._due_by is None:
            return False
        partition = self._partitions[-1]
        moved = await internal.spread_overdue(
            connection,
            partition,
            due_by=self._due_by,
            begins=self._begins[partition],
            apart=self._apart,
            most=_MOVED_AT_ONCE,
        )
        self._begins[partition] += moved * self._apart
        self.moved += moved
        if moved < _MOVED_AT_ONCE:
            self._partitions.pop()
        return bool(self._partitions)
