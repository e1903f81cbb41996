"""Executions that consumers and targets have in hand, as Python claims and settles them: by the functions of SQL."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import class_row, tuple_row

from pgsched.store.lookup.rows import Json

_CLAIM: LiteralString = "select * from pgsched.claim(%(queue)s, %(worker)s, %(batch)s, %(lease)s)"
_COMPLETE: LiteralString = "select pgsched.complete(%(id)s, %(token)s, %(result)s::jsonb)"
_FAIL: LiteralString = """
select pgsched.fail(%(id)s, %(token)s, %(error)s, %(retryable)s, %(retry_after)s::interval)::text
"""
_EXTEND: LiteralString = "select pgsched.extend(%(id)s, %(token)s, %(lease)s)"
_RELEASE: LiteralString = "select pgsched.release(%(id)s, %(token)s)"
_UNTIL_NEXT: LiteralString = "select pgsched_internal.until_next(%(queue)s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class InHand:
    """An execution that a consumer has until ``lease_expires_at``."""

    id: UUID
    token: int
    attempt: int
    scheduled_for: datetime
    client: str
    key: str | None
    ordering_key: str | None
    job_id: UUID | None
    payload: Json
    target: str
    options: Json
    lease_expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What a consumer or a target says of an attempt that failed."""

    error: str
    retryable: bool = True
    retry_after: timedelta | None = None


async def claim(
    connection: AsyncConnection[Any], queue: str, *, worker: str, batch: int, lease: timedelta
) -> list[InHand]:
    parameters = {"queue": queue, "worker": worker, "batch": batch, "lease": lease}
    async with connection.cursor(row_factory=class_row(InHand)) as cursor:
        await cursor.execute(_CLAIM, parameters)
        return await cursor.fetchall()


async def complete(connection: AsyncConnection[Any], id: UUID, token: int, result: str | None) -> None:
    """``result`` is JSON text."""
    await _value(connection, _COMPLETE, id=id, token=token, result=result)


async def fail(connection: AsyncConnection[Any], id: UUID, token: int, failure: Failure) -> str:
    """The status that the execution has now."""
    given = {"error": failure.error, "retryable": failure.retryable, "retry_after": failure.retry_after}
    return str(await _value(connection, _FAIL, id=id, token=token, **given))


async def extend(connection: AsyncConnection[Any], id: UUID, token: int, lease: timedelta) -> datetime:
    """Until when the execution is kept."""
    until: datetime = await _value(connection, _EXTEND, id=id, token=token, lease=lease)
    return until


async def release(connection: AsyncConnection[Any], id: UUID, token: int) -> None:
    await _value(connection, _RELEASE, id=id, token=token)


async def until_next(connection: AsyncConnection[Any], queue: str) -> float | None:
    """Seconds until the next execution of a queue is due; None where nothing waits."""
    found = await _value(connection, _UNTIL_NEXT, queue=queue)
    return None if found is None else float(found)


async def first_partition(connection: AsyncConnection[Any], queue: str) -> int | None:
    found = await _value(connection, "select first_partition from pgsched.queues where name = %(queue)s", queue=queue)
    return None if found is None else int(found)


async def _value(connection: AsyncConnection[Any], query: LiteralString, **parameters: Any) -> Any:
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(query, parameters)
        row = await cursor.fetchone()
    return row[0] if row else None
