"""Decides whose turn it is among executions with the same ordering key."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from psycopg import AsyncConnection, AsyncCursor

from pgsched.domain.execution import ClaimedExecution, by_partition
from pgsched.store.core.query import value
from pgsched.store.core.sql import statement, statement_in
from pgsched.store.core.wire import Tokens, Uuids


class KeyHeads(NamedTuple):
    """The ids of claimed rows that are first in line under their ordering keys, and the rows that cannot be decided
    now.
    """

    heads: set[bytes]
    undecided: list[ClaimedExecution]


async def whose_turn(connection: AsyncConnection[Any], rows: Iterable[ClaimedExecution]) -> KeyHeads:
    """Finds the claimed rows whose turn it is. Locks the ordering of each of their partitions, unless another session
    has locked it.
    """
    partitions = by_partition(rows)
    cursor = await connection.execute(statement("gates/try_orderings"), {"partitions": sorted(partitions)})
    [(taken,)] = await cursor.fetchall()
    undecided = [row for partition, some in partitions.items() if partition not in taken for row in some]
    cursors = []
    for partition in taken:
        some = partitions[partition]
        parameters = {"ids": Uuids(row.id for row in some), "tokens": Tokens({row.token for row in some})}
        query = statement_in("gates/order_claimed", partition)
        cursors.append(await connection.execute(query, parameters, binary=True))
    return KeyHeads({found[0] for cursor in cursors for found in await cursor.fetchall()}, undecided)


async def let_next(
    connection: AsyncConnection[Any], partition: int, keys: Sequence[tuple[str, str]]
) -> AsyncCursor[tuple[Any, ...]]:
    """Gives the turn to the next execution of each (client, ordering key) whose previous execution has ended. The
    cursor returns, for each key, the instant at which the next execution fires, or None if nothing waited.
    """
    clients, ordering_keys = zip(*keys, strict=True)
    parameters = {"clients": list(clients), "keys": list(ordering_keys)}
    return await connection.execute(statement_in("gates/let_next", partition), parameters, binary=True)


async def let_next_at_commit(
    connection: AsyncConnection[Any], partition: int, client_id: str, ordering_key: str
) -> None:
    """Like ``let_next``, for one key, in a transaction of other code, which may take long to commit."""
    parameters = {"partition": partition, "client": client_id, "key": ordering_key}
    await connection.execute(statement("gates/let_next_at_commit"), parameters)


async def keep_blocked(connection: AsyncConnection[Any], ids: Iterable[bytes], lease: timedelta) -> None:
    """Keeps the ordering keys of cancelled executions blocked for longer, because their calls are still running."""
    await connection.execute(statement("gates/keep_blocked"), {"ids": Uuids(ids), "lease": lease})


async def anybody_waits(connection: AsyncConnection[Any]) -> bool:
    """Whether any execution is held until it is its turn."""
    return bool(await value(connection, "gates/waits_for_turn"))


class Key(NamedTuple):
    """An ordering key of a client."""

    client_id: str
    ordering_key: str


FIRST = Key("", "")


async def let_stuck(
    connection: AsyncConnection[Any], partition: int, *, after: Key, most: int
) -> tuple[int, Key | None]:
    """Examines the next ``most`` keys of a partition, and gives the next execution of a key the turn if no execution
    has it. Returns how many executions got a turn, and the key at which to continue if there may be more.
    """
    parameters = {"client": after.client_id, "key": after.ordering_key, "most": most}
    row = await (await connection.execute(statement_in("gates/let_stuck", partition), parameters)).fetchone()
    if row is None:
        return 0, None
    count, client_id, ordering_key, let = row
    return let, Key(client_id, ordering_key) if count == most else None
