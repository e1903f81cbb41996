"""The public functions of ``interface/`` as Python calls them: the same ones that SQL users call.

Each call is one statement, so that without a transaction around it it commits in one round trip. Those of an
API request write their row of ``audit_log`` in the same statement, and only when they changed something.
"""

from datetime import datetime
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import tuple_row

from pgsched.store.order import Order

SCHEDULE: LiteralString = """
select pgsched.schedule(
         target => cast(%(target)s as text), payload => cast(%(payload)s as jsonb),
         fire_at => cast(%(fire_at)s as timestamptz), delay => cast(%(delay)s as interval),
         cron => cast(%(cron)s as text), every => cast(%(every)s as interval),
         timezone => cast(%(timezone)s as text), client => cast(%(client)s as text),
         key => cast(%(key)s as text),
         ordering_key => cast(%(ordering_key)s as text), queue => cast(%(queue)s as text),
         options => cast(%(options)s as jsonb), on_conflict => cast(%(on_conflict)s as text),
         rules => cast(%(rules)s as jsonb), labels => cast(%(labels)s as jsonb),
         after => cast(%(after)s as text[]), after_outcome => cast(%(after_outcome)s as text)) as id,
       coalesce(cast(%(fire_at)s as timestamptz),
                pgsched.now() + coalesce(cast(%(delay)s as interval), interval '0')) as fire_at
"""
_CHANGE_CLOCK_POLICY: LiteralString = """
update pgsched.jobs set gap = %(gap)s, overlap = %(overlap)s
 where id = %(id)s and (gap, overlap) is distinct from (%(gap)s, %(overlap)s) and updated_at = pgsched.now()
"""
_CANCEL: LiteralString = """
with called as materialized (select pgsched.cancel(%(id)s) as changed),
logged as (insert into pgsched.audit_log (actor, action, subject)
           select %(actor)s, 'cancel', %(id)s from called where changed)
select changed from called
"""
_PAUSE: LiteralString = """
with called as materialized (select pgsched.pause(%(id)s, cast(%(note)s as text)) as changed),
logged as (insert into pgsched.audit_log (actor, action, subject, detail)
           select %(actor)s, 'pause', %(id)s, jsonb_build_object('note', cast(%(note)s as text))
             from called where changed)
select changed from called
"""
_RESUME: LiteralString = """
with called as materialized (select pgsched.resume(%(id)s) as changed),
logged as (insert into pgsched.audit_log (actor, action, subject)
           select %(actor)s, 'resume', %(id)s from called where changed)
select changed from called
"""
_TRIGGER: LiteralString = """
with called as materialized (select pgsched.trigger(%(id)s) as execution_id),
logged as (insert into pgsched.audit_log (actor, action, subject, detail)
           select %(actor)s, 'trigger', %(id)s, jsonb_build_object('execution', execution_id) from called)
select execution_id from called
"""
_RESCHEDULE: LiteralString = """
with called as materialized (select pgsched.reschedule(%(id)s, %(fire_at)s)),
logged as (insert into pgsched.audit_log (actor, action, subject, detail)
           select %(actor)s, 'reschedule', %(id)s, jsonb_build_object('fire_at', %(fire_at)s) from called)
select count(*) from called
"""
_IS_JOB: LiteralString = "select exists (select from pgsched.jobs where id = %(id)s)"
_REVISIONS: LiteralString = "select version_num from pgsched.schema_version"


class Placed(NamedTuple):
    """The id that ``pgsched.schedule`` answered with, and the instant that was asked for."""

    id: UUID
    fire_at: datetime


async def schedule(connection: AsyncConnection[Any], order: Order) -> Placed:
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(SCHEDULE, order.parameters())
        return Placed._make(await cursor.fetchone() or ())


async def set_clock_policy(connection: AsyncConnection[Any], job_id: UUID, *, gap: str, overlap: str) -> None:
    """What a job does when the clocks change; before it is planned, in the transaction that made or edited it.

    One that the transaction found and kept is left as it is.
    """
    await connection.execute(_CHANGE_CLOCK_POLICY, {"id": job_id, "gap": gap, "overlap": overlap})


async def cancel(connection: AsyncConnection[Any], id: UUID, *, actor: str) -> bool:
    return bool(await _value(connection, _CANCEL, id=id, actor=actor))


async def pause(connection: AsyncConnection[Any], job_id: UUID, *, note: str | None, actor: str) -> bool:
    return bool(await _value(connection, _PAUSE, id=job_id, note=note, actor=actor))


async def resume(connection: AsyncConnection[Any], job_id: UUID, *, actor: str) -> bool:
    return bool(await _value(connection, _RESUME, id=job_id, actor=actor))


async def trigger(connection: AsyncConnection[Any], job_id: UUID, *, actor: str) -> UUID:
    execution_id: UUID = await _value(connection, _TRIGGER, id=job_id, actor=actor)
    return execution_id


async def reschedule(connection: AsyncConnection[Any], id: UUID, fire_at: datetime, *, actor: str) -> None:
    await _value(connection, _RESCHEDULE, id=id, fire_at=fire_at, actor=actor)


async def is_job(connection: AsyncConnection[Any], id: UUID) -> bool:
    return bool(await _value(connection, _IS_JOB, id=id))


async def revisions(connection: AsyncConnection[Any]) -> list[str]:
    """The revisions that the database has been migrated to."""
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(_REVISIONS)
        return [str(row[0]) for row in await cursor.fetchall()]


async def _value(connection: AsyncConnection[Any], query: LiteralString, **parameters: Any) -> Any:
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(query, parameters)
        row = await cursor.fetchone()
    return row[0] if row else None
