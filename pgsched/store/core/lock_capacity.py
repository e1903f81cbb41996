"""Finds out whether the server's lock table is large enough.

All sessions of a server share this table. While it is full, no transaction can start writing. A transaction that reads
the view ``pgsched.status`` locks every partition and all indexes of partitions until the transaction ends.

All readers of the view hold the same locks. The server records each lock once, but records each holder of a lock in a
second table, which is twice as large. Readers of the view fill the second table.
"""

import math
from importlib.resources import files
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from pgsched.store.core.sql import statement

OPEN = (
    "any login can fill the server's lock table or its disk, and while either is full nothing is delivered: "
    "docs/how-to/deploy.md says which rights to revoke"
)
READERS = 20
"""There should be room for this many concurrent transactions that have read the view."""
_HOLDERS = 2
"""PostgreSQL makes room for this many holders of each lock."""


class LockCapacity(NamedTuple):
    """One reader of the view holds ``held`` locks. The server has room for ``each`` times ``sessions`` locks."""

    held: int
    each: int
    sessions: int

    def advice(self) -> str | None:
        """Returns what to set if there is too little room, otherwise None."""
        room = _HOLDERS * self.each * self.sessions
        if READERS * self.held <= room:
            return None
        wanted = math.ceil(READERS * self.held / (_HOLDERS * self.sessions))
        return (
            f"the server's lock table has room for only {room // self.held} transactions that have read "
            f"pgsched.status, each of which holds {self.held:,} locks: set max_locks_per_transaction = {wanted} or "
            "more and restart the server"
        )


def public_revokes() -> str:
    """Returns the script that keeps other logins from filling the lock table, for a server that pgsched runs itself."""
    return files("pgsched.store").joinpath("public_revokes.sql").read_text(encoding="utf-8")


async def find_room(connection: AsyncConnection[Any]) -> LockCapacity:
    [(held, each, sessions)] = await (await connection.execute(statement("core/room_for_locks"))).fetchall()
    return LockCapacity(int(held), each, sessions)


async def remarks(connection: AsyncConnection[Any]) -> list[str]:
    """Returns remarks for the operator about the size of the server's lock table, or an empty list if all is well."""
    advice = (await find_room(connection)).advice()
    found = [advice] if advice else []
    [(is_open,)] = await (await connection.execute(statement("core/open_to_public"))).fetchall()
    return [*found, OPEN] if is_open else found
