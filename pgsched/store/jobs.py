"""Recurring jobs: planning their next row, in the transaction in which it becomes due to be planned."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import class_row, tuple_row

from pgsched.domain.execution import Execution
from pgsched.domain.schedule import Schedule, from_parts, next_instant
from pgsched.domain.spread import identity_of, spread
from pgsched.errors import InvalidSchedule
from pgsched.store.sql import statement, statement_in
from pgsched.store.wire import Instants, Tokens, Uuids, to_datetime, to_instant

_LAST = to_instant(datetime(9999, 12, 31, tzinfo=UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What planning needs of a recurring definition."""

    id: UUID
    cron: str | None
    timezone: str
    every: timedelta | None
    anchor: datetime
    gap: str
    overlap: str
    planned_revision: int
    client: str
    key: str | None

    def schedule(self) -> Schedule:
        """What the row means. Raises InvalidSchedule."""
        if self.cron is not None:
            identity = identity_of(self.client, self.key, self.id)
            return from_parts(
                cron=self.cron, timezone=self.timezone, gap=self.gap, overlap=self.overlap, identity=identity
            )
        return from_parts(every=self.every, anchor=self.anchor)


class _Definition(NamedTuple):
    """What a claimed row's job recurs by, as it comes over the wire; ``every`` in microseconds."""

    id: bytes
    revision: int
    cron: str | None
    timezone: str
    gap: str
    overlap: str
    every: int | None
    anchor: int
    client: str
    key: str | None

    def resolved(self) -> "_Definition":
        """With values for each H, so that planning need not draw them again."""
        if self.cron is None:
            return self
        try:
            return self._replace(cron=spread(self.cron, identity_of(self.client, self.key, UUID(bytes=self.id))))
        except InvalidSchedule:  # raised again, and dealt with, by ``following``
            return self

    def following(self, instant: int) -> int | None:
        """The instant of the job after this one. Raises InvalidSchedule."""
        if self.every is not None:
            return max(instant + self.every - (instant - self.anchor) % self.every, self.anchor)
        second = instant - instant % 1_000_000  # without the fraction, all within a second share one search
        return _following(self.cron or "", self.timezone, self.gap, self.overlap, second)


@lru_cache(maxsize=16384)
def _following(cron: str, timezone: str, gap: str, overlap: str, instant: int) -> int | None:
    """Memoised by the text: jobs that share schedule and instant share all of it."""
    found = next_instant(from_parts(cron=cron, timezone=timezone, gap=gap, overlap=overlap), to_datetime(instant))
    return None if found is None else to_instant(found)


# By id and revision, so that nothing here is ever out of date: what is planned by an old revision is not inserted.
_definitions: dict[tuple[bytes | None, int | None], _Definition] = {}
_UNLESS_IT_STANDS: LiteralString = "on conflict do nothing"
_MOST_DEFINITIONS = 50_000  # about 400 bytes each


async def plan_successors(
    connection: AsyncConnection[Any], claimed: Sequence[Execution], *, again: bool
) -> dict[int, int]:
    """Inserts the next row of each claimed recurring row. Runs inside the claim's transaction.

    A job that was edited, paused or cancelled since is left alone: whoever changed it plans it. Returns the earliest
    instant planned in each partition. A row that stands already fails the transaction with UniqueViolation, unless it
    is made ``again``.
    """
    # Of several rows of a job the latest is followed; one of an older revision may be among them.
    latest = sorted(claimed, key=lambda row: (row.plan or 0, row.scheduled_for))
    rows = list({row.job_id: row for row in latest}.values())
    await _define(connection, rows)
    planned: dict[int, list[tuple[bytes, int, int]]] = {}
    for row in rows:
        definition = _definitions.get((row.job_id, row.plan))
        if definition is None:
            continue
        try:
            instant = definition.following(row.scheduled_for)
        except (InvalidSchedule, OverflowError) as error:
            # It was valid when it was planned; rules of time zones change. The others of this claim go on.
            await _mark_invalid(connection, UUID(bytes=definition.id), row.plan, error)
            continue
        if instant is not None and instant <= _LAST:
            planned.setdefault(row.partition, []).append((definition.id, definition.revision, instant))
    for partition, successors in planned.items():
        jobs, revisions, instants = zip(*sorted(successors), strict=True)
        parameters = {"jobs": Uuids(jobs), "revisions": Tokens(revisions), "instants": Instants(instants)}
        insert = statement_in("plan_successors", partition)
        await connection.execute(insert + _UNLESS_IT_STANDS if again else insert, parameters)
    return {partition: min(row[2] for row in successors) for partition, successors in planned.items()}


