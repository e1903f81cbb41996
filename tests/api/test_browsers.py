"""Requests that another site's page makes a browser send are refused."""

import socket
from urllib.parse import urlsplit

import httpx
import pytest

from pgsched.api.access import Browsers
from pgsched.errors import InvalidSettings, Refused
from pgsched.settings import Settings
from tests.api.test_server import served as served
from tests.processes import Process

_HERE = {"host": "127.0.0.1:8080"}
_JSON = {"content-type": "application/json; charset=utf-8"}


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {}),
        ("GET", {"host": "localhost:8080"}),
        ("GET", {"host": "[::1]:8080"}),
        ("GET", {"host": "ops.example"}),
        ("GET", {"host": "10.0.0.7:80"}),
        ("GET", {"sec-fetch-site": "cross-site"}),
        ("POST", _JSON),
        ("POST", {"x-requested-with": "me"}),
        ("DELETE", {"authorization": "Bearer x"}),
        ("POST", _JSON | {"origin": "http://127.0.0.1:8080", "sec-fetch-site": "same-origin"}),
    ],
)
def test_requests_from_programs_and_the_dashboard_are_accepted(method: str, headers: dict[str, str]) -> None:
    Browsers(Settings(host="10.0.0.7", allowed_hosts="ops.example, api")).check(method, _HERE | headers)


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {"host": "evil.test"}),
        ("GET", {"host": "127.0.0.1.evil.test"}),
        ("GET", {"host": "localhost.evil.test:8080"}),
        ("GET", {"host": ""}),
        ("GET", {"host": "0.0.0.0:8080"}),
        ("GET", {"origin": "http://evil.test"}),
        ("POST", _JSON | {"origin": "null"}),
        ("POST", _JSON | {"origin": "http://127.0.0.1:9000"}),
        ("POST", _JSON | {"origin": "http://evil.test/127.0.0.1:8080"}),
        ("POST", _JSON | {"sec-fetch-site": "cross-site"}),
        ("POST", _JSON | {"sec-fetch-site": "same-site"}),
        ("POST", _JSON | {"sec-fetch-site": "cross-site", "origin": "http://127.0.0.1:8080"}),
        ("POST", {}),
        ("POST", {"content-type": "text/plain"}),
        ("POST", {"content-type": "application/x-www-form-urlencoded"}),
        ("DELETE", {}),
    ],
)
def test_cross_site_requests_and_foreign_hosts_are_refused(method: str, headers: dict[str, str]) -> None:
    with pytest.raises(Refused):
        Browsers(Settings()).check(method, _HERE | headers)


@pytest.mark.parametrize("name", ["https://ops.example", "ops.example:443", "*.example", "ops.example/", "a b"])
def test_an_invalid_allowed_host_is_refused(name: str) -> None:
    with pytest.raises(InvalidSettings, match=r"allowed_hosts contains .*: write host names without"):
        Browsers(Settings(allowed_hosts=f"api, {name}"))
    Browsers(Settings(allowed_hosts="*, ::1, fe80::1, ops_1.example"))


async def test_a_foreign_host_header_is_refused_except_on_healthz(api: httpx.AsyncClient) -> None:
    answer = await api.get("/v1/jobs", headers={"Host": "evil.test"})
    assert (answer.status_code, answer.json()["code"]) == (403, "pgsched.refused")
    assert "allowed_hosts" in answer.json()["detail"]
    assert (await api.get("/healthz", headers={"Host": "evil.test"})).status_code == 200


def test_an_endless_request_head_is_cut_off(served: tuple[str, Process]) -> None:
    address = urlsplit(served[0])
    with socket.create_connection((str(address.hostname), address.port or 0), timeout=30) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\nlarge: ")
        sent = 0
        try:
            while sent < 10_000_000:
                sent += connection.send(b"a" * 10_000)
        except (ConnectionResetError, BrokenPipeError):
            pass
        assert sent < 10_000_000
    assert httpx.get(f"{served[0]}/healthz").status_code == 200


@pytest.mark.parametrize("name", ["Host", "Origin", "Authorization"])
def test_a_repeated_host_origin_or_authorization_header_is_refused(served: tuple[str, Process], name: str) -> None:
    address = urlsplit(served[0])
    with socket.create_connection((str(address.hostname), address.port or 0), timeout=30) as connection:
        head = f"GET /v1/jobs HTTP/1.1\r\nHost: {address.netloc}\r\n"
        connection.sendall(f"{head}{name}: {address.netloc}\r\n{name}: evil.test\r\n\r\n".encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 400 ")


def test_the_head_size_limit_is_per_request_not_per_connection(served: tuple[str, Process]) -> None:
    with httpx.Client(base_url=served[0]) as client:
        for _ in range(20):
            assert client.get("/healthz", headers={"large": "a" * 10_000}).status_code == 200
