"""Connections of workers: one for each role, so that claiming, settling and listening never wait for each other."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any, LiteralString

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgsched.store.core import wire
from pgsched.store.core.lineage import Lineage
from pgsched.store.core.session_settings import KEPT_ALIVE, SILENT, WORKER, pin, waiting_for_locks

Connection = AsyncConnection[tuple[Any, ...]]

PATIENCE: LiteralString = "250ms"
_INSTANCE = "fallback_application_name"
_PREPARED = 1000  # texts over each partition of a queue, and over all of them: some dozens for each queue


def signed(url: str, instance: str) -> str:
    """The same address for sessions that carry a worker's name, by which the others see that its process is there."""
    return make_conninfo(url, **{_INSTANCE: instance})


async def connect(url: str, role: str, *, raw: bool = True, patience: LiteralString = PATIENCE) -> Connection:
    """A connection for one role of a worker, in autocommit, prepared statements on; ``raw`` speaks ``store.core.wire``.

    Hot statements name their partitions and match by index; the session's planner settings keep a table whose
    statistics lag behind from being read whole or out of order, and a plan once made from being made again. A statement
    waits for a lock no longer than its ``patience``: what others may lock is skipped, and this is for what was
    forgotten. Raises psycopg.OperationalError when the server cannot be reached.
    """
    connection = await AsyncConnection.connect(url, autocommit=True, prepare_threshold=0, **_ways(url, role))
    connection.prepared_max = _PREPARED
    # Named by the connection: where a pooler starts to lend one's session to another, a name that is not there is an
    # error, and one that is there would be somebody else's statement.
    connection._prepared._prepared_idx = secrets.randbits(48)
    try:
        own = WORKER + waiting_for_locks(patience)
        await pin(connection, own + SILENT if raw else own)
    except BaseException:
        await connection.close()
        raise
    if raw:
        wire.register(connection)
    else:
        wire.register_arrays(connection)
    return connection


def _ways(url: str, role: str) -> dict[str, Any]:
    return KEPT_ALIVE | {"application_name": f"pgsched {role} {conninfo_to_dict(url).get(_INSTANCE, '')}".rstrip()}


_LAST_STATEMENT = 1.0
_UNUSED = 60.0
"""Seconds after which a connection that is needed seldom is closed. No turn of a service has one for as long."""


class Link:
    """A role's connection that is made when it is needed, and made anew after it broke.

    ``greet`` is called with each new one before anybody gets it, and then ``warm``, with whether it is the first, for
    which nothing waits yet; where they raise, nobody gets it.
    One that is needed ``seldom`` does not stay open. Links with the same ``lineage`` know of each other's servers, and
    leave one that was replaced.
    """

    def __init__(
        self,
        url: str,
        role: str,
        *,
        raw: bool = True,
        greet: Callable[[Connection], Awaitable[None]] | None = None,
        warm: Callable[[Connection, bool], Awaitable[None]] | None = None,
        patience: LiteralString = PATIENCE,
        seldom: bool = False,
        lineage: Lineage | None = None,
    ) -> None:
        self._url, self._role, self._raw, self._patience = url, role, raw, patience
        self._greet, self._warm, self._is_first = greet, warm, True
        self._lineage = lineage or Lineage()
        self._seldom, self._used_at = seldom, 0.0
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()

    async def get(self) -> Connection:
        async with self._connecting:
            self._used_at = time.monotonic()
            if self._connection is None or self._connection.closed:
                self._connection = await self._connect()
            return self._connection

    @property
    def open(self) -> Connection | None:
        """The connection that there is, as far as is known."""
        return None if self._connection is None or self._connection.closed else self._connection

    async def _connect(self) -> Connection:
        connection = await self._lineage.connect(self._make, self._url)
        try:
            if self._greet:
                await self._greet(connection)
            if self._warm:
                await self._warm(connection, self._is_first)
            self._is_first = False
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _make(self, url: str) -> Connection:
        return await connect(url, self._role, raw=self._raw, patience=self._patience)

    async def drop_unused(self) -> None:
        """Lets go of a connection that is needed seldom, and was not for a while."""
        connection = self.open
        if not self._seldom or connection is None or time.monotonic() - self._used_at < _UNUSED:
            return
        if not connection.lock.locked() and connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            await self.drop()

    async def drop(self, error: Exception | None = None) -> None:
        """Lets go of the connection; after an error that left it usable it is kept. One to a server that takes no
        writes, as a primary does that has become a standby, is of no use: the next may lead to the new primary."""
        connection = self._connection
        if connection is None:
            return
        of_use = isinstance(error, psycopg.Error) and not isinstance(error, psycopg.errors.ReadOnlySqlTransaction)
        if of_use and not connection.broken:
            status = connection.info.transaction_status
            if status == psycopg.pq.TransactionStatus.IDLE:
                return
        self._connection = None
        # Another service's statement may be under way on it: let it end first, or a new connection could get the same
        # file descriptor while the event loop still watches it for the old one.
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_STATEMENT), connection.lock:
                    pass
        finally:
            await connection.close()
