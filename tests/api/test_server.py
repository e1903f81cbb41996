"""The API in a process of its own, as the command line starts it."""

import multiprocessing
import os
import signal
import socket
from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

import httpx
import pytest

from pgsched.api.server import serve
from pgsched.errors import InvalidSettings
from pgsched.settings import Settings

_spawn = multiprocessing.get_context("spawn")


def _serve(database_url: str, tell: Connection) -> None:
    serve(Settings(database_url=database_url, port=0), listening=tell.send)


@pytest.fixture
def served(database_url: str) -> Iterator[tuple[str, SpawnProcess]]:
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


def test_it_schedules_over_a_real_connection(served: tuple[str, SpawnProcess]) -> None:
    address, _ = served
    with httpx.Client(base_url=address) as client:
        created = client.post("/v1/jobs", json={"target": "notify:a", "payload": {"n": 1.10}})
        assert created.status_code == 201
        assert client.get(created.headers["location"]).json()["payload"] == {"n": 1.10}


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_in_good_order_when_told(served: tuple[str, SpawnProcess], stop: signal.Signals) -> None:
    address, process = served
    assert httpx.get(f"{address}/healthz").status_code == 200
    assert process.pid is not None
    os.kill(process.pid, stop)
    process.join(10)
    assert process.exitcode == 0


def test_an_address_in_use_is_refused_with_the_reason(database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidSettings, match=f"cannot listen on 127.0.0.1 port {port}: Address already in use"):
            serve(Settings(database_url=database_url, port=port))


def test_a_missing_database_is_refused_with_what_to_set() -> None:
    with pytest.raises(InvalidSettings, match="PGSCHED_DATABASE_URL"):
        serve(Settings())
