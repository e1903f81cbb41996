"""The API behind nginx and HAProxy, which keep connections to it, and say for whom they ask."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx
import pytest

from tests.api.test_server import served as served
from tests.conftest import Connection
from tests.delivery.servers import PROXIES, server


@pytest.fixture(params=PROXIES)
async def proxied(request: pytest.FixtureRequest, served: tuple[str, object]) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the proxy, whose connections to it are closed while it thinks."""
    port = urlsplit(served[0]).port or 0
    with server(str(request.param), idle=0.05, behind=port) as front:
        transport = httpx.AsyncHTTPTransport(retries=0)
        async with httpx.AsyncClient(
            base_url=front.url, transport=transport, timeout=60, headers={"X-Requested-With": "tests"}
        ) as client:
            yield client


async def test_each_of_many_calls_is_made_once(proxied: httpx.AsyncClient, db: Connection) -> None:
    async def schedule(caller: int) -> None:
        for number in range(10):
            asked = {"target": "python:note", "key": f"{caller}-{number}", "schedule": {"delay": "PT1H"}}
            answer = await proxied.post("/v1/jobs", json=asked, headers={"connection": "close"})
            assert answer.status_code == 201
            location = answer.headers["location"]
            assert (await proxied.get(location, headers={"connection": "close"})).json()["key"] == f"{caller}-{number}"

    await asyncio.gather(*[schedule(caller) for caller in range(8)])
    found = db.execute("select key from pgsched.executions").fetchall()
    assert sorted(key for (key,) in found) == sorted(f"{c}-{n}" for c in range(8) for n in range(10))


async def test_a_long_poll_gets_what_comes(proxied: httpx.AsyncClient) -> None:
    await proxied.post("/v1/queues", json={"name": "pulled", "pulled": True})
    due = {"queue": "pulled", "target": "queue:", "schedule": {"delay": "PT1S"}}
    asking = asyncio.create_task(proxied.post("/v1/queues/pulled/claim", json={"worker": "svc", "wait": "PT20S"}))
    assert (await proxied.post("/v1/jobs", json=due)).status_code == 201
    assert len((await asking).json()["items"]) == 1


async def test_the_audit_log_names_who_asked_the_proxy(proxied: httpx.AsyncClient, db: Connection) -> None:
    made = {"target": "python:note", "schedule": {"every": "PT1H"}}
    job = (await proxied.post("/v1/jobs", json=made)).json()["id"]
    # As if the client were elsewhere: a proxy adds what it sees to what it was told.
    await proxied.post(f"/v1/jobs/{job}/pause", json={}, headers={"x-forwarded-for": "192.0.2.7"})
    paused = db.execute("select actor from pgsched.audit_log where action = 'pause'").fetchall()
    assert paused == [("api 192.0.2.7",)]
