"""Claims whose answers never came: what they took is handed back."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement
from pgsched.store.core.wire import Instants, Tokens


class HandedBack(NamedTuple):
    """The marks from which to go on where there may be more, and those from which to look once more for what somebody
    had locked; wire counts by partition."""

    read_to: dict[int, int]
    locked: dict[int, int]


async def release_claims(
    connection: Connection, lows: Mapping[int, int], tokens: Sequence[int], *, depth: int
) -> HandedBack:
    """Hands back what claims took whose answers never came, of the next ``depth`` due rows of each partition from
    behind its mark on."""
    parameters = {"partitions": list(lows), "lows": Instants(lows.values()), "tokens": Tokens(tokens), "depth": depth}
    cursor = await connection.execute(statement("live/release_claim"), parameters, binary=True)
    rows = await cursor.fetchall()
    return HandedBack(
        {row[0]: row[1] for row in rows if row[1] is not None},
        {row[0]: row[2] - 1 for row in rows if row[2] is not None},
    )
