"""Health and readiness, also while the database goes away and comes back."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from pgsched.api.app import create_app
from pgsched.settings import Settings
from pgsched.store.admin.schema_revisions import expected_revision
from pgsched.telemetry import Events, Faults, Field
from tests.api.serving import serving

pytestmark = pytest.mark.smoke

Connection = psycopg.Connection[tuple[Any, ...]]


class Gate:
    """Refuses connections to a database, and accepts them again."""

    def __init__(self, server_url: str, database_url: str) -> None:
        self._server = server_url
        self._name = str(conninfo_to_dict(database_url)["dbname"])

    def set(self, *, opened: bool) -> None:
        with psycopg.connect(self._server, autocommit=True) as connection:
            allow = sql.SQL("alter database {} allow_connections {}")
            connection.execute(allow.format(sql.Identifier(self._name), sql.Literal(opened)))
            if not opened:
                ended = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = %s"
                connection.execute(ended, [self._name])


@pytest.fixture
def gate(janitor: Any, database_url: str) -> Gate:
    return Gate(janitor.url, database_url)


async def test_the_api_is_ready_at_the_expected_revision(api: httpx.AsyncClient) -> None:
    assert (await api.get("/healthz")).json() == {"status": "alive"}
    assert (await api.get("/readyz")).json() == {"status": "ready", "revision": expected_revision()}


async def test_the_api_is_not_ready_at_an_older_revision(api: httpx.AsyncClient, db: Connection) -> None:
    db.execute("update pgsched.schema_version set version_num = 'pgsched_0000'")
    answer = await api.get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "pgsched.schema_mismatch")
    assert answer.json()["detail"].endswith("run pgsched migrate")


async def test_the_api_stays_ready_on_a_newer_compatible_schema(api: httpx.AsyncClient, db: Connection) -> None:
    db.execute("update pgsched.schema_version set version_num = 'pgsched_9999'")
    assert (await api.get("/readyz")).json() == {"status": "ready", "revision": "pgsched_9999"}


async def test_the_api_is_not_ready_before_the_first_migration(empty_database_url: str) -> None:
    async with serving(create_app(Settings(database_url=empty_database_url))) as api:
        for answer in (await api.get("/readyz"), await api.post("/v1/jobs", json={"target": "notify:a"})):
            assert (answer.status_code, answer.json()["code"]) == (503, "pgsched.schema_mismatch")


async def test_the_api_is_not_ready_on_a_read_only_database(api: httpx.AsyncClient, gate: Gate, db: Connection) -> None:
    db.execute(f"alter database {db.info.dbname} set default_transaction_read_only = on".encode())
    gate.set(opened=False)
    gate.set(opened=True)
    answer = await api.get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "pgsched.unavailable")
    assert "accepts no writes" in answer.json()["detail"]


async def test_the_api_starts_without_a_database_and_reports_unavailable() -> None:
    heard: list[str] = []
    told = asyncio.Event()

    def hear(event: str, _: object) -> None:
        heard.append(event)
        told.set()

    settings = Settings(database_url="postgresql://127.0.0.1:1/nowhere")
    async with serving(create_app(settings, events=Events(hear), wait=0.2)) as api:
        assert (await api.get("/healthz")).status_code == 200
        answer = await api.get("/readyz")
        await asyncio.wait_for(told.wait(), 10)  # the pool gives up when the request does
    assert (answer.status_code, answer.json()["code"]) == (503, "pgsched.unavailable")
    assert answer.headers["retry-after"] == "1"
    assert set(heard) == {"service.failed"}


async def test_losing_and_regaining_the_database_are_each_logged_once(database_url: str, gate: Gate) -> None:
    heard: list[tuple[str, dict[str, Field]]] = []
    events = Events(Faults(lambda event, fields: heard.append((event, fields))))
    async with serving(create_app(Settings(database_url=database_url), events=events, wait=0.5)) as api:
        gate.set(opened=False)
        while not heard:
            assert (await api.get("/readyz")).status_code == 503
        gate.set(opened=True)
        async with asyncio.timeout(20):
            while (await api.get("/readyz")).status_code == 503:
                pass
    assert [event for event, _ in heard] == ["database.lost", "database.back"]
    assert "OperationalError" in str(heard[0][1]["error"])


async def test_the_first_request_after_a_database_restart_succeeds(api: httpx.AsyncClient, gate: Gate) -> None:
    assert (await api.get("/v1/jobs")).status_code == 200
    gate.set(opened=False)
    gate.set(opened=True)
    assert (await api.get("/v1/jobs")).status_code == 200


async def test_requests_get_503_until_the_database_is_back(database_url: str, gate: Gate) -> None:
    async with serving(create_app(Settings(database_url=database_url), wait=0.5)) as api:
        gate.set(opened=False)
        away = await asyncio.gather(*(api.post("/v1/jobs", json={"target": "notify:a"}) for _ in range(3)))
        assert {(answer.status_code, answer.json()["code"]) for answer in away} == {(503, "pgsched.unavailable")}
        gate.set(opened=True)
        async with asyncio.timeout(20):
            while (back := await api.post("/v1/jobs", json={"target": "notify:a"})).status_code == 503:
                pass
    assert back.status_code == 201


@pytest.fixture
async def broken(database_url: str) -> AsyncIterator[tuple[httpx.AsyncClient, list[dict[str, Field]]]]:
    """An API on a database that is damaged in ways only a bug can cause."""
    heard: list[dict[str, Field]] = []
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("alter table pgsched.jobs alter column gap drop not null")
        connection.execute("create or replace function pgsched_internal.check_target(target text) returns boolean "
                           "language plpgsql immutable as $$ begin raise 'secret'; end $$")  # fmt: skip
    events = Events(lambda event, fields: heard.append(fields | {"event": event}))
    async with serving(create_app(Settings(database_url=database_url), events=events)) as client:
        yield client, heard


async def test_an_unexpected_error_is_logged_and_not_disclosed(
    broken: tuple[httpx.AsyncClient, list[dict[str, Field]]],
) -> None:
    api, heard = broken
    answer = await api.post("/v1/jobs", json={"target": "notify:a"})
    assert (answer.status_code, answer.json()["code"]) == (500, "pgsched.error")
    assert "secret" not in answer.text
    assert [fields["event"] for fields in heard] == ["api.failed"]
    assert "secret" in str(heard[0]["error"])


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/v1/jobs", "/v1/events", "/schema/openapi.json"])
async def test_a_head_response_has_the_content_type_of_get_and_no_body(path: str, api: httpx.AsyncClient) -> None:
    head = await api.head(path)
    assert (head.status_code, head.content) == (200, b"")
    if path != "/v1/events":  # the stream does not end
        assert head.headers["content-type"] == (await api.get(path)).headers["content-type"]


async def test_a_head_request_for_an_unknown_path_or_client_returns_404(api: httpx.AsyncClient) -> None:
    assert (await api.head("/v1/clients/none")).status_code == 404
    assert (await api.head("/v1/none")).status_code == 404
