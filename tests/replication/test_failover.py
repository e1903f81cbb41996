"""A primary and its hot standby: before, during and after a failover."""

import asyncio
import signal
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from pgsched.api.app import create_app
from pgsched.delivery.app import App
from pgsched.errors import Unavailable
from pgsched.scheduler import Worker
from pgsched.settings import Settings
from pgsched.store.admin.migrate import migrate
from pgsched.telemetry import Events
from tests.api.serving import serving
from tests.faults.site import signalled
from tests.replication.pair import Connection, until
from tests.replication.standby import Standby, processes_of

_ENDED = "select count(*) from pgsched.history where status = 'succeeded'"
_OURS = (  # a session that waits for the standby does not notice that its client is gone
    "select count(*) from pg_stat_activity"
    " where application_name like 'pgsched %' and wait_event is distinct from 'SyncRep'"
)
_GIVE_UP = "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"
_SCHEDULE = "select pgsched.schedule('python:note', to_jsonb(%s::int), key => %s)"


async def test_readyz_fails_on_a_standby_until_it_is_promoted(standby: Standby) -> None:
    await asyncio.to_thread(until, lambda: _is_migrated(standby.url))
    async with (
        serving(create_app(Settings(database_url=standby.url))) as there,
        serving(create_app(Settings(database_url=standby.either))) as either,
    ):
        for _ in range(3):
            answer = await there.get("/readyz")
            assert (answer.status_code, "accepts no writes" in answer.text) == (503, True)
            assert (await either.get("/readyz")).status_code == 200
        refused = await there.post("/v1/jobs", json={"target": "python:note"})
        assert (refused.status_code, refused.json()["code"]) == (503, "pgsched.unavailable")
        await asyncio.to_thread(standby.take_over)
        for api in (there, either):
            await _until_ready(api)
            assert (await api.post("/v1/jobs", json={"target": "python:note"})).status_code == 201


def test_migrating_a_standby_is_refused_because_it_accepts_no_writes(standby: Standby) -> None:
    with pytest.raises(Unavailable, match="accepts no writes"):
        migrate(standby.url)


async def test_every_acknowledged_execution_runs_despite_a_failover(standby: Standby) -> None:
    done: set[int] = set()
    app = App()

    @app.handler("note")
    async def note(payload: int) -> None:
        done.add(payload)

    settings = Settings(database_url=standby.either, lease=5.0, concurrency=20, drain_timeout=5.0)
    worker = Worker(settings, app=app, events=Events())
    await worker.start()
    try:
        half, over = threading.Event(), threading.Event()
        scheduling = asyncio.create_task(asyncio.to_thread(_schedule, standby.either, half.set, over))
        await asyncio.to_thread(half.wait)
        await asyncio.to_thread(standby.take_over)
        over.set()
        acknowledged = await scheduling
        assert len(acknowledged) >= 400
        with psycopg.connect(standby.url, autocommit=True) as db:
            await asyncio.to_thread(until, lambda: acknowledged <= _succeeded(db))
    finally:
        await worker.drain()
    assert acknowledged <= done


async def test_the_worker_and_the_api_leave_a_frozen_primary_for_the_new_primary(standby: Standby) -> None:
    done: set[int] = set()
    app = App()

    @app.handler("note")
    async def note(payload: int) -> None:
        done.add(payload)

    settings = Settings(database_url=standby.either, lease=5.0, concurrency=20, drain_timeout=5.0)
    worker = Worker(settings, app=app, events=Events())
    await worker.start()
    try:
        async with serving(create_app(settings)) as api:
            await _until_ready(api)
            with psycopg.connect(standby.primary_url, autocommit=True) as old:
                await asyncio.to_thread(until, lambda: old.execute(_OURS).fetchone() != (0,))
                with signalled(processes_of(standby.primary.pid), signal.SIGSTOP, signal.SIGCONT):
                    await asyncio.to_thread(standby.promote)
                await asyncio.to_thread(until, lambda: old.execute(_OURS).fetchone() == (0,))
                # A session that commits on the old primary waits forever for the standby, and may block other commits.
                old.execute("set synchronous_commit = 'local'")
                old.execute(_GIVE_UP)
                await asyncio.to_thread(old.execute, _SCHEDULE, [1, "old"])
                await _until_ready(api)
                assert (await api.post("/v1/jobs", json={"target": "python:note", "payload": 2})).status_code == 201
                with psycopg.connect(standby.url, autocommit=True) as new:
                    new.execute(_SCHEDULE, [3, "k3"])
                    await asyncio.to_thread(until, lambda: new.execute(_ENDED).fetchone() == (2,))
                assert old.execute("select count(*) from pgsched.executions").fetchone() == (1,)
    finally:
        await worker.drain()
    assert done == {2, 3}


def _schedule(url: str, half: Callable[[], None], over: threading.Event) -> set[int]:
    """Schedules executions one by one, until 200 after the failover. Returns the acknowledged payloads."""
    acknowledged: set[int] = set()
    connection: Connection | None = None
    number = later = 0
    while later < 200:
        number += 1
        try:
            connection = connection or psycopg.connect(url, autocommit=True, connect_timeout=5)
            connection.execute(_SCHEDULE, [number, f"k{number}"])
        except psycopg.OperationalError:
            if connection is not None:
                connection.close()
            connection = None
            continue
        acknowledged.add(number)
        later += over.is_set()
        if len(acknowledged) == 200:
            half()
    if connection is not None:
        connection.close()
    return acknowledged


def _succeeded(db: Connection) -> set[int]:
    found = db.execute("select substr(key, 2)::int from pgsched.history where status = 'succeeded'")
    return {row[0] for row in found}


def _is_migrated(url: str) -> bool:
    with psycopg.connect(url) as connection:
        return connection.execute("select to_regclass('pgsched.executions')").fetchone() != (None,)


async def _until_ready(api: Any) -> None:
    async with asyncio.timeout(60):
        while (await api.get("/readyz")).status_code != 200:  # noqa: ASYNC110 - what another server does sets no event
            await asyncio.sleep(0.1)
