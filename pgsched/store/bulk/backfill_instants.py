"""Counts the instants that a backfill would run.

An instant counts as run only if history still contains its success. Some histories keep no successes.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from psycopg import AsyncConnection
from psycopg.rows import tuple_row

from pgsched.domain.job_definition import Definition
from pgsched.domain.recurrence import Recurrence
from pgsched.store.core.query import one
from pgsched.store.core.sql import statement

_AT_ONCE = 10_000
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The instants of a job from ``start`` (inclusive) to ``end`` (exclusive)."""

    job_id: UUID
    start: datetime
    end: datetime

    @classmethod
    def of(cls, filter: str) -> "Range":
        """Reads the range from a filter that the database has checked."""
        given = orjson.loads(filter)
        start, end = (datetime.fromisoformat(given[name]) for name in ("from", "to"))
        return cls(job_id=UUID(given["job"]), start=start, end=end)


async def count_instants(connection: AsyncConnection[Any], wanted: Range) -> tuple[int, int]:
    """Returns how many instants a range has, and how many of them succeeded. Raises the errors of ``recurrence_of``."""
    found = await recurrence_of(connection, wanted.job_id)
    instants = await asyncio.to_thread(instants_in, found, wanted)
    run_already = 0
    async for succeeded in _succeeded(connection, wanted):
        run_already += await asyncio.to_thread(found.count_hits, succeeded)
    return instants, run_already


async def recurrence_of(connection: AsyncConnection[Any], job_id: UUID) -> Recurrence:
    """Returns a job's recurrence. Raises NotFound if there is no such job, and InvalidSchedule if its schedule is
    invalid."""
    missing = f"there is no job {job_id}; the ids are in the list of jobs"
    job = await one(connection, Definition, "bulk/job_to_backfill", missing, job=job_id)
    return await asyncio.to_thread(job.recurrence)


def instants_in(found: Recurrence, wanted: Range) -> int:
    """Returns how many instants a range has."""
    counted = found.missed(wanted.start - MICROSECOND, wanted.end - MICROSECOND)
    return counted.count if counted else 0


async def _succeeded(connection: AsyncConnection[Any], wanted: Range) -> AsyncIterator[list[int]]:
    """Yields successful instants in blocks, because there may be millions."""
    async with connection.transaction(), connection.cursor("succeeded", row_factory=tuple_row) as cursor:
        span = {"job": wanted.job_id, "start": wanted.start, "end": wanted.end}
        await cursor.execute(statement("bulk/succeeded_instants"), span)
        while block := await cursor.fetchmany(_AT_ONCE):
            yield [row[0] for row in block]
