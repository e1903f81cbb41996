"""Finds out whether a connection goes through a pooler, and whether a session keeps its server connection.

A pooler in transaction mode (such as PgBouncer's ``pool_mode = transaction``) lends a server connection for one
transaction. Nothing that belongs to a session works in this mode: the names by which workers are known to be alive,
notifications, prepared statements and settings. No pooler reveals its mode, but the mode can be observed: a true
session keeps one server process throughout, and shares it with no other session.
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
    """Whether the connection, which must be in autocommit, goes through a pooler. When a connection opens, a pooler
    reports a process id other than the server process's."""
    return await _process(connection) != connection.info.backend_pid


async def check_sessions(url: str, setting: str = "database_url") -> None:
    """Raises InvalidSettings, naming the setting, if the address leads to a pooler that does not keep sessions, and
    psycopg.OperationalError if the database cannot be reached.
    """
    if not await has_sessions(url):
        raise InvalidSettings(
            f"{setting} leads to a pooler that lends a server connection for one transaction or statement, but a "
            "worker needs sessions: set it to PostgreSQL's own address, or to a pool in session mode (PgBouncer: "
            "pool_mode = session)"
        )


async def watch_sessions(url: str, *, every: float = _LOOK) -> None:
    """Checks repeatedly that the address keeps sessions, because a pooler may be reconfigured while it runs. Returns if
    there is no pooler. Raises InvalidSettings once a pooler stops keeping sessions. Ignores an unreachable database and
    an exhausted pool."""
    while True:
        await asyncio.sleep(every)
        with suppress(psycopg.Error, Unavailable):
            async with await _connected(url) as connection:
                pooled = await is_pooled(connection)
            if not pooled:
                return
            await check_sessions(url)


async def has_sessions(url: str) -> bool:
    """Whether connections to this address keep their server process to themselves.

    Two connections take turns. A pooler that lends per transaction gives the second connection the process that the
    first has just returned. If the pooler rotates processes, the first connection gets a different process next time.
    """
    try:
        async with asyncio.timeout(_PATIENCE):
            return await _have_sessions(url)
    except TimeoutError:
        raise Unavailable(
            f"could not get two connections within {_PATIENCE:g} s: a worker process holds about ten, so make the pool "
            "larger"
        ) from None


async def _have_sessions(url: str) -> bool:
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(await _connected(url)) for _ in range(2)]
        own = await _process(first)
        for _ in range(_ROUNDS):
            try:
                taken = await _in_transaction(second)
            except psycopg.errors.ProtocolViolation:  # a pooler that lends per statement refuses transactions
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
