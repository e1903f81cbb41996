"""Schedules, and asks what an id is and what the session may do.

Each call is one statement, so that without a transaction around it it commits in one round trip.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

import orjson
from psycopg import AsyncConnection

from pgsched.domain.duration import format_duration
from pgsched.store import internal_verbs
from pgsched.store.core.query import column, first, value
from pgsched.store.schedule.schedule_parameters import ScheduleRequest

Outcome = Literal["created", "replaced", "existing", "ended"]
"""What scheduling came to: a new row; what waited under the key was replaced; what stands under it was left as it is,
since it runs or was to be kept; or nothing, since what had the key has succeeded lately."""


_TOGETHER = "target", "payload", "key", "ordering_key", "queue", "options", "on_conflict", "labels"


class Placed(NamedTuple):
    """What the key names now. ``fire_at`` is None for a job, and for an execution that runs, is held or has ended."""

    id: UUID
    outcome: Outcome
    fire_at: datetime | None


async def schedule(connection: AsyncConnection[Any], order: ScheduleRequest) -> Placed:
    return placed(await first(connection, "schedule/schedule", **order.parameters()))


async def schedule_together(connection: AsyncConnection[Any], orders: Sequence[ScheduleRequest]) -> list[Placed]:
    """The same for one-shots of one client that have an instant at the most besides what ``_TOGETHER`` names, one after
    another; raises what the database refuses one of them with, and then none is scheduled."""
    # One text of JSON, since psycopg takes longer to write an array than the rest of such a statement.
    given = orjson.dumps([_together(order) for order in orders], default=format_duration).decode()
    found = await internal_verbs.schedule_together(connection, orders[0].client, given)
    return [placed(row) for row in found]


def _together(order: ScheduleRequest) -> dict[str, Any]:
    given = {name: value for name in _TOGETHER if (value := getattr(order, name)) is not None}
    return given | {"fire_at": order.when.fire_at, "delay": order.when.delay}


def placed(row: Any) -> Placed:
    """What scheduling one answers with, as any driver has it."""
    id, outcome, fire_at = row
    return Placed(id if isinstance(id, UUID) else UUID(str(id)), outcome, fire_at)


async def may_plan(connection: AsyncConnection[Any]) -> bool:
    """Whether this session may plan; for those of clients a worker does, right after their commit."""
    return bool(await value(connection, "jobs/may_plan"))


async def is_job(connection: AsyncConnection[Any], id: UUID) -> bool:
    return bool(await value(connection, "jobs/is_job", id=id))


async def takes_writes(connection: AsyncConnection[Any]) -> bool:
    """Whether the database takes writes: a replica does not, nor one that is set to read only."""
    return bool(await value(connection, "core/takes_writes"))


async def revisions(connection: AsyncConnection[Any]) -> list[str]:
    """The revisions that the database has been migrated to."""
    return await column(connection, "admin/revisions")
