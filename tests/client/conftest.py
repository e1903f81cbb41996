"""The API in a process of its own, shared by the tests of a module; they keep apart by the ids they make."""

import multiprocessing
import uuid
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

import pytest

from pgsched.api.server import serve
from pgsched.settings import Settings


def _serve(database_url: str, tell: Connection) -> None:
    serve(Settings(database_url=database_url, port=0), listening=tell.send)


@pytest.fixture(scope="module")
def served_url(janitor: Any, template: str) -> Iterator[str]:
    """The address of the API's database."""
    name = f"served_{uuid.uuid4().hex[:12]}"
    with janitor.make(name, template=template):
        yield janitor.url_of(name)


@pytest.fixture(scope="module")
def address(served_url: str) -> Iterator[str]:
    """The address of the API."""
    spawn = multiprocessing.get_context("spawn")
    heard, tell = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_serve, args=(served_url, tell))
    process.start()
    try:
        assert heard.poll(30)
        yield heard.recv()
    finally:
        process.terminate()
        process.join(10)
        process.close()
        heard.close()
        tell.close()
