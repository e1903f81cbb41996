"""A worker's connections: one for each role, so that claiming, settling and listening never wait for each other."""

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
from pgsched.store.core.session_settings import KEPT_ALIVE, SILENT, WORKER, pin, waiting_for_locks
from pgsched.store.core.timeline_fencing import Lineage

Connection = AsyncConnection[tuple[Any, ...]]

PATIENCE: LiteralString = "250ms"
_INSTANCE = "fallback_application_name"
_PREPARED = 1000  # statement texts: a few dozen per queue, each for one partition or for all partitions


def signed(url: str, instance: str) -> str:
    """Adds the worker's instance name to the address. Other workers see from this name that the worker is alive."""
    return make_conninfo(url, **{_INSTANCE: instance})


async def connect(url: str, role: str, *, raw: bool = True, patience: LiteralString = PATIENCE) -> Connection:
    """Opens a connection for one role of a worker, in autocommit and with prepared statements. If ``raw``, it uses the
    formats of ``store.core.wire``.

    The session's planner settings prevent full and unordered scans even if statistics are stale, and make PostgreSQL
    keep each plan. ``patience`` is the maximum wait for a lock. The limit is only a safety net, because statements skip
    rows that others may have locked. Raises psycopg.OperationalError if the server cannot be reached.
    """
    connection = await AsyncConnection.connect(url, autocommit=True, prepare_threshold=0, **_ways(url, role))
    connection.prepared_max = _PREPARED
    # Statement names are unique to the connection. A pooler may begin to lend one client's session to another. An
    # unknown name is then an error, but a known name would run the other client's statement.
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
"""Seconds without use after which a seldom-needed connection is closed. No turn of a service takes that long."""


class Link:
    """A role's connection, opened when it is first needed and reopened after it breaks.

    Each new connection is passed to ``greet`` and then to ``warm`` before any caller gets it. ``warm`` is also told
    whether this is the first connection, because no work is waiting at that time. If ``greet`` or ``warm`` raises, the
    connection is closed. A connection that is needed only ``seldom`` is closed when idle. Links with the same
    ``lineage`` share what they know about servers, and leave a server that has been replaced.
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
        """The connection, or None if there is none or it is known to be closed."""
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
        """Closes a seldom-needed connection that has not been used for a while."""
        connection = self.open
        if not self._seldom or connection is None or time.monotonic() - self._used_at < _UNUSED:
            return
        if not connection.lock.locked() and connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            await self.drop()

    async def drop(self, error: Exception | None = None) -> None:
        """Closes the connection, unless the error left it usable. A connection to a read-only server, such as a primary
        that has become a standby, is always closed: the next connection may reach the new primary.
        """
        connection = self._connection
        if connection is None:
            return
        of_use = isinstance(error, psycopg.Error) and not isinstance(error, psycopg.errors.ReadOnlySqlTransaction)
        if of_use and not connection.broken:
            status = connection.info.transaction_status
            if status == psycopg.pq.TransactionStatus.IDLE:
                return
        self._connection = None
        # Another service may still be running a statement on this connection. Let the statement finish first: a new
        # connection could get the same file descriptor while the event loop still watches it for the old connection.
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_STATEMENT), connection.lock:
                    pass
        finally:
            await connection.close()
