"""A session that listens and stays in its transaction fills the notification queue.

Once the queue is full, no transaction that notifies can commit. So pgsched stops notifying before then, and workers
poll.
"""

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

from pgsched.api.app import create_app
from pgsched.embedded import EmbeddedPostgres, bundled_bin_dir
from pgsched.scheduler import Worker
from pgsched.settings import Settings
from pgsched.store.admin.migrate import migrate
from pgsched.telemetry import Events
from tests.api.serving import serving
from tests.worker.claim.test_foreign_notices import app_that_does_nothing
from tests.worker.conftest import Connection, Recorder, until_history, value


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database whose notification queue holds half a megabyte."""
    directory: Path = tmp_path_factory.mktemp("small") / "postgres"
    settings = {"fsync": "off", "max_notify_queue_pages": "64"}
    with EmbeddedPostgres(directory, bin_dir=bundled_bin_dir(), settings=settings) as running:
        migrate(running.url)
        yield running.url


@pytest.fixture
async def clogged(small: str) -> AsyncIterator[Connection]:
    """A session in that database while nobody can notify."""
    async with (
        await psycopg.AsyncConnection.connect(small, autocommit=True) as deaf,
        await psycopg.AsyncConnection.connect(small, autocommit=True) as db,
    ):
        await deaf.execute("listen anything")
        await deaf.execute("begin; select 1")
        assert (
            await value(db, "select pg_notification_queue_usage()") < 0.1
        )  # this also removes notifications that all sessions have read
        with contextlib.suppress(psycopg.errors.ProgramLimitExceeded):
            for _ in range(200):
                await db.execute("select pg_notify('pgsched_wake', repeat('x', 7000))")
        assert await value(db, "select pg_notification_queue_usage()") > 0.9
        yield db
        await deaf.execute("rollback")
        await db.execute("truncate pgsched.history")


async def test_a_full_notification_queue_does_not_stop_scheduling_or_delivery(
    small: str, clogged: Connection, recorder: Recorder
) -> None:
    settings = Settings(database_url=small, concurrency=20, poll_interval=0.5, drain_timeout=5.0)
    worker = Worker(settings, app=app_that_does_nothing(), events=Events(recorder))
    worker.parts.listener._every = 0.1
    await worker.start()
    try:
        await clogged.execute("select pgsched.schedule('python:nothing')")
        await clogged.execute("select pgsched.schedule('python:nothing', key => 'k', ordering_key => 'o')")
        await clogged.execute("select pgsched.schedule('python:nothing', key => 'l', after => '{k}')")
        await clogged.execute("insert into pgsched.executions (target, fire_at) values ('python:nothing', now())")
        await clogged.execute("select pgsched.schedule('python:nothing', every => '1 hour')")
        await clogged.execute("select pgsched.set_client('default', '{\"weight\": 2}')")
        await until_history(clogged, 4)
    finally:
        await worker.drain()
    assert not recorder.named("listener.lost")
    assert not recorder.named("service.failed")


async def test_a_worker_finds_new_rows_without_notifications(
    small: str, clogged: Connection, recorder: Recorder
) -> None:
    worker = Worker(
        Settings(database_url=small, poll_interval=60, drain_timeout=5.0),
        app=app_that_does_nothing(),
        events=Events(recorder),
    )
    await worker.start()
    try:
        for count in (1, 2, 3):  # a worker's first look may find the first row
            await clogged.execute("select pgsched.schedule('python:nothing')")
            await until_history(clogged, count)
    finally:
        await worker.drain()


@pytest.mark.usefixtures("clogged")
async def test_the_api_accepts_executions_while_the_notification_queue_is_full(small: str) -> None:
    async with serving(create_app(Settings(database_url=small))) as api:
        answer = await api.post("/v1/jobs", json={"target": "notify:a"})
    assert answer.status_code == 201
