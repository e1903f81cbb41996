"""Which workers count as lost: those without sessions and those that fall silent.

A worker that is briefly cut off, or that the database keeps waiting, is not lost, and no other login can make it
appear lost.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsched.delivery.app import App
from pgsched.delivery.handler_call import Context
from pgsched.embedded import EmbeddedPostgres, bundled_bin_dir
from pgsched.scheduler import Worker
from pgsched.settings import Settings
from pgsched.store.admin.migrate import migrate
from pgsched.telemetry import Events
from pgsched.upkeep.reaper import TakeBackWalk
from tests.installed import find_bin_dir
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value

CUT = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name like %s"
LOST = "the worker was lost"


class Slow:
    """A handler ``slow`` that runs until ``go`` is set, and the executions that it was called for."""

    def __init__(self) -> None:
        self.app, self.calls, self.go = App(), list[str](), asyncio.Event()

        @self.app.handler("slow")
        async def slow(context: Context) -> None:
            self.calls.append(context.execution_id)
            await self.go.wait()

    async def begun(self, count: int) -> None:
        async with asyncio.timeout(20):
            while len(self.calls) < count:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def schedule(db: Connection, count: int) -> None:
    await db.execute("select pgsched.schedule('python:slow') from generate_series(1, %s)", [count])


async def seen_since(worker: Worker, turns: int) -> None:
    """Return once the worker's reaper has had this many more turns."""
    reaper, done, turn = worker.parts.upkeep.reaper, asyncio.Event(), worker.parts.upkeep.reaper.turn
    left = turns

    async def counted() -> float:
        nonlocal left
        pause = await turn()
        left -= 1
        if left <= 0:
            done.set()
        return min(pause, 0.25)

    reaper.turn = counted  # type: ignore[method-assign]
    reaper.wake()
    async with asyncio.timeout(30):
        await done.wait()
    reaper.turn = turn  # type: ignore[method-assign]


