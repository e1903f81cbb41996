"""Logins without any pgsched role take all connections of the server."""

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from pgsched.delivery.app import App
from pgsched.embedded import EmbeddedPostgres
from pgsched.scheduler import Worker
from pgsched.settings import Settings
from pgsched.store.admin.migrate import migrate
from pgsched.telemetry import Events
from tests.worker.conftest import Connection, Recorder, until, until_history, value

_SETTINGS = {"max_connections": "40", "reserved_connections": "12", "fsync": "off", "shared_buffers": "16MB"}
_LOGINS = """
create role runner login password 'x' in role pgsched_worker;
create role reserved login password 'x' in role pgsched_worker, pg_use_reserved_connections;
create role nobody login password 'x'
"""
_CUT = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'pgsched%'"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """A PostgreSQL 18 server with few connections, some of them reserved."""
    with EmbeddedPostgres(tmp_path_factory.mktemp("small") / "postgres", settings=_SETTINGS) as running:
        migrate(running.url)
        with psycopg.connect(running.url) as connection:
            connection.execute(_LOGINS)
        yield running


@pytest.fixture
async def owner(small: EmbeddedPostgres) -> AsyncIterator[Connection]:
    async with await psycopg.AsyncConnection.connect(small.url, autocommit=True) as connection:
        await connection.execute("delete from pgsched.history")
        yield connection


@pytest.fixture
def taken() -> Iterator[ExitStack]:
    """Other logins' connections, closed by the test or after it."""
    with ExitStack() as stack:
        yield stack


def _as(url: str, role: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{role}:x@{parts.hostname}:{parts.port}"))


def _take_all(url: str, stack: ExitStack) -> None:
    """Take every connection that any login may have."""
    while True:
        try:
            stack.callback(psycopg.connect(_as(url, "nobody")).close)
        except psycopg.OperationalError as error:
            if "remaining connection slots are reserved" not in str(error):
                raise
            return


def _worker(url: str, role: str, recorder: Recorder) -> Worker:
    app = App()

    @app.handler("quick")
    async def quick() -> None:
        pass

    return Worker(Settings(database_url=_as(url, role), concurrency=4), app=app, events=Events(recorder))


async def _deliver(owner: Connection, count: int) -> None:
    await owner.execute("select pgsched.schedule('python:quick') from generate_series(1, 5)")
    await until_history(owner, count)


async def test_a_connected_worker_keeps_working_when_no_connection_slot_is_left(
    small: EmbeddedPostgres, owner: Connection, taken: ExitStack, recorder: Recorder
) -> None:
    worker = _worker(small.url, "runner", recorder)
    await worker.start()
    try:
        await _deliver(owner, 5)
        _take_all(small.url, taken)
        await _deliver(owner, 10)
    finally:
        taken.close()
        await worker.drain()


async def test_a_worker_without_a_connection_slot_reports_the_error_and_recovers(
    small: EmbeddedPostgres, owner: Connection, taken: ExitStack, recorder: Recorder
) -> None:
    worker = _worker(small.url, "runner", recorder)
    await worker.start()
    try:
        await _deliver(owner, 5)
        await owner.execute("select pgsched.schedule('python:quick') from generate_series(1, 5)")

        async def says_why() -> bool:
            await owner.execute(_CUT)
            _take_all(small.url, taken)
            return any("connection slots" in str(fields["error"]) for fields in recorder.named("service.failed"))

        await until(says_why)
        taken.close()
        await until_history(owner, 10)
    finally:
        taken.close()
        await worker.drain()


async def test_a_worker_uses_reserved_slots_when_all_other_slots_are_taken(
    small: EmbeddedPostgres, owner: Connection, taken: ExitStack, recorder: Recorder
) -> None:
    worker = _worker(small.url, "reserved", recorder)
    await worker.start()
    try:
        await _deliver(owner, 5)
        _take_all(small.url, taken)
        await owner.execute(_CUT)
        _take_all(small.url, taken)
        await _deliver(owner, 10)
    finally:
        taken.close()
        await worker.drain()


async def test_a_worker_renews_on_another_session_if_its_renewal_session_ends(
    small: EmbeddedPostgres, owner: Connection, recorder: Recorder
) -> None:
    worker = _worker(small.url, "runner", recorder)
    await worker.start()
    try:
        await _deliver(owner, 5)
        await owner.execute("alter role runner connection limit 0")
        await owner.execute(_CUT.replace("pgsched%", "pgsched renew %").encode())
        await recorder.wait_for("service.failed")
        before = await value(owner, "select max(expires_at) from pgsched.workers")
        await until(lambda: value(owner, f"select max(expires_at) > '{before}' from pgsched.workers"))
        await _deliver(owner, 10)
    finally:
        await owner.execute("alter role runner connection limit -1")
        await worker.drain()
    assert recorder.named("worker.lost") == []
