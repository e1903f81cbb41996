"""Finds the rows that make a claim fail, and sets them aside so that the claim can be repeated without them.

The rows that the claim would take are locked without reading their contents. Then the claim is tried with halves of the
rows (``core.culprits``), and each try is rolled back. A row that cannot be claimed even alone is parked with the
reason, or put off if another session's lock was the cause. All this happens under the locks, so that no other worker's
row is mistaken for the culprit.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

import psycopg
from psycopg import AsyncConnection

from pgsched.domain.duration import NO_TIME
from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.culprits import Culprit, by_halves, is_a_brief_lock, is_a_lock, is_of_a_row, took_too_long
from pgsched.store.core.sql import statement, statement_among, statement_in
from pgsched.store.core.wire import Instant, Uuids
from pgsched.store.live import executions
from pgsched.store.live.executions import Admit, Claimed, Lease, PartitionShare
from pgsched.store.live.parked_rows import SetAside, park
from pgsched.store.live.row_filter_and_next_due import ALL_ROWS, RowFilter

Connection = AsyncConnection[Any]
_TRIES = 3
_QUICK, _PATIENT = "500ms", "5s"


class RowPlace(NamedTuple):
    """The location of a row that may be at fault."""

    partition: int
    id: bytes


async def claim_despite(
    error: Exception,
    connection: Connection,
    lease: Lease,
    shares: Sequence[PartitionShare],
    *,
    now: int,
    admit: Admit | None = None,
    row_filter: RowFilter = ALL_ROWS,
) -> Claimed:
    """Repeats ``executions.claim`` after setting aside the row that caused an error. The result lists this row."""
    parked: list[SetAside] = []
    for _ in range(_TRIES):
        if not is_a_brief_lock(error):
            parked += await _sift(connection, lease, shares, row_filter, now=now, admit=admit)
            refused = tuple(one.id for one in parked if one.how == "left")
            row_filter = replace(row_filter, refused=(*row_filter.refused, *refused)) if refused else row_filter
        try:
            answer = await executions.claim(connection, lease, shares, now=now, admit=admit, row_filter=row_filter)
        except Exception as again:
            if not is_of_a_row(again):
                raise
            error = again
        else:
            return answer._replace(parked=tuple(parked))
    raise error


async def sift_held(
    connection: Connection,
    lease: Lease,
    gate: str,
    partitions: Sequence[int],
    *,
    batch: int,
    attempt: Callable[[list[ClaimedExecution]], Awaitable[object]],
) -> list[SetAside]:
    """Sets aside rows that a gate holds and that cannot be claimed, or that make ``attempt`` fail."""

    async def lock() -> list[RowPlace]:
        text = statement_among("live/held_rows", tuple(partitions))
        cursor = await connection.execute(text, {"gate": gate, "batch": batch}, binary=True)
        return [RowPlace(*row) for row in await cursor.fetchall()]

    async def try_out(places: Sequence[RowPlace]) -> None:
        await attempt(await lease_rows(connection, lease, places))

    return await sift(connection, lock, try_out)


async def _sift(
    connection: Connection,
    lease: Lease,
    shares: Sequence[PartitionShare],
    row_filter: RowFilter,
    *,
    now: int,
    admit: Admit | None,
) -> list[SetAside]:
    async def lock() -> list[RowPlace]:
        places: list[RowPlace] = []
        for share in shares:
            named = row_filter.parameters_in(share.partition)
            places += await lock_due(connection, lease, [share], row_filter.clauses, named, row_filter.order)
        return places

    async def attempt(places: Sequence[RowPlace]) -> None:
        rows = await lease_rows(connection, lease, places)
        await executions.carry_on(connection, lease, rows, now=now, admit=admit, again=True)

    return await sift(connection, lock, attempt, ahead=lease.ahead)


async def sift(
    connection: Connection,
    lock: Callable[[], Awaitable[list[RowPlace]]],
    attempt: Callable[[Sequence[RowPlace]], Awaitable[object]],
    *,
    ahead: timedelta = NO_TIME,
) -> list[SetAside]:
    """Sets aside the locked rows that make an attempt fail. Returns those that were parked.

    Raises errors for which no row is to blame.
    """

    async def try_out(part: Sequence[RowPlace]) -> None:
        async with connection.transaction(force_rollback=True):
            await attempt(part)

    parked: list[SetAside] = []
    async with connection.transaction():
        await connection.execute(statement("live/be_quick"), {"limit": _QUICK})
        culprits = (await by_halves(await lock(), try_out)).culprits
        await connection.execute(statement("live/be_quick"), {"limit": _PATIENT})
        for culprit in culprits:
            if is_a_lock(culprit.error) and await _put_off(connection, culprit.row, ahead):
                continue
            # No row is to blame if the server is slow for a moment.
            if not took_too_long(culprit.error) or (await by_halves([culprit.row], try_out)).culprits:
                parked.append(await _park(connection, culprit))
    return parked


async def lock_due(
    connection: Connection,
    lease: Lease,
    shares: Iterable[PartitionShare],
    clauses: tuple[str, ...],
    named: Mapping[str, Any],
    order: LiteralString = "",
) -> list[RowPlace]:
    """Locks and returns the due rows that a claim would take. Skips a partition whose rows cannot even be locked."""
    places: list[RowPlace] = []
    for share in shares:
        if share.batch <= 0:
            continue
        parameters = {**named, "low": Instant(share.low), "ahead": lease.ahead, "batch": share.batch}
        try:
            async with connection.transaction():
                text = statement_in("live/due_rows", share.partition, clauses, order)
                cursor = await connection.execute(text, parameters, binary=True)
                places += [RowPlace(share.partition, row[0]) for row in await cursor.fetchall()]
        except psycopg.Error as error:
            if not is_of_a_row(error):
                raise
    return places


async def lease_rows(connection: Connection, lease: Lease, places: Sequence[RowPlace]) -> list[ClaimedExecution]:
    """Leases these rows."""
    partitions: dict[int, list[bytes]] = defaultdict(list)
    for place in places:
        partitions[place.partition].append(place.id)
    rows: list[ClaimedExecution] = []
    for partition, ids in partitions.items():
        parameters = {"ids": Uuids(ids), "owner": lease.owner, "token": lease.token, "lease": lease.length}
        cursor = await connection.execute(statement_in("live/lease_rows", partition), parameters, binary=True)
        rows += [ClaimedExecution._make(row) for row in await cursor.fetchall()]
    return rows


async def _put_off(connection: Connection, place: RowPlace, ahead: timedelta) -> bool:
    """Puts a row off. Returns True if that was possible."""
    try:
        async with connection.transaction():
            named = {"id": UUID(bytes=place.id), "ahead": ahead}
            await connection.execute(statement_in("live/put_off_due", place.partition), named)
    except psycopg.Error as error:
        if not is_of_a_row(error):
            raise
        return False
    return True


async def _park(connection: Connection, culprit: Culprit[RowPlace]) -> SetAside:
    return await park(connection, culprit.row.partition, culprit.row.id, culprit.error)
