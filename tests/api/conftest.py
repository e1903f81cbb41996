"""The application over ASGI, on a real database."""

import multiprocessing
from collections.abc import AsyncIterator, Iterator
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

import httpx
import pytest
from litestar import Litestar

from pgsched.api.app import create_app
from pgsched.api.server import serve
from pgsched.settings import Settings
from tests.api.serving import serving

_spawn = multiprocessing.get_context("spawn")


@cache
def app_of(database_url: str) -> Litestar:
    """The application, put together once for a database that is lent from test to test."""
    return create_app(Settings(database_url=database_url))


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(app_of(database_url)) as client:
        yield client


def _serve(database_url: str, tell: Connection) -> None:
    serve(Settings(database_url=database_url, port=0), listening=tell.send)


@pytest.fixture
def served(database_url: str) -> Iterator[tuple[str, SpawnProcess]]:
    """The address and the process of an API of its own."""
    heard, tell = _spawn.Pipe(duplex=False)
    process = _spawn.Process(target=_serve, args=(database_url, tell))
    process.start()
    try:
        assert heard.poll(30)
        yield heard.recv(), process
    finally:
        process.kill()
        process.join()
        process.close()
        heard.close()
        tell.close()
