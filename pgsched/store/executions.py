"""The live rows: claim, settle, renew, release. One method a verb; every result is fenced by (id, token)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from psycopg import AsyncCursor

from pgsched.domain.execution import Execution
from pgsched.store import jobs
from pgsched.store.connect import Connection
from pgsched.store.sql import statement
from pgsched.store.wire import Instant, Tokens, Uuids

Answer = AsyncCursor[tuple[Any, ...]]


class Share(NamedTuple):
    """How much of which partition a claim asks for; low is the instant (wire count) to begin at."""

    partition: int
    low: int
    batch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Under which worker's number and which claim's token rows are leased, for how long, how far ahead."""

    owner: int
    token: int
    length: timedelta
    ahead: timedelta


async def claim(connection: Connection, lease: Lease, shares: Sequence[Share]) -> list[Execution]:
    """Leases due rows of several partitions in one transaction and one round trip.

    The successors of recurring rows are inserted in the same transaction: when this returns they stand.
    """
    query = statement("claim")
    common = {"owner": lease.owner, "token": lease.token, "lease": lease.length, "ahead": lease.ahead}
    cursors: list[AsyncCursor[tuple[Any, ...]]] = []
    async with connection.pipeline() as pipeline, connection.transaction():
        for share in shares:
            cursor = connection.cursor(binary=True)
            await cursor.execute(
                query,
                {**common, "partition": share.partition, "low": Instant(share.low), "batch": share.batch},
            )
            cursors.append(cursor)
        await pipeline.sync()
        claimed = [Execution._make(row) for cursor in cursors for row in await cursor.fetchall()]
        successors = [row for row in claimed if row.plan is not None and row.attempt == 1]
        if successors:
            await jobs.plan_successors(connection, successors)
    return claimed


async def next_due(connection: Connection, partitions: Sequence[int]) -> tuple[dict[int, int], int]:
    """The earliest waiting instant of each partition that has one, and the database's time; wire counts."""
    cursor = await connection.cursor(binary=True).execute(statement("next_due"), {"partitions": list(partitions)})
    rows = await cursor.fetchall()
    return {row[0]: row[1] for row in rows if row[1] is not None}, rows[-1][2]


@dataclass(slots=True)
class Group:
    """Rows of one partition that are settled by the same statement."""

    ids: list[bytes]
    tokens: list[int]

    def parameters(self, partition: int) -> dict[str, Any]:
        return {"partition": partition, "ids": Uuids(self.ids), "tokens": Tokens(dict.fromkeys(self.tokens))}


async def settle_succeeded(connection: Connection, partition: int, code: int | None, group: Group) -> Answer:
    """Moves succeeded rows into history. The answer's rowcount is how many still were this worker's."""
    return await connection.execute(
        statement("settle_succeeded"), {**group.parameters(partition), "code": code}, binary=True
    )


async def settle_discarded(connection: Connection, partition: int, group: Group) -> Answer:
    """Ends succeeded rows whose client keeps no history of successes. Answers with how many were this worker's."""
    return await connection.execute(statement("settle_discarded"), group.parameters(partition), binary=True)


class Finished(NamedTuple):
    """The end of an execution that has something to tell. Seconds is how long the last attempt took."""

    id: bytes
    token: int
    status: str
    status_code: int | None
    result: str | None
    reason: str | None
    seconds: float


async def settle_finished(connection: Connection, partition: int, rows: Sequence[Finished]) -> Answer:
    """Moves rows into history, each with what became of it. Answers with how many were this worker's."""
    ids, tokens, statuses, codes, results, reasons, durations = zip(*rows, strict=True)
    return await connection.execute(
        statement("settle_finished"),
        {
            "partition": partition,
            "ids": Uuids(ids),
            "tokens": Tokens(tokens),
            "statuses": list(statuses),
            "codes": list(codes),
            "results": list(results),
            "reasons": list(reasons),
            "durations": list(durations),
        },
    )


class Retried(NamedTuple):
    """A failed try that is repeated after delay seconds."""

    id: bytes
    token: int
    delay: float
    status_code: int | None
    reason: str
    seconds: float


async def settle_retried(connection: Connection, owner: int, partition: int, rows: Sequence[Retried]) -> Answer:
    """Sends rows back to wait for their next try. Answers with how many were this worker's."""
    ids, tokens, delays, codes, reasons, durations = zip(*rows, strict=True)
    return await connection.execute(
        statement("settle_retried"),
        {
            "owner": owner,
            "partition": partition,
            "ids": Uuids(ids),
            "tokens": Tokens(tokens),
            "delays": list(delays),
            "codes": list(codes),
            "reasons": list(reasons),
            "durations": list(durations),
        },
    )


async def release(connection: Connection, partition: int, group: Group) -> Answer:
    """Hands unstarted rows back as if they had not been claimed. The answer's rowcount: how many were this worker's."""
    return await connection.execute(statement("release"), group.parameters(partition), binary=True)


async def release_claims(connection: Connection, partitions: Sequence[int], tokens: Sequence[int]) -> int:
    """Hands back what claims took whose answers never came."""
    cursor = await connection.execute(
        statement("release_claim"), {"partitions": list(partitions), "tokens": Tokens(tokens)}
    )
    return cursor.rowcount


async def renew(connection: Connection, partition: int, group: Group, lease: timedelta) -> int:
    """Prolongs the leases that are past a third of their life."""
    cursor = await connection.execute(statement("renew"), {**group.parameters(partition), "lease": lease}, binary=True)
    return cursor.rowcount


async def expired(connection: Connection, partitions: Sequence[int], depth: int) -> list[int]:
    """The partitions in which a lease ran out, as far as their first depth due rows tell."""
    cursor = await connection.execute(statement("expired"), {"partitions": list(partitions), "depth": depth})
    return [row[0] for row in await cursor.fetchall()]


async def reap(connection: Connection, partition: int, owners: Sequence[int]) -> tuple[int, int]:
    """Takes rows back from lost workers and expired leases; returns how many wait again, how many failed."""
    cursor = await connection.execute(statement("reap"), {"partition": partition, "owners": list(owners)})
    row = await cursor.fetchone()
    return (row[0], row[1]) if row else (0, 0)
