"""A scheduling request visits exactly the modules listed in the architecture page."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn

from pgsched.api.app import create_app
from pgsched.api.server import config_of
from pgsched.settings import Settings
from tests.api.access_arrange import make_key
from tests.conftest import Connection
from tests.walks import TIMES, listed, visited

MOST = 20


@asynccontextmanager
async def served_here(settings: Settings) -> AsyncIterator[int]:
    """Serves the API in the event loop of the test and yields its port."""
    server = uvicorn.Server(config_of(create_app(settings), settings))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server._serve(sockets=[listener]))  # without signal handlers
        yield listener.getsockname()[1]
        server.should_exit = True
        await serving


async def post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str, body: dict[str, object]) -> None:
    """Writes the request by hand, because a client library could visit pgsched modules."""
    sent = json.dumps(body).encode()
    head = f"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
    writer.write(head.encode() + sent)
    answer = (await reader.readuntil(b"\r\n\r\n")).lower()
    assert answer.startswith(b"http/1.1 201 ")
    await reader.readexactly(int(answer.partition(b"content-length: ")[2].partition(b"\r\n")[0]))


async def test_a_post_with_a_key_visits_exactly_the_listed_modules(database_url: str, db: Connection) -> None:
    key = str(make_key(db, scopes=["schedule"]))
    body: dict[str, object] = {"target": "https://shop.example/settle", "payload": 1, "schedule": {"delay": "PT1H"}}
    walks = []
    async with served_here(Settings(database_url=database_url)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await post(reader, writer, key, body | {"key": "the first"})
        for count in range(TIMES):
            with visited() as found:
                await post(reader, writer, key, body | {"key": f"settle-{count}"})
            walks.append(found)
        writer.close()
    walk = set.intersection(*walks)
    assert walk == listed("The walk of a POST")
    assert len(walk) <= MOST
