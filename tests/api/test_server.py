"""The API in a separate process, as the command line starts it."""

import contextlib
import json
import os
import re
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from http.client import HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from pgsched.api.server import serve
from pgsched.errors import InvalidSettings
from pgsched.settings import Settings
from tests.processes import Process, serving_alone


@pytest.fixture
def served(database_url: str) -> Iterator[tuple[str, Process]]:
    """An API with short timeouts."""
    settings = Settings(database_url=database_url, port=0, receive_timeout=1.0, send_timeout=0.2)
    with serving_alone(settings) as found:
        yield found


def test_an_execution_can_be_scheduled_over_a_real_connection(served: tuple[str, Process]) -> None:
    address, _ = served
    with httpx.Client(base_url=address) as client:
        created = client.post("/v1/jobs", json={"target": "notify:a", "payload": {"n": 1.10}})
        assert created.status_code == 201
        assert client.get(created.headers["location"]).json()["payload"] == {"n": 1.10}


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /healthz HTT",
        b"POST /v1/jobs HTTP/1.1\r\nhost: localhost\r\nx-requested-with: x\r\ncontent-length: 9\r\n\r\n{",
    ],
)
def test_a_client_that_sends_an_incomplete_request_is_disconnected(served: tuple[str, Process], sent: bytes) -> None:
    parts = urlsplit(served[0])
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
        connection.sendall(sent)
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        (b"GET /" + b"a" * 65_536, 431, "over 64 KiB: send large data in the body"),
        (b"GET / HTTP/1.1\r\nhost: x\r\na: " + b"b" * 65_536, 431, "over 64 KiB"),
        (b"GET / HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n", 400, "more than one host header"),
    ],
)
def test_a_refused_request_head_gets_a_problem_response(
    served: tuple[str, Process], sent: bytes, status: int, said: str
) -> None:
    parts = urlsplit(served[0])
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
        connection.sendall(sent)
        answer = HTTPResponse(connection)
        answer.begin()
        problem = json.loads(answer.read())
        assert connection.recv(1) == b""
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert (problem["status"], problem["code"]) == (status, "pgsched.invalid_input")
    assert said in problem["detail"]


@pytest.mark.parametrize("sent", [b"hello\r\n\r\n", b"GET / HTTP/1.1\r\nhost: x\r\ncontent-length: x\r\n\r\n"])
def test_malformed_http_closes_the_connection(served: tuple[str, Process], sent: bytes) -> None:
    parts = urlsplit(served[0])
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
        connection.sendall(sent)
        answer = HTTPResponse(connection)
        answer.begin()
        answer.read()
        assert (answer.status, connection.recv(1)) == (400, b"")


def test_a_client_that_does_not_read_is_disconnected(served: tuple[str, Process]) -> None:
    parts = urlsplit(served[0])
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((parts.hostname, parts.port))
        mine = connection.getsockname()[1]
        connection.sendall(b"GET /schema/openapi.json HTTP/1.1\r\nhost: x\r\n\r\n" * 50)
        _until(lambda: _is_held(parts.port, mine))
        _until(lambda: not _is_held(parts.port, mine))


def test_pipelined_requests_are_answered_in_order_up_to_a_limit(served: tuple[str, Process]) -> None:
    parts = urlsplit(served[0])
    asked = b"GET /%s HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
        connection.sendall(b"".join(asked % path for path in [b"healthz", b"nothing"] * 20))
        answers = b""
        while answers.count(b"HTTP/1.1 ") < 40:
            answers += connection.recv(65536)
        assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"200", b"404"] * 20
    with (
        socket.create_connection((parts.hostname, parts.port), timeout=20) as connection,
        contextlib.suppress(ConnectionError),
    ):
        connection.sendall(asked % b"healthz" * 200_000)
        while connection.recv(65536):
            pass
    assert httpx.get(f"{served[0]}/healthz").status_code == 200


def test_a_body_in_chunks_of_one_byte_is_accepted(served: tuple[str, Process]) -> None:
    parts = urlsplit(served[0])
    body = b'{"target": "notify:a"%s}' % (b" " * 50_000)
    head = b"POST /v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
        connection.sendall(
            head
            + b"transfer-encoding: chunked\r\n\r\n"
            + b"".join(b"1\r\n%c\r\n" % byte for byte in body)
            + b"0\r\n\r\n"
        )
        assert connection.recv(4096).startswith(b"HTTP/1.1 201")


def _is_held(port: int | None, client: int) -> bool:
    """Returns True while the server holds a connection, whose inode /proc/net/tcp then lists."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        columns = line.split()
        local, remote = (int(columns[place].split(":")[1], 16) for place in (1, 2))
        if (local, remote) == (port, client):
            return columns[9] != "0"
    return False


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_cleanly(served: tuple[str, Process], stop: signal.Signals) -> None:
    address, process = served
    assert httpx.get(f"{address}/healthz").status_code == 200
    assert process.pid is not None
    os.kill(process.pid, stop)
    process.join(10)
    assert process.exitcode == 0


def test_an_address_in_use_is_reported(database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidSettings, match=f"cannot listen on 127.0.0.1 port {port}: Address already in use"):
            serve(Settings(database_url=database_url, port=port))


def test_the_error_for_a_missing_database_url_names_the_setting() -> None:
    with pytest.raises(InvalidSettings, match="PGSCHED_DATABASE_URL"):
        serve(Settings())


def _ask(connection: socket.socket) -> None:
    connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
    answer = b""
    while not answer.endswith(b"}"):
        more = connection.recv(4096)
        assert more
        answer += more
    assert answer.startswith(b"HTTP/1.1 200")


def test_idle_connections_stay_open(served: tuple[str, Process]) -> None:
    """Idle connections may last longer than a request may take to arrive."""
    parts = urlsplit(served[0])
    with contextlib.ExitStack() as stack:
        kept = []
        for _ in range(201):  # each sends a request, because the server closes a connection that sends none
            kept.append(stack.enter_context(socket.create_connection((parts.hostname, parts.port))))
            _ask(kept[-1])
        assert select.select(kept, [], [], 6)[0] == []
        for connection in kept:
            _ask(connection)
