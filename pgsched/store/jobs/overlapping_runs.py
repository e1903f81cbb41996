"""Finds a job's unfinished runs when its next row is claimed, and makes the row wait for them, or ends them."""

from collections.abc import Iterable, Sequence
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.execution import ClaimedExecution, by_partition, instant_text, uuid_text
from pgsched.store import internal_verbs
from pgsched.store.core.sql import statement_in
from pgsched.store.core.wire import Instant, Instants, Uuids

Connection = AsyncConnection[Any]
_MOST_TOLD = 200  # a notification has room for 8000 bytes


async def earlier_runs(connection: Connection, rows: Iterable[ClaimedExecution]) -> dict[bytes, bytes]:
    """Returns, for each row whose job has an unfinished earlier run, the id of the latest such run."""
    cursors = []
    for partition, found in by_partition(rows).items():
        parameters = {
            "ids": Uuids(row.id for row in found),
            "jobs": Uuids(row.job_id or b"" for row in found),
            "instants": Instants(row.scheduled_for for row in found),
        }
        cursors.append(await connection.execute(statement_in("jobs/earlier_runs", partition), parameters, binary=True))
    return {row[0]: row[1] for cursor in cursors for row in await cursor.fetchall()}


async def queue(connection: Connection, row: ClaimedExecution, earlier: bytes, *, carries_on: bool) -> bool | None:
    """Makes a claimed row wait for the end of the run before it. Returns True if it waits, False if that run has ended,
    and None if another session has locked that run.
    """
    parameters = {
        "id": UUID(bytes=row.id),
        "token": row.token,
        "earlier": UUID(bytes=earlier),
        "carries_on": carries_on,
    }
    cursor = await connection.execute(statement_in("jobs/queue_claimed", row.partition), parameters, binary=True)
    if await cursor.fetchall():
        return True
    return None if await _any_left(connection, row) else False


async def cancel_earlier(connection: Connection, row: ClaimedExecution) -> bool:
    """Ends the remaining earlier runs of the job, and notifies workers to stop those that are running. Returns False if
    a run remains because another session has locked it.
    """
    reason = f"overlap: replaced by the run of {instant_text(row.scheduled_for)}"
    parameters = {"job": UUID(bytes=row.job_id or b""), "before": Instant(row.scheduled_for), "reason": reason}
    cursor = await connection.execute(statement_in("jobs/cancel_earlier", row.partition), parameters, binary=True)
    stopped = [uuid_text(found[0]) for found in await cursor.fetchall()]
    for begin in range(0, len(stopped), _MOST_TOLD):
        told = ",".join(stopped[begin : begin + _MOST_TOLD])
        await internal_verbs.notify_workers(connection, f"stop {told}")
    return not await _any_left(connection, row)


async def _any_left(connection: Connection, row: ClaimedExecution) -> bool:
    parameters = {"job": UUID(bytes=row.job_id or b""), "before": Instant(row.scheduled_for)}
    cursor = await connection.execute(statement_in("jobs/earlier_left", row.partition), parameters)
    found = await cursor.fetchone()
    return bool(found and found[0])


async def early_rows(connection: Connection, rows: Iterable[ClaimedExecution]) -> set[bytes]:
    """Returns the ids of the claimed rows whose start is in the future, by the database's clock."""
    return await _found(connection, "jobs/early_rows", rows)


async def _found(connection: Connection, query: LiteralString, rows: Iterable[ClaimedExecution]) -> set[bytes]:
    ids: set[bytes] = set()
    for partition, found in by_partition(rows).items():
        named = {"ids": Uuids(row.id for row in found)}
        cursor = await connection.execute(statement_in(query, partition), named, binary=True)
        ids.update([row[0] for row in await cursor.fetchall()])
    return ids


async def as_planned(connection: AsyncConnection[Any], rows: Sequence[ClaimedExecution]) -> list[ClaimedExecution]:
    """Returns the rows with the starts that they had before they were put off. Also restores these starts in the
    database: a row that begins before its ``fire_at`` would count as not begun.
    """
    late = [row for row in rows if row.fire_at > row.start]
    if not late:
        return list(rows)
    restored = await _found(connection, "jobs/restore_starts", late)
    return [row._replace(fire_at=row.start) if row.id in restored else row for row in rows]
