"""One transaction on a connection of its own: how commands, checks and migrations reach a database.

It holds with any pooler in between. Nothing is prepared, for the name of a prepared statement would be left with the
server's connection, where somebody else's statement has the same name; and what is set ends with the transaction.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection, Connection, IsolationLevel

from pgsched.store.core.session_settings import KEPT_ALIVE, command_locally

Lend = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]
"""Lends a connection for the time of a block."""
_WAYS: dict[str, Any] = KEPT_ALIVE | {
    "connect_timeout": 10,
    "application_name": "pgsched",
    "prepare_threshold": None,
    "client_encoding": "UTF8",
}


@contextmanager
def transaction(url: str) -> Iterator[Connection[Any]]:
    """Committed when the block ends, undone when it raises. Raises psycopg.OperationalError where no server is."""
    with connect(url) as connection:
        connection.execute(command_locally(connection))
        yield connection


def connect(url: str) -> Connection[Any]:
    """A connection that prepares nothing, and whose transactions see what was committed before each statement."""
    connection = psycopg.connect(url, **_WAYS)
    connection.isolation_level = IsolationLevel.READ_COMMITTED
    return connection


@asynccontextmanager
async def transaction_async(url: str) -> AsyncIterator[AsyncConnection[Any]]:
    """``transaction`` for who awaits."""
    async with await _connected(url) as connection:
        await connection.execute(command_locally(connection))
        yield connection


@asynccontextmanager
async def lending(url: str) -> AsyncIterator[Lend]:
    """Lends one connection to whom comes one after the other, in a transaction for each; and another one in its place
    once that is broken."""
    kept: AsyncConnection[Any] | None = None

    @asynccontextmanager
    async def lend() -> AsyncIterator[AsyncConnection[Any]]:
        nonlocal kept
        if kept is None or kept.closed:
            kept = await _connected(url)
        async with kept.transaction():
            await kept.execute(command_locally(kept))
            yield kept

    try:
        yield lend
    finally:
        if kept is not None:
            await kept.close()


async def _connected(url: str) -> AsyncConnection[Any]:
    connection = await AsyncConnection.connect(url, **_WAYS)
    await connection.set_isolation_level(IsolationLevel.READ_COMMITTED)
    return connection
