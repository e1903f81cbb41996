"""Runs a transaction on a new connection, as commands, checks and migrations do.

This works through any pooler. No statement is prepared, because it would stay on the server connection, where another
client may use the same name. Settings last only for the transaction.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection, Connection, IsolationLevel

from pgsched.store.core.session_settings import KEPT_ALIVE, command_locally

Lend = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]
"""Lends a connection for the duration of a block."""
_WAYS: dict[str, Any] = KEPT_ALIVE | {
    "connect_timeout": 10,
    "application_name": "pgsched",
    "prepare_threshold": None,
    "client_encoding": "UTF8",
}


@contextmanager
def transaction(url: str) -> Iterator[Connection[Any]]:
    """Runs the block in a transaction, which is rolled back if the block raises. Raises psycopg.OperationalError if no
    server responds.
    """
    with connect(url) as connection:
        connection.execute(command_locally(connection))
        yield connection


def connect(url: str) -> Connection[Any]:
    """Opens a connection that prepares nothing and uses READ COMMITTED."""
    connection = psycopg.connect(url, **_WAYS)
    connection.isolation_level = IsolationLevel.READ_COMMITTED
    return connection


@asynccontextmanager
async def transaction_async(url: str) -> AsyncIterator[AsyncConnection[Any]]:
    """Async version of ``transaction``."""
    async with await _connected(url) as connection:
        await connection.execute(command_locally(connection))
        yield connection


@asynccontextmanager
async def lending(url: str) -> AsyncIterator[Lend]:
    """Yields a function that lends one connection to its callers in turn, each time in a new transaction. Reconnects if
    the connection breaks.
    """
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
