"""Taking rows back without those for whose sake it fails."""

from collections.abc import Sequence

from pgsched.store.connect import Connection
from pgsched.store.executions import reap
from pgsched.store.isolation import by_halves, is_a_lock, is_of_a_row
from pgsched.store.parking import Parked, park
from pgsched.store.sql import statement


async def reap_others(connection: Connection, partition: int, owners: Sequence[int]) -> tuple[int, int, list[Parked]]:
    """``executions.reap``; a row for whose sake it fails is parked: how many wait again, how many failed, which are
    parked. The connection speaks ``store.wire``."""
    try:
        return *await reap(connection, partition, owners), []
    except Exception as error:
        if not is_of_a_row(error):
            raise
    counts: list[tuple[int, int]] = []

    async def work(ids: Sequence[bytes]) -> None:
        async with connection.transaction():
            found = await reap(connection, partition, owners, only=ids)
        counts.append(found)

    parked: list[Parked] = []
    async with connection.transaction():
        tokens = await _lock(connection, partition, owners)
        for id, why in (await by_halves(list(tokens), work)).culprits:
            if not is_a_lock(why):
                parked.append(await park(connection, partition, id, why, token=tokens[id], with_job=False))
    return sum(back for back, _ in counts), sum(ended for _, ended in counts), parked


async def _lock(connection: Connection, partition: int, owners: Sequence[int]) -> dict[bytes, int]:
    """What is to be taken back, with its tokens."""
    parameters = {"partition": partition, "owners": list(owners)}
    cursor = await connection.execute(statement("lost_rows"), parameters, binary=True)
    return {row[0]: row[1] for row in await cursor.fetchall()}