async def test_a_worker_without_its_listener_is_not_lost(
    db: Connection, running: Running, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, back = Slow(), asyncio.Event()
    async with running(slow.app) as judge, running(slow.app) as worker:
        await schedule(db, 10)
        await slow.begun(10)
        join = worker.parts.listener._link.get
        monkeypatch.setattr(worker.parts.listener._link, "get", lambda: _after(back, join))
        await value(db, CUT, f"pgsched listen {worker.parts.assignment.instance}%")
        await recorder.wait_for("listener.lost")
        await seen_since(judge, 12)
        back.set()
        slow.go.set()
        await until_history(db, 10)
    assert len(slow.calls) == 10
    assert not recorder.named("worker.lost")


async def _after(event: asyncio.Event, get: Any) -> Any:
    await event.wait()
    return await get()


async def test_foreign_advisory_locks_do_not_make_a_worker_lost(
    db: Connection, running: Running, recorder: Recorder, database_url: str
) -> None:
    slow = Slow()
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as outsider:
        for number in range(1, 5):
            await outsider.execute("select pg_advisory_lock(1885631331, %s)", [number])
        async with running(slow.app) as judge, running(slow.app):
            await schedule(db, 5)
            await slow.begun(5)
            await seen_since(judge, 12)
            slow.go.set()
            await until_history(db, 5)
    assert len(slow.calls) == 5
    assert not recorder.named("worker.lost")


async def test_a_database_clock_step_runs_no_execution_twice(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    slow = Slow()
    async with running(slow.app, lease=4.0) as judge, running(slow.app, lease=4.0):
        await schedule(db, 10)
        await slow.begun(10)
        await db.execute(
            "create or replace function pgsched.now() returns timestamptz language sql stable parallel safe"
            " as 'select pg_catalog.now() + interval ''1 hour'''"
        )
        await seen_since(judge, 24)
        slow.go.set()
        await until_history(db, 10)
    assert len(slow.calls) == 10
    assert not recorder.named("worker.lost")


async def test_the_reaper_spares_valid_leases_after_the_clock_is_set_back(db: Connection, running: Running) -> None:
    slow = Slow()
    async with running(slow.app) as judge, running(slow.app):
        await schedule(db, 10)
        await slow.begun(10)
        await db.execute("update pgsched.workers set expires_at = now() + interval '1 hour'")
        ahead = await value(db, "select extract(epoch from now() + interval '1 hour')::float8")
        reaper = judge.parts.upkeep.reaper
        reaper._walks[0] = TakeBackWalk([], judge.parts.assignment.partitions, ended_by=ahead, depth=1000)
        reaper.detector.interrupt()
        await seen_since(judge, 4)
        slow.go.set()
        await until_history(db, 10)
    assert len(slow.calls) == 10


async def test_a_lost_worker_of_another_queue_is_removed_and_frees_its_gates(db: Connection, running: Running) -> None:
    await db.execute("select pgsched.create_queue('orders')")
    await db.execute(
        "insert into pgsched.workers (id, name, queues, release, expires_at) overriding system value "
        "values (99999, 'dead', '{default,orders}', '0', now() + interval '1 hour')"
    )
    await db.execute("select pgsched.set_limit('host', 'shop.example', concurrency => 1)")
    gate_use = await value(db, "select to_regclass('pgsched_internal.gate_use')") or "pgsched.gate_use"
    await db.execute(f"insert into {gate_use} values ('host:shop.example', 99999, 1)")
    await db.execute(
        "insert into pgsched.executions"
        " (target, fire_at, partition, lease_owner, lease_token, lease_expires_at, attempt)"
        " select 'python:count', now(), q.first_partition, 99999, 1, now() + interval '1 hour', 1"
        " from pgsched.queues q where q.name = 'orders'"
    )
    async with running():
        await until(lambda: value(db, "select count(*) = 0 from pgsched.workers where id = 99999"))
        assert await value(db, "select lease_token is null and attempt = 0 from pgsched.executions")
        assert await value(db, f"select count(*) from {gate_use}") == 0


async def test_a_lost_worker_cannot_renew_and_registers_again(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    async with running(lease=3.0) as worker:
        await recorder.wait_for("worker.joined")
        before = worker.parts.assignment.number
        await db.execute("update pgsched.workers set lost_since = now()")
        await recorder.wait_for("worker.lost")
        await until(lambda: _registered_anew(worker, before))
        await until(
            lambda: value(
                db, "select array_agg(id) = array[%s]::integer[] from pgsched.workers", worker.parts.assignment.number
            )
        )


async def _registered_anew(worker: Worker, before: int) -> bool:
    return worker.parts.assignment.number > before


@pytest.fixture
def own_server(server: EmbeddedPostgres, tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    with psycopg.connect(server.url) as connection:
        major = connection.info.server_version // 10000
    bin_dir = bundled_bin_dir() if major == 18 else find_bin_dir(major)
    settings = {"fsync": "off", "shared_buffers": "32MB"}
    with EmbeddedPostgres(tmp_path / "postgres", bin_dir=bin_dir, settings=settings) as running:
        migrate(running.url)
        yield running


@contextmanager
def frozen(server: EmbeddedPostgres) -> Iterator[None]:
    """Freeze all processes of a server."""
    with psycopg.connect(server.url) as connection:
        [found] = connection.execute("select pg_read_file('postmaster.pid')").fetchone() or ("",)
    postmaster = int(found.split()[0])
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    processes = [postmaster, *map(int, children)]
    try:
        for process in processes:
            with suppress(ProcessLookupError):  # a session may have ended since
                os.kill(process, signal.SIGSTOP)
        yield
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


@pytest.fixture
async def two_workers(own_server: EmbeddedPostgres, recorder: Recorder) -> AsyncIterator[tuple[Connection, Slow]]:
    """Two workers with short leases and twenty slow executions in flight."""
    slow = Slow()
    async with AsyncExitStack() as stack:
        db = await stack.enter_async_context(await psycopg.AsyncConnection.connect(own_server.url, autocommit=True))
        for _ in range(2):
            settings = Settings(database_url=own_server.url, lease=3.0, concurrency=20, drain_timeout=5.0)
            worker = Worker(settings, app=slow.app, events=Events(recorder))
            await worker.start()
            stack.push_async_callback(worker.drain)
        await until(lambda: value(db, "select count(*) = 2 from pgsched.workers"))
        await schedule(db, 20)
        await slow.begun(20)
        yield db, slow


async def test_no_execution_is_delivered_twice_after_a_database_freeze(
    two_workers: tuple[Connection, Slow], own_server: EmbeddedPostgres, recorder: Recorder
) -> None:
    db, slow = two_workers
    with frozen(own_server):
        await asyncio.sleep(7)  # longer than twice the lease
    await until(lambda: value(db, "select count(*) = 2 from pgsched.workers where expires_at > now()"))
    await until(lambda: value(db, "select bool_and(lease_expires_at > now()) from pgsched.executions"))
    slow.go.set()
    await until_history(db, 20)
    assert len(slow.calls) == len(set(slow.calls)) == 20
    assert not recorder.named("worker.lost")
    assert await value(db, "select count(*) from pgsched.attempts") == 0
