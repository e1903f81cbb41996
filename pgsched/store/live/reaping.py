"""Takes rows back: from lost workers, after leases have expired, and from claims whose results never arrived."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from pgsched.store.core.connect import Connection
from pgsched.store.core.culprits import by_halves, is_a_lock, is_of_a_row
from pgsched.store.core.sql import statement
from pgsched.store.core.wire import Instant, Instants, Tokens
from pgsched.store.live.parked_rows import SetAside, park


class ReapRange(NamedTuple):
    """A part of the due rows of a partition: ``depth`` rows after ``low`` (wire count)."""

    partition: int
    low: int
    depth: int


class Reaped(NamedTuple):
    """How many rows wait again, how many failed, and where the range ends (wire count), or None if no rows follow."""

    returned: int
    failed: int
    read_to: int | None


async def reap(
    connection: Connection,
    where: ReapRange,
    owners: Sequence[int],
    *,
    ended_by: float,
    only: Sequence[bytes] | None = None,
) -> Reaped:
    """Takes back the rows of lost workers, and rows whose lease expired before ``ended_by`` (database time). If
    ``only`` is given, takes back no other rows. The connection must use the formats of ``store.core.wire``.
    """
    named = None if only is None else [UUID(bytes=id) for id in only]
    parameters = {
        "partition": where.partition, "low": Instant(where.low), "depth": where.depth, "owners": list(owners),
        "ended_by": ended_by, "only": named,
    }  # fmt: skip
    cursor = await connection.execute(statement("live/reap"), parameters, binary=True)
    row = await cursor.fetchone()
    return Reaped(*row[:3]) if row else Reaped(0, 0, None)


async def reap_others(
    connection: Connection, where: ReapRange, owners: Sequence[int], *, ended_by: float
) -> tuple[Reaped, list[SetAside]]:
    """Like ``reap``, but parks any row that causes an error. Returns what was reaped and what was parked. After an
    error, the caller must read the range again.
    """
    try:
        return await reap(connection, where, owners, ended_by=ended_by), []
    except Exception as error:
        if not is_of_a_row(error):
            raise
    counts: list[Reaped] = []

    async def work(ids: Sequence[bytes]) -> None:
        async with connection.transaction():
            found = await reap(connection, where, owners, ended_by=ended_by, only=ids)
        counts.append(found)

    parked: list[SetAside] = []
    async with connection.transaction():
        tokens = await _lock(connection, where, owners, ended_by)
        for id, why in (await by_halves(list(tokens), work)).culprits:
            if not is_a_lock(why):
                parked.append(await park(connection, where.partition, id, why, token=tokens[id], with_job=False))
    returned, failed = sum(one.returned for one in counts), sum(one.failed for one in counts)
    return Reaped(returned, failed, where.low), parked


async def _lock(connection: Connection, where: ReapRange, owners: Sequence[int], ended_by: float) -> dict[bytes, int]:
    """Locks the rows to be taken back. Returns their tokens by id."""
    parameters = {
        "partition": where.partition, "low": Instant(where.low), "owners": list(owners), "ended_by": ended_by,
    }  # fmt: skip
    cursor = await connection.execute(statement("live/lost_rows"), parameters, binary=True)
    return {row[0]: row[1] for row in await cursor.fetchall()}


class DueEdge(NamedTuple):
    """The partitions in which a lease has expired and, for each partition that has more rows, where the range ends
    (wire count).
    """

    expired: list[int]
    read_to: dict[int, int]


async def expired(connection: Connection, lows: Mapping[int, int], depth: int, *, ended_by: float) -> DueEdge:
    """Finds the partitions in which a lease had expired by ``ended_by`` (database time). Reads the next ``depth`` due
    rows after each partition's mark.
    """
    parameters = {"partitions": list(lows), "lows": Instants(lows.values()), "depth": depth, "ended_by": ended_by}
    cursor = await connection.execute(statement("live/expired"), parameters, binary=True)
    rows = await cursor.fetchall()
    return DueEdge([row[0] for row in rows if row[1]], {row[0]: row[2] for row in rows if row[2] is not None})


class HandedBack(NamedTuple):
    """Where to continue if there may be more rows, and where to retry because another session had locked rows. Both are
    wire counts by partition.
    """

    read_to: dict[int, int]
    locked: dict[int, int]


async def release_claims(
    connection: Connection, lows: Mapping[int, int], tokens: Sequence[int], *, depth: int
) -> HandedBack:
    """Hands back rows of claims whose results never arrived. Reads the next ``depth`` due rows after each partition's
    mark.
    """
    parameters = {"partitions": list(lows), "lows": Instants(lows.values()), "tokens": Tokens(tokens), "depth": depth}
    cursor = await connection.execute(statement("live/release_claim"), parameters, binary=True)
    rows = await cursor.fetchall()
    return HandedBack(
        {row[0]: row[1] for row in rows if row[1] is not None},
        {row[0]: row[2] - 1 for row in rows if row[2] is not None},
    )
