"""The public functions of ``interface/`` as Python calls them: the same ones that SQL users call.

Each call is one statement, so that without a transaction around it it commits in one round trip. The functions write
the audit log by themselves; without an ``actor`` it names the role that the session acts as.
"""

from datetime import datetime
from typing import Any, Literal, LiteralString, NamedTuple
from uuid import UUID

import orjson
from psycopg import AsyncConnection
from psycopg.rows import tuple_row

from pgsched.store.lookup.rows import JobFilter
from pgsched.store.schedule.order import Order

Verb = Literal["pause", "resume", "cancel"]
SCHEDULE: LiteralString = """
select placed.id, placed.outcome, placed.fires_at
  from pgsched.schedule_outcome(
         target => cast(%(target)s as text), payload => cast(%(payload)s as jsonb),
         fire_at => coalesce(cast(%(fire_at)s as timestamptz), '4714-11-24 00:00:00+00 BC'),
         delay => coalesce(cast(%(delay)s as interval), '-178000000 years'),
         cron => coalesce(cast(%(cron)s as text), '@once'),
         every => coalesce(cast(%(every)s as interval), '-178000000 years'),
         timezone => cast(%(timezone)s as text), client => cast(%(client)s as text),
         key => cast(%(key)s as text),
         ordering_key => cast(%(ordering_key)s as text), queue => cast(%(queue)s as text),
         options => cast(%(options)s as jsonb), on_conflict => cast(%(on_conflict)s as text),
         rules => cast(%(rules)s as jsonb), labels => cast(%(labels)s as jsonb),
         after => cast(%(after)s as text[]), after_outcome => cast(%(after_outcome)s as text),
         gap => cast(%(gap)s as text), overlap => cast(%(overlap)s as text)) as placed
"""
_CANCEL: LiteralString = "select pgsched.cancel(id => %(id)s, note => %(note)s::text, actor => %(actor)s::text)"
_PAUSE: LiteralString = "select pgsched.pause(%(id)s, %(note)s::text, %(actor)s::text)"
_RESUME: LiteralString = "select pgsched.resume(%(id)s, %(note)s::text, %(actor)s::text)"
_TRIGGER: LiteralString = "select pgsched.trigger(%(id)s, %(actor)s::text)"
_RESCHEDULE: LiteralString = "select pgsched.reschedule(%(id)s, %(fire_at)s, %(actor)s::text)"
_EDIT: LiteralString = "select pgsched.edit(%(id)s, %(changes)s::jsonb, %(actor)s::text)"
_ALL: dict[Verb, LiteralString] = {
    "pause": "select pgsched.pause_all(%(client)s::text, %(labels)s::jsonb, %(note)s::text, %(actor)s::text)",
    "resume": "select pgsched.resume_all(%(client)s::text, %(labels)s::jsonb, %(note)s::text, %(actor)s::text)",
    "cancel": "select pgsched.cancel_all(%(client)s::text, %(labels)s::jsonb, %(note)s::text, %(actor)s::text)",
}
_MAY_PLAN: LiteralString = "select has_column_privilege('pgsched.jobs', 'planned_revision', 'UPDATE')"
_IS_JOB: LiteralString = "select exists (select from pgsched.jobs where id = %(id)s)"
_TAKES_WRITES: LiteralString = (
    "select not pg_catalog.pg_is_in_recovery() and pg_catalog.current_setting('transaction_read_only') = 'off'"
)
_REVISIONS: LiteralString = "select version_num from pgsched.schema_version"


Outcome = Literal["created", "replaced", "existing", "ended"]
"""What scheduling came to: a new row; what waited under the key was replaced; what stands under it was left as it is,
since it runs or was to be kept; or nothing, since what had the key has succeeded lately."""


class Placed(NamedTuple):
    """What the key names now. ``fire_at`` is None for a job, and for an execution that runs, is held or has ended."""

    id: UUID
    outcome: Outcome
    fire_at: datetime | None


async def schedule(connection: AsyncConnection[Any], order: Order) -> Placed:
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(SCHEDULE, order.parameters())
        return placed(await cursor.fetchone())


def placed(row: Any) -> Placed:
    """The one row of ``SCHEDULE``, as any driver has it."""
    id, outcome, fire_at = row
    return Placed(id if isinstance(id, UUID) else UUID(str(id)), outcome, fire_at)


async def cancel(
    connection: AsyncConnection[Any], id: UUID, *, note: str | None = None, actor: str | None = None
) -> bool:
    return bool(await value(connection, _CANCEL, id=id, note=note, actor=actor))


async def pause(connection: AsyncConnection[Any], job_id: UUID, *, note: str | None, actor: str | None) -> bool:
    return bool(await value(connection, _PAUSE, id=job_id, note=note, actor=actor))


async def resume(connection: AsyncConnection[Any], job_id: UUID, *, note: str | None, actor: str | None) -> bool:
    return bool(await value(connection, _RESUME, id=job_id, note=note, actor=actor))


async def trigger(connection: AsyncConnection[Any], job_id: UUID, *, actor: str | None) -> UUID:
    execution_id: UUID = await value(connection, _TRIGGER, id=job_id, actor=actor)
    return execution_id


async def reschedule(connection: AsyncConnection[Any], id: UUID, fire_at: datetime, *, actor: str | None) -> None:
    await value(connection, _RESCHEDULE, id=id, fire_at=fire_at, actor=actor)


async def edit(connection: AsyncConnection[Any], job_id: UUID, changes: str, *, actor: str | None) -> bool:
    """``changes`` is the JSON text that ``pgsched.edit`` reads; planning what it changed is left to the caller."""
    return bool(await value(connection, _EDIT, id=job_id, changes=changes, actor=actor))


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
    found = await value(connection, _ALL[verb], client=wanted.client, labels=labels, note=note, actor=actor)
    return int(found)


async def may_plan(connection: AsyncConnection[Any]) -> bool:
    """Whether this session may plan; for those of clients a worker does, right after their commit."""
    return bool(await value(connection, _MAY_PLAN))


async def is_job(connection: AsyncConnection[Any], id: UUID) -> bool:
    return bool(await value(connection, _IS_JOB, id=id))


async def takes_writes(connection: AsyncConnection[Any]) -> bool:
    """Whether the database takes writes: a replica does not, nor one that is set to read only."""
    return bool(await value(connection, _TAKES_WRITES))


async def revisions(connection: AsyncConnection[Any]) -> list[str]:
    """The revisions that the database has been migrated to."""
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(_REVISIONS)
        return [str(row[0]) for row in await cursor.fetchall()]


async def value(connection: AsyncConnection[Any], query: LiteralString, **parameters: Any) -> Any:
    """The one value that a call of a function answers with."""
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(query, parameters)
        row = await cursor.fetchone()
    return row[0] if row else None
