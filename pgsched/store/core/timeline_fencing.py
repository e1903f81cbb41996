"""Keeps a process off a primary that has been replaced.

Each promotion of a standby begins a new timeline. A primary that was only frozen or cut off comes back on the old
timeline and accepts writes, unaware that a standby has been promoted. So pgsched asks each new connection for its
server's timeline, and closes all connections to servers with a timeline older than the newest it has seen. If the
address names several hosts, the other hosts are then tried. A server that does not reveal its timeline, such as some
managed servers, is accepted.

Each process knows only what it has seen itself. A process with connections only to the old primary learns of the new
primary through ``look_at_all``, provided that the address names both servers.
"""

import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgsched.store.core.sql import statement

Session = TypeVar("Session", bound=AsyncConnection[Any])
_WAYS: dict[str, Any] = {"connect_timeout": 2, "application_name": "pgsched"}
_UNKNOWN = 0, 0


class Lineage:
    """The newest timeline seen in each cluster, and the timelines of the open connections."""

    def __init__(self) -> None:
        self._newest: dict[int, int] = {}
        self._of: WeakKeyDictionary[AsyncConnection[Any], tuple[int, int]] = WeakKeyDictionary()

    async def connect(self, make: Callable[[str], Awaitable[Session]], url: str) -> Session:
        """Opens a connection to a primary that has not been replaced. Raises OperationalError if none is found."""
        found = await self._admitted(await make(url))
        for address in [] if found else hosts_of(url):
            with suppress(psycopg.OperationalError):
                found = found or await self._admitted(await make(address))
        if found is None:
            raise psycopg.OperationalError(
                "the server is a primary that has been replaced: its timeline is older than one seen before"
            )
        return found

    async def note(self, connection: AsyncConnection[Any]) -> None:
        """Records the timeline of the connection's server, and breaks connections to servers with an older timeline."""
        server, timeline = self._of[connection] = await _read(connection)
        if timeline > self._newest.get(server, 0):
            self._newest[server] = timeline
            for other in list(self._of):
                if self._is_outdated(other):
                    _break(other)

    async def look_at_all(self, url: str) -> None:
        """Records the timeline of every server in the address. Does nothing if the address names only one server."""
        hosts = hosts_of(url)
        for address in hosts if len(hosts) > 1 else []:
            with suppress(psycopg.Error):
                connection = await AsyncConnection.connect(address, autocommit=True, **_WAYS)
                async with connection:
                    await self.note(connection)

    def _is_outdated(self, connection: AsyncConnection[Any]) -> bool:
        """Whether the server has been replaced since the connection was made."""
        server, timeline = self._of.get(connection, _UNKNOWN)
        return timeline < self._newest.get(server, 0)

    async def _admitted(self, connection: Session) -> Session | None:
        admitted = False
        try:
            await self.note(connection)
            admitted = not self._is_outdated(connection)
        finally:
            if not admitted:
                await connection.close()
        return connection if admitted else None


def hosts_of(url: str) -> list[str]:
    """Splits an address into one address per host."""
    given = conninfo_to_dict(url)
    hosts, ports = (str(given.get(name) or "").split(",") for name in ("host", "port"))
    if len(ports) == 1:
        ports *= len(hosts)
    return [make_conninfo(url, host=host, port=port or None) for host, port in zip(hosts, ports, strict=False)]


def _break(connection: AsyncConnection[Any]) -> None:
    """Shuts down the connection's socket, so that waiting for a response fails at once. Otherwise, a commit might wait
    forever for a standby.
    """
    with suppress(psycopg.OperationalError, OSError), socket.socket(fileno=os.dup(connection.fileno())) as found:
        found.shutdown(socket.SHUT_RDWR)


async def _read(connection: AsyncConnection[Any]) -> tuple[int, int]:
    with suppress(psycopg.errors.Error):  # the server is a standby, or hides its timeline
        async with connection.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
            await cursor.execute(statement("core/timeline"), prepare=False)
            if row := await cursor.fetchone():
                return int(row[0]), int(row[1])
    return _UNKNOWN
