"""Finds out whether there is a pooler in between, and whether a session keeps its connection to the server.

A pooler in transaction mode (PgBouncer's ``pool_mode = transaction``, and what others have of it) lends the server's
connection for one transaction. What belongs to a session is then not to be had: names by which the others see that a
worker lives, notifications, prepared statements, settings. No pooler says which mode it is in. It shows: a session has
the same process of the server all the time, and while it lasts nobody else has that one.
"""

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import Any

import psycopg
from psycopg import AsyncConnection

from pgsched.errors import InvalidSettings, Unavailable
from pgsched.store.core.query import value

_ROUNDS, _PATIENCE, _LOOK = 4, 15.0, 5.0


async def is_pooled(connection: AsyncConnection[Any]) -> bool:
    """Whether the server says another process than the one that answered when the connection was made: poolers answer
    for themselves. For a connection in autocommit."""
    return await _process(connection) != connection.info.backend_pid


async def check_sessions(url: str, setting: str = "database_url") -> None:
    """Raises InvalidSettings, naming the setting, where the address leads to no sessions; psycopg.OperationalError
    where it leads nowhere."""
    if not await has_sessions(url):
        raise InvalidSettings(
            f"{setting} leads to a pooler that lends a server's connection for one transaction or statement, and a "
            "worker needs sessions: set it to PostgreSQL's own address, or to a pool in session mode (PgBouncer: "
            "pool_mode = session)"
        )


async def watch_sessions(url: str, *, every: float = _LOOK) -> None:
    """Asks again and again whether the address leads to sessions, for a pooler may be told otherwise while it runs.

    Returns where no pooler is in between; raises InvalidSettings once one leaves no sessions. That the database is
    away, or the pool is used up, says nothing.
    """
    while True:
        await asyncio.sleep(every)
        with suppress(psycopg.Error, Unavailable):
            async with await _connected(url) as connection:
                pooled = await is_pooled(connection)
            if not pooled:
                return
            await check_sessions(url)


async def has_sessions(url: str) -> bool:
    """Whether connections to this address keep their server's process, and share it with nobody.

    Two connections take turns. A pool that lends for a transaction gives the second one what the first has just given
    back; or, where it goes round, the first one something else the next time.
    """
    try:
        async with asyncio.timeout(_PATIENCE):
            return await _have_sessions(url)
    except TimeoutError:
        raise Unavailable(
            f"no two connections within {_PATIENCE:g} s: a worker process holds about ten, so let the pool be larger"
        ) from None


async def _have_sessions(url: str) -> bool:
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(await _connected(url)) for _ in range(2)]
        own = await _process(first)
        for _ in range(_ROUNDS):
            try:
                taken = await _in_transaction(second)
            except psycopg.errors.ProtocolViolation:  # no transactions at all: a pool that lends for a statement
                return False
            if taken == own:
                return False
            if [await _process(first) for _ in range(2)] != [own, own]:
                return False
    return True


async def _connected(url: str) -> AsyncConnection[Any]:
    return await AsyncConnection.connect(
        url, autocommit=True, prepare_threshold=None, connect_timeout=5, application_name="pgsched"
    )


async def _process(connection: AsyncConnection[Any]) -> int:
    return int(await value(connection, "core/backend"))


async def _in_transaction(connection: AsyncConnection[Any]) -> int:
    async with connection.transaction():
        return await _process(connection)
