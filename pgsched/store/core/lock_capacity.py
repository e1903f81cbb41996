"""Finds out whether the server's lock table is large enough.

It is shared by all sessions of a server. Who reads ``pgsched.status`` holds a lock on each partition and each of its
indexes until the transaction ends, and where the table is full, no transaction that writes can begin.

All readers of the view hold the same locks. The server notes each lock once, and who holds it in a second table, which
it makes twice as large: that is the one which readers fill.
"""

import math
from importlib.resources import files
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from pgsched.store.core.sql import statement

OPEN = (
    "any login can fill the server's table of locks or its disk, and while one is full nothing is delivered: "
    "docs/how-to/deploy.md says which rights to revoke"
)
READERS = 20
"""So many transactions that have read the view are to have room at the same time."""
_HOLDERS = 2
"""For so many holders of each lock PostgreSQL makes room."""


class LockCapacity(NamedTuple):
    """``held`` by one reader of the view; the server has room for ``each`` of its ``sessions``, taken together."""

    held: int
    each: int
    sessions: int

    def advice(self) -> str | None:
        """What to set, where there is too little room."""
        room = _HOLDERS * self.each * self.sessions
        if READERS * self.held <= room:
            return None
        wanted = math.ceil(READERS * self.held / (_HOLDERS * self.sessions))
        return (
            f"the server has room for {room // self.held} transactions that have read pgsched.status, each of which "
            f"holds {self.held:,} locks: set max_locks_per_transaction = {wanted} or more and restart the server"
        )


def public_revokes() -> str:
    """The script by which no login but ours may fill the table, for a database on a server of our own."""
    return files("pgsched.store").joinpath("public_revokes.sql").read_text(encoding="utf-8")


async def find_room(connection: AsyncConnection[Any]) -> LockCapacity:
    [(held, each, sessions)] = await (await connection.execute(statement("core/room_for_locks"))).fetchall()
    return LockCapacity(int(held), each, sessions)


async def remarks(connection: AsyncConnection[Any]) -> list[str]:
    """What the operator of a server may want to know about its room for locks; nothing where all is well."""
    advice = (await find_room(connection)).advice()
    found = [advice] if advice else []
    [(is_open,)] = await (await connection.execute(statement("core/open_to_public"))).fetchall()
    return [*found, OPEN] if is_open else found
