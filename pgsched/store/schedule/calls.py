"""Schedules, and finds out what an id refers to and what the session may do.

Each call is one statement, so outside a transaction it commits in one round trip.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

import orjson
from psycopg import AsyncConnection

from pgsched.domain.duration import format_duration
from pgsched.store import internal_verbs
from pgsched.store.core.query import first, value
from pgsched.store.schedule.schedule_parameters import ScheduleRequest

Outcome = Literal["created", "replaced", "existing", "ended"]
"""The outcome of scheduling. ``created``: a new row. ``replaced``: the key's waiting row was replaced. ``existing``:
the key's row was left unchanged, because it is running or because of ``on_conflict``. ``ended``: nothing was scheduled,
because the key's execution has recently succeeded.
"""


_TOGETHER = "target", "payload", "key", "ordering_key", "queue", "options", "on_conflict", "labels"


class Placed(NamedTuple):
    """The scheduled row, or the row that already has its key. ``fire_at`` is None for a job, and for an execution that
    is running, held or ended.
    """

    id: UUID
    outcome: Outcome
    fire_at: datetime | None


async def schedule(connection: AsyncConnection[Any], order: ScheduleRequest) -> Placed:
    return placed(await first(connection, "schedule/schedule", **order.parameters()))


async def schedule_together(connection: AsyncConnection[Any], orders: Sequence[ScheduleRequest]) -> list[Placed]:
    """Schedules, in order, one-shots of one client that have only a time and the fields in ``_TOGETHER``. If the
    database refuses one of them, schedules none and raises the database's error.
    """
    # The requests are sent as one JSON text, because psycopg takes longer to write an array than the rest of the
    # statement takes.
    given = orjson.dumps([_together(order) for order in orders], default=format_duration).decode()
    found = await internal_verbs.schedule_together(connection, orders[0].client, given)
    return [placed(row) for row in found]


def _together(order: ScheduleRequest) -> dict[str, Any]:
    given = {name: value for name in _TOGETHER if (value := getattr(order, name)) is not None}
    return given | {"fire_at": order.when.fire_at, "delay": order.when.delay}


def placed(row: Any) -> Placed:
    """Converts the result of scheduling, whichever driver returned it."""
    id, outcome, fire_at = row
    return Placed(id if isinstance(id, UUID) else UUID(str(id)), outcome, fire_at)


async def may_plan(connection: AsyncConnection[Any]) -> bool:
    """Whether this session may plan jobs. Clients' sessions may not; instead, a worker plans right after the commit."""
    return bool(await value(connection, "jobs/may_plan"))


async def is_job(connection: AsyncConnection[Any], id: UUID) -> bool:
    return bool(await value(connection, "jobs/is_job", id=id))
