"""Whose turn it is among executions with one ordering key."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from psycopg import AsyncConnection, AsyncCursor

from pgsched.domain.execution import ClaimedExecution, by_partition
from pgsched.store.core.query import value
from pgsched.store.core.sql import statement, statement_in
from pgsched.store.core.wire import Tokens, Uuids


class KeyHeads(NamedTuple):
    """The ids of those claimed rows that are at the head of their keys, and the rows of which it is not known now."""

    heads: set[bytes]
    undecided: list[ClaimedExecution]


async def whose_turn(connection: AsyncConnection[Any], rows: Iterable[ClaimedExecution]) -> KeyHeads:
    """Whose turn it is among claimed rows. Locks the order of their partitions, but for those where it is locked."""
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
    """Lets the next of each (client, ordering key) have its turn after one has ended. Answers with the instants at
    which they fire, and None where nobody waited."""
    clients, ordering_keys = zip(*keys, strict=True)
    parameters = {"clients": list(clients), "keys": list(ordering_keys)}
    return await connection.execute(statement_in("gates/let_next", partition), parameters, binary=True)


async def let_next_at_commit(
    connection: AsyncConnection[Any], partition: int, client_id: str, ordering_key: str
) -> None:
    """The same of one key, for a transaction that others have written in, and that may take long to commit."""
    parameters = {"partition": partition, "client": client_id, "key": ordering_key}
    await connection.execute(statement("gates/let_next_at_commit"), parameters)


async def keep_blocked(connection: AsyncConnection[Any], ids: Iterable[bytes], lease: timedelta) -> None:
    """Has the ordering keys of cancelled executions wait for longer: their calls are not over."""
    await connection.execute(statement("gates/keep_blocked"), {"ids": Uuids(ids), "lease": lease})


async def anybody_waits(connection: AsyncConnection[Any]) -> bool:
    """Whether any execution is held because it is not its turn."""
    return bool(await value(connection, "gates/waits_for_turn"))


class Key(NamedTuple):
    """An ordering key of a client."""

    client_id: str
    ordering_key: str


FIRST = Key("", "")


async def let_stuck(
    connection: AsyncConnection[Any], partition: int, *, after: Key, most: int
) -> tuple[int, Key | None]:
    """The same for the next keys of a partition that nobody is at the head of, no more than ``most`` looked at; how
    many got their turn, and from where to go on if there may be more."""
    parameters = {"client": after.client_id, "key": after.ordering_key, "most": most}
    row = await (await connection.execute(statement_in("gates/let_stuck", partition), parameters)).fetchone()
    if row is None:
        return 0, None
    count, client_id, ordering_key, let = row
    return let, Key(client_id, ordering_key) if count == most else None