async def _define(connection: AsyncConnection[Any], rows: Iterable[Execution]) -> None:
    """Reads the definitions that are not known yet of the rows' jobs, at the revisions of the rows."""
    unknown = [row for row in rows if (row.job_id, row.plan) not in _definitions]
    if not unknown:
        return
    if len(_definitions) > _MOST_DEFINITIONS:
        _definitions.clear()
    named = {
        "jobs": Uuids(row.job_id for row in unknown if row.job_id is not None),
        "revisions": Tokens(row.plan for row in unknown if row.plan is not None),
    }
    cursor = await connection.execute(statement("jobs_in_hand"), named, binary=True)
    for found in map(_Definition._make, await cursor.fetchall()):
        _definitions[found.id, found.revision] = found.resolved()


async def plan_jobs(connection: AsyncConnection[Any], *, batch: int) -> tuple[int, list[tuple[Any, str]]]:
    """Plans jobs that are new or were edited, in one transaction.

    Returns how many were taken up, and (id, reason) of those whose schedule makes no sense.
    """
    async with connection.transaction():
        jobs = await _fetch(connection, statement("jobs_to_plan"), {"batch": batch})
        invalid = await _plan(connection, jobs)
    return len(jobs), invalid


async def plan_job(connection: AsyncConnection[Any], job_id: UUID) -> None:
    """Plans one job in the caller's transaction, if it is active and not planned yet.

    Raises InvalidSchedule for a schedule that makes no sense.
    """
    jobs = await _fetch(connection, statement("job_to_plan"), {"job": job_id})
    invalid = await _plan(connection, jobs)
    if invalid:
        raise InvalidSchedule(invalid[0][1])


async def repair_jobs(connection: AsyncConnection[Any]) -> int:
    """Takes up for planning again every active job without a row to carry it on; returns how many."""
    cursor = await connection.execute(statement("orphaned_jobs"))
    return cursor.rowcount


async def _plan(connection: AsyncConnection[Any], jobs: Sequence[Job]) -> list[tuple[Any, str]]:
    """Returns (id, reason) of those whose schedule makes no sense."""
    planned: list[tuple[UUID, datetime]] = []
    invalid: list[tuple[Any, str]] = []
    for job in jobs:
        try:
            instant = next_instant(job.schedule(), await _planned_from(connection, job))
        except (InvalidSchedule, OverflowError) as error:
            invalid.append((job.id, str(error)))
            await _mark_invalid(connection, job.id, None, error)
            continue
        if instant:
            planned.append((job.id, instant))
    await _insert(connection, planned)
    refused = {id for id, _ in invalid}
    if done := [job.id for job in jobs if job.id not in refused]:
        await connection.execute(statement("mark_planned"), {"jobs": done})
    return invalid


async def _planned_from(connection: AsyncConnection[Any], job: Job) -> datetime:
    """New and edited jobs go on from now; a repaired one from its last instant, so that none is missing."""
    async with connection.cursor(row_factory=tuple_row) as cursor:
        if job.planned_revision == 0:
            await cursor.execute(statement("last_instant"), {"job": job.id})
            last = await cursor.fetchone()
            if last and last[0] is not None:
                return _moment(last[0])
        await cursor.execute(statement("plan_from"), {"job": job.id})
        row = await cursor.fetchone()
    return _moment(row[0] if row else None)


async def _insert(connection: AsyncConnection[Any], planned: Sequence[tuple[UUID, datetime]]) -> None:
    if planned:
        ids, instants = [id for id, _ in planned], [instant for _, instant in planned]
        await connection.execute(statement("plan"), {"jobs": ids, "instants": instants})


async def _mark_invalid(connection: AsyncConnection[Any], job: UUID, revision: int | None, error: Exception) -> None:
    """``revision`` is the one whose schedule makes no sense; None where the job is locked and cannot have another."""
    await connection.execute(statement("mark_invalid"), {"job": job, "revision": revision, "reason": str(error)})


async def _fetch(connection: AsyncConnection[Any], query: Any, parameters: dict[str, Any]) -> list[Job]:
    async with connection.cursor(row_factory=class_row(Job)) as cursor:
        await cursor.execute(query, parameters)
        return await cursor.fetchall()


def _moment(value: Any) -> datetime:
    if not isinstance(value, datetime):
        raise TypeError(f"not a moment: {value!r}")
    return value
