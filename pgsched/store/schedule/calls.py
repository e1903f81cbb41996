"""The public functions of ``interface/`` as Python calls them: the same ones that SQL users call.

Each call is one statement, so that without a transaction around it it commits in one round trip. The functions write
the audit log by themselves; without an ``actor`` it names the role that the session acts as.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

import orjson
from psycopg import AsyncConnection

from pgsched.domain.duration import format_duration
from pgsched.store.core.query import column, first, rows, value
from pgsched.store.lookup.rows import JobFilter
from pgsched.store.schedule.order import Order

Verb = Literal["pause", "resume", "cancel"]
Outcome = Literal["created", "replaced", "existing", "ended"]
"""What scheduling came to: a new row; what waited under the key was replaced; what stands under it was left as it is,
since it runs or was to be kept; or nothing, since what had the key has succeeded lately."""


_TOGETHER = "target", "payload", "key", "ordering_key", "queue", "options", "on_conflict", "labels"


class Placed(NamedTuple):
    """What the key names now. ``fire_at`` is None for a job, and for an execution that runs, is held or has ended."""

    id: UUID
    outcome: Outcome
    fire_at: datetime | None


async def schedule(connection: AsyncConnection[Any], order: Order) -> Placed:
    return placed(await first(connection, "schedule/schedule", **order.parameters()))


async def schedule_together(connection: AsyncConnection[Any], orders: Sequence[Order]) -> list[Placed]:
    """The same for one-shots of one client that have an instant at the most besides what ``_TOGETHER`` names, one after
    another; raises what the database refuses one of them with, and then none is scheduled."""
    # One text of JSON, since psycopg takes longer to write an array than the rest of such a statement.
    given = orjson.dumps([_together(order) for order in orders], default=format_duration).decode()
    return await rows(connection, Placed, "schedule/schedule_together", client=orders[0].client, orders=given)


def _together(order: Order) -> dict[str, Any]:
    given = {name: value for name in _TOGETHER if (value := getattr(order, name)) is not None}
    return given | {"fire_at": order.when.fire_at, "delay": order.when.delay}


def placed(row: Any) -> Placed:
    """The one row of ``schedule/schedule``, as any driver has it."""
    id, outcome, fire_at = row
    return Placed(id if isinstance(id, UUID) else UUID(str(id)), outcome, fire_at)


async def cancel(
    connection: AsyncConnection[Any], id: UUID, *, note: str | None = None, actor: str | None = None
) -> bool:
    return bool(await value(connection, "schedule/cancel", id=id, note=note, actor=actor))


async def pause(connection: AsyncConnection[Any], job_id: UUID, *, note: str | None, actor: str | None) -> bool:
    return bool(await value(connection, "jobs/pause", id=job_id, note=note, actor=actor))


async def resume(connection: AsyncConnection[Any], job_id: UUID, *, note: str | None, actor: str | None) -> bool:
    return bool(await value(connection, "jobs/resume", id=job_id, note=note, actor=actor))


async def trigger(connection: AsyncConnection[Any], job_id: UUID, *, actor: str | None) -> UUID:
    execution_id: UUID = await value(connection, "jobs/trigger", id=job_id, actor=actor)
    return execution_id


async def reschedule(connection: AsyncConnection[Any], id: UUID, fire_at: datetime, *, actor: str | None) -> None:
    await value(connection, "schedule/reschedule", id=id, fire_at=fire_at, actor=actor)


async def cancel_by_key(
    connection: AsyncConnection[Any], client: str, key: str, *, note: str | None = None, actor: str | None = None
) -> bool:
    """``cancel`` of what the client has under the key: an execution, or a job."""
    return bool(await value(connection, "schedule/cancel_by_key", client=client, key=key, note=note, actor=actor))


async def reschedule_by_key(
    connection: AsyncConnection[Any], client: str, key: str, fire_at: datetime, *, actor: str | None
) -> None:
    """``reschedule`` of what the client has under the key."""
    await value(connection, "schedule/reschedule_by_key", client=client, key=key, fire_at=fire_at, actor=actor)


async def edit(
    connection: AsyncConnection[Any], job_id: UUID, changes: str, *, actor: str | None, force: bool = False
) -> bool:
    """``changes`` is the JSON text that ``pgsched.edit`` reads; planning what it changed is left to the caller."""
    return bool(await value(connection, "jobs/edit", id=job_id, changes=changes, actor=actor, force=force))


async def mark_declared(
    connection: AsyncConnection[Any], job_id: UUID, declared_by: str | None, *, actor: str | None
) -> bool:
    return bool(await value(connection, "jobs/mark_declared", id=job_id, declared_by=declared_by, actor=actor))


async def change_all(
    connection: AsyncConnection[Any],
    verb: Verb,
    wanted: JobFilter,
    *,
    note: str | None,
    actor: str | None,
) -> int:
    """Changes all jobs of a client, or those with some labels; returns how many."""
    labels = None if wanted.labels is None else orjson.dumps(wanted.labels).decode()
    found = await value(connection, f"jobs/{verb}_all", client=wanted.client, labels=labels, note=note, actor=actor)
    return int(found)


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
