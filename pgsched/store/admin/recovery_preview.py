"""Shows what would fire once a held installation is released."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store.core.query import rows

_LOOKED_AT, _SHOWN = 20_000, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue:
    """A client's executions in a queue that would fire at once: those that are due, and those that workers had claimed
    (``in_hand``).
    """

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
    """One of the executions that have been due the longest."""

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
    """What fires once the installation is released. ``calls`` covers the executions that are due now or within a day,
    and counts at most 20,000 of them.
    """

    overdue: Sequence[Overdue]
    oldest: Sequence[OverdueExecution]
    calls: Sequence[Called]


async def preview(connection: AsyncConnection[Any]) -> RecoveryPreview:
    return RecoveryPreview(
        overdue=await rows(connection, Overdue, "admin/overdue"),
        oldest=await rows(connection, OverdueExecution, "admin/overdue_sample", most=_SHOWN),
        calls=await rows(connection, Called, "admin/coming_hosts", looked_at=_LOOKED_AT, most=_SHOWN),
    )
