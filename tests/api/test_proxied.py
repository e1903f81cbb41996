"""The API behind nginx and HAProxy, which reuse connections to it and forward the client's address."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from pgsched.settings import Settings
from tests.conftest import Connection
from tests.databases import Databases
from tests.delivery.servers import PROXIES, server
from tests.processes import serving_alone


@pytest.fixture(scope="module")
def behind(databases: Databases) -> Iterator[tuple[str, int]]:
    """The database and the port of an API with short timeouts, for the proxies."""
    with databases.lent() as url:
        settings = Settings(database_url=url, port=0, receive_timeout=1.0, send_timeout=0.2)
        with serving_alone(settings) as (address, _):
            yield url, urlsplit(address).port or 0


@pytest.fixture(scope="module", params=PROXIES)
def front(request: pytest.FixtureRequest, behind: tuple[str, int]) -> Iterator[str]:
    """The address of a proxy that soon closes idle client connections."""
    with server(str(request.param), idle=0.05, behind=behind[1]) as found:
        yield found.url


@pytest.fixture
def db(behind: tuple[str, int]) -> Iterator[Connection]:
    """A connection to the API's database, without the rows of earlier tests."""
    with psycopg.connect(behind[0], autocommit=True) as connection:
        connection.execute("delete from pgsched.executions")
        connection.execute("delete from pgsched.jobs")
        connection.execute("delete from pgsched.audit_log")
        yield connection


@pytest.fixture
async def proxied(front: str, db: Connection) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the proxy that reuses no connection, because the proxy may just be closing it."""
    transport, headers = httpx.AsyncHTTPTransport(retries=0), {"X-Requested-With": "tests", "Connection": "close"}
    async with httpx.AsyncClient(base_url=front, transport=transport, timeout=60, headers=headers) as client:
        yield client


async def test_concurrent_requests_through_a_proxy_are_each_handled_once(
    proxied: httpx.AsyncClient, db: Connection
) -> None:
    async def schedule(caller: int) -> None:
        for number in range(4):
            asked = {"target": "python:note", "key": f"{caller}-{number}", "schedule": {"delay": "PT1H"}}
            answer = await proxied.post("/v1/jobs", json=asked)
            assert answer.status_code == 201
            location = answer.headers["location"]
            assert (await proxied.get(location)).json()["key"] == f"{caller}-{number}"

    await asyncio.gather(*[schedule(caller) for caller in range(8)])
    found = db.execute("select key from pgsched.executions").fetchall()
    assert sorted(key for (key,) in found) == sorted(f"{c}-{n}" for c in range(8) for n in range(4))


async def test_an_encoded_name_passes_through_a_proxy_unchanged(proxied: httpx.AsyncClient) -> None:
    sent = {
        "victim%2Fsecrets%2Fs1": "victim/secrets/s1",
        "%2E%2E": "..",
        "..%2Fvictim": "../victim",
        "a%252Fb": "a%2Fb",
    }
    for path, name in sent.items():
        assert (await proxied.delete(f"/v1/clients/{path}")).json() == {"client": name, "changed": False}


async def test_a_long_poll_through_a_proxy_gets_a_message(proxied: httpx.AsyncClient) -> None:
    queue = f"pulled-{proxied.base_url.port}"  # one queue per proxy
    assert (await proxied.post("/v1/queues", json={"name": queue, "pulled": True})).status_code == 201
    due = {"queue": queue, "target": "queue:", "schedule": {"delay": "PT1S"}}
    asking = asyncio.create_task(proxied.post(f"/v1/queues/{queue}/claim", json={"worker": "svc", "wait": "PT20S"}))
    assert (await proxied.post("/v1/jobs", json=due)).status_code == 201
    assert len((await asking).json()["items"]) == 1


async def test_the_audit_log_names_the_client_behind_the_proxy(proxied: httpx.AsyncClient, db: Connection) -> None:
    made = {"target": "python:note", "schedule": {"every": "PT1H"}}
    job = (await proxied.post("/v1/jobs", json=made)).json()["id"]
    # As from a client behind another proxy: a proxy appends the address that it sees.
    await proxied.post(f"/v1/jobs/{job}/pause", json={}, headers={"x-forwarded-for": "192.0.2.7"})
    paused = db.execute("select actor from pgsched.audit_log where action = 'pause'").fetchall()
    assert paused == [("api 192.0.2.7",)]
