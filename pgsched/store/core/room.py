"""Finds out whether the server's lock table is large enough.

It is shared by all sessions of a server. Who reads ``pgsched.status`` holds a lock on each partition and each of its
indexes until the transaction ends, and where the table is full, no transaction that writes can begin.
"""

import math
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from pgsched.store.core.sql import statement

READERS = 20
"""So many transactions that have read the view are to have room at the same time."""


class Room(NamedTuple):
    """``held`` by one reader of the view; the server has room for ``each`` of its ``sessions``, taken together."""

    held: int
    each: int
    sessions: int

    def advice(self) -> str | None:
        """What to set, where there is too little room."""
        total = self.each * self.sessions
        if READERS * self.held <= total:
            return None
        wanted = math.ceil(READERS * self.held / self.sessions)
        return (
            f"the server has room for {total:,} locks, and each transaction that reads pgsched.status holds "
            f"{self.held:,}: set max_locks_per_transaction = {wanted} or more and restart the server"
        )


async def find_room(connection: AsyncConnection[Any]) -> Room:
    [(held, each, sessions)] = await (await connection.execute(statement("core/room_for_locks"))).fetchall()
    return Room(int(held), each, sessions)
