"""Sessions of client roles: a failed login is not retried at once."""

import asyncio
import contextlib

import pytest

from pgsched.errors import Unavailable
from pgsched.store.core import client_role_sessions
from pgsched.store.core.client_role_sessions import Connection, Sessions


class Server:
    """A server that closes each connection at once, as if every login failed."""

    def __init__(self) -> None:
        self.asked = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked += 1
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def nothing(connection: Connection) -> None:
    raise AssertionError("no login succeeds")


@pytest.mark.parametrize(("refused_for", "tries"), [(3600.0, 1), (0.0, 20)])
async def test_a_failed_login_is_retried_only_after_a_pause(
    monkeypatch: pytest.MonkeyPatch, refused_for: float, tries: int
) -> None:
    monkeypatch.setattr(client_role_sessions, "_REFUSED_FOR", refused_for)
    server = Server()
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        lent = Sessions(f"postgresql://pgsched@127.0.0.1:{port}/x?sslmode=disable", "user={role}", most=2)
        for _ in range(20):
            with pytest.raises(Unavailable, match="cannot open a session as billing"):
                await lent.work("billing", nothing)
    assert server.asked == tries
