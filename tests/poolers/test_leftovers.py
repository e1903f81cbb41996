"""pgsched leaves no state on pooled connections that are then lent to other clients."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from click.testing import CliRunner

from pgsched.api.app import create_app
from pgsched.cli.main import cli
from pgsched.settings import Settings
from pgsched.store.core.lock_capacity import OPEN
from pgsched.store.core.pooler import has_sessions
from tests.api.serving import serving
from tests.conftest import at
from tests.poolers.calls import call_at_once
from tests.poolers.pgbouncer import pgbouncer

_SIZE = 6  # the pool's connections to the server
_SETTINGS = "select name, setting from pg_settings where name <> 'application_name'"
_REMAINS = """
select (select array_agg(name) from pg_prepared_statements), (select array_agg(c) from pg_listening_channels() c),
       (select array_agg(objid) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())
"""


@pytest.fixture
def pool(database_url: str, version: str) -> Iterator[str]:
    with pgbouncer(database_url, "transaction", version=version, size=_SIZE) as pooler:
        yield pooler.through(database_url)


def _found(url: str) -> list[tuple[set[tuple[Any, ...]], Any]]:
    """Returns the session state that another application finds on each of the pool's connections."""
    with ExitStack() as stack:
        connections = [stack.enter_context(psycopg.connect(url, prepare_threshold=None)) for _ in range(_SIZE)]
        processes = {connection.execute("select pg_backend_pid()").fetchone() for connection in connections}
        assert len(processes) == _SIZE  # each client holds its own connection until all have connected
        return [(set(c.execute(_SETTINGS).fetchall()), c.execute(_REMAINS).fetchone()) for c in connections]


def _check(pool: str, database_url: str) -> None:
    with psycopg.connect(database_url) as direct:
        direct.execute("do 'begin end'")  # PL/pgSQL's settings exist only after its first use in a session
        expected = set(direct.execute(_SETTINGS).fetchall())
    for settings, remains in _found(pool):
        assert settings - expected == set()
        assert remains == (None, None, None)


async def test_the_api_leaves_no_session_state_in_a_pool(pool: str, database_url: str) -> None:
    async with serving(create_app(Settings(database_url=pool))) as api:
        await call_at_once([api], 100)
        waited = {"worker": "svc-1", "wait": "PT1S"}
        assert (await api.post("/v1/queues", json={"name": "pulled", "pulled": True})).status_code == 201
        assert (await api.post("/v1/queues/pulled/claim", json=waited, timeout=10)).json() == {"items": []}
        assert (await api.get("/readyz")).status_code == 200
        await asyncio.to_thread(_check, pool, database_url)  # the API keeps running and returns its connections


async def test_a_long_poll_through_a_pool_receives_a_new_message(pool: str, db: psycopg.Connection[Any]) -> None:
    async with serving(create_app(Settings(database_url=pool))) as api:
        await api.post("/v1/queues", json={"name": "pulled", "pulled": True})
        due = {"queue": "pulled", "target": "queue:", "schedule": {"delay": "PT1S"}}
        assert (await api.post("/v1/jobs", json=due)).status_code == 201
        asked = await api.post("/v1/queues/pulled/claim", json={"worker": "svc-1", "wait": "PT20S"}, timeout=30)
        assert len(asked.json()["items"]) == 1


def test_commands_leave_no_session_state_in_a_pool(pool: str, database_url: str) -> None:
    for words in (
        ["schedule", "python:settle", "--key", "k", "--every", "1h"],
        ["jobs", "list"],
        ["status"],
        ["migrate"],
    ):
        done = CliRunner().invoke(cli, words, catch_exceptions=False, env=at(pool))
        assert (done.exit_code, done.stderr) == (0, f"{OPEN}\n" if words[0] == "migrate" else "")
    _check(pool, database_url)


def test_migrating_an_empty_database_leaves_no_session_state(empty_database_url: str, version: str) -> None:
    with pgbouncer(empty_database_url, "transaction", version=version, size=_SIZE) as pooler:
        through = pooler.through(empty_database_url)
        done = CliRunner().invoke(cli, ["migrate"], env=at(through), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        _check(through, empty_database_url)


@pytest.mark.parametrize("round_robin", [False, True])
@pytest.mark.parametrize("size", [1, 2, 5])
async def test_a_transaction_pool_is_detected(database_url: str, version: str, size: int, round_robin: bool) -> None:
    with pgbouncer(database_url, "transaction", version=version, size=size, round_robin=round_robin) as pooler:
        assert not await has_sessions(pooler.through(database_url))


async def test_a_statement_pool_is_detected(statement_url: str) -> None:
    assert not await has_sessions(statement_url)


async def test_a_session_pool_and_a_direct_connection_are_detected(session_url: str, database_url: str) -> None:
    assert await has_sessions(session_url)
    assert await has_sessions(database_url)


async def test_the_api_reports_a_statement_pool(statement_url: str) -> None:
    async with serving(create_app(Settings(database_url=statement_url))) as api:
        answer: httpx.Response = await api.get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "pgsched.unavailable")
    assert "pool_mode = transaction" in answer.json()["detail"]


def test_commands_report_a_statement_pool(statement_url: str) -> None:
    for words in (["jobs", "list"], ["migrate"]):
        done = CliRunner().invoke(cli, words, env=at(statement_url), catch_exceptions=False)
        assert done.exit_code == 1
        assert "pool_mode = transaction" in done.stderr


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_worker_refuses_a_transaction_pool_with_advice(
    transaction_url: str, processes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["worker", "--processes", processes]
    done = CliRunner().invoke(cli, words, catch_exceptions=False, env=at(transaction_url))
    assert done.exit_code == 2
    assert "set it to PostgreSQL's own address, or to a pool in session mode" in done.stderr


def test_pgsched_up_refuses_a_transaction_pool_before_starting_anything(
    transaction_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["up", "--port", "0"], env=at(transaction_url), catch_exceptions=False)
    assert done.exit_code == 2
    assert "or to a pool in session mode" in done.stderr
