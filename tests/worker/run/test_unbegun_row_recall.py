"""A row in hand that changes in the database before it begins does not start as it was."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.domain.execution import ClaimedExecution
from pgsched.scheduler import Worker
from pgsched.settings import Settings
from pgsched.telemetry import Events
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value

Early = Callable[[], Any]
IN_HAND_THEN = """
do $$
begin
  for turn in 1..2000 loop
    perform from pgsched.executions where key = 'b' and lease_token is not null;
    exit when found;
    perform pg_sleep(0.005);
  end loop;
  perform change;
end $$"""


class Noted:
    """An app that records its payloads."""

    def __init__(self) -> None:
        self.app, self.calls = App(), list[Any]()

        @self.app.handler("noted")
        async def note(payload: Any) -> None:
            self.calls.append(payload)


@pytest.fixture
def noted() -> Noted:
    return Noted()


@pytest.fixture
def early(database_url: str, recorder: Recorder, noted: Noted) -> Early:
    """`async with early() as worker`: a worker that claims a minute ahead, so that its rows do not start."""

    @asynccontextmanager
    async def run() -> AsyncIterator[Worker]:
        settings = Settings(database_url=database_url, drain_timeout=5.0)
        object.__setattr__(settings, "look_ahead", 60.0)
        worker = Worker(settings, app=noted.app, events=Events(recorder))
        await worker.start()
        try:
            yield worker
        finally:
            await worker.drain()

    return run


async def schedule(db: Connection, delay: str = "18 s", **named: str) -> Any:
    """Schedule an execution. ``early`` claims it 15 s before its instant, at a quarter of the look-ahead."""
    given = "".join(f", {name} => '{text}'" for name, text in named.items())
    return await value(db, f"select pgsched.schedule('python:noted', '\"old\"', delay => '{delay}'{given})")


async def job(db: Connection, rules: str = "{}") -> Any:
    """A job whose next instant is also 18 s away."""
    query = (
        "insert into pgsched.jobs (client_id, key, target, payload, every, anchor, rules) values"
        " ('default', 'j', 'python:noted', '\"old\"', '1 h', now() + interval '18 s' - interval '1 h', %s) returning id"
    )
    return await value(db, query, rules)


async def in_hand(worker: Worker, count: int = 1) -> None:
    """Wait until the worker has this many rows in hand, none of which has begun."""

    async def has() -> bool:
        return len(worker.parts.dispatcher.unbegun) == len(worker.parts.dispatcher.in_hand) == count

    await until(has)


async def test_an_execution_cancelled_before_it_is_due_is_never_called(
    db: Connection, early: Early, noted: Noted
) -> None:
    async with early() as worker:
        id = await schedule(db)
        await in_hand(worker)
        assert await value(db, "select pgsched.cancel(id => %s)", id)
        await in_hand(worker, 0)
    assert not noted.calls
    assert await value(db, "select (status, attempt)::text from pgsched.history where id = %s", id) == "(cancelled,1)"


async def test_rows_in_hand_are_held_when_their_client_is_paused(db: Connection, early: Early, noted: Noted) -> None:
    async with early() as worker:
        id = await schedule(db, client="acme")
        await in_hand(worker)
        await db.execute("select pgsched.pause('client', 'acme')")
        await until(lambda: value(db, "select gate = 'client:acme' from pgsched.executions where id = %s", id))
        await in_hand(worker, 0)


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (
            "pgsched.edit(client => 'acme', key => 'b', changes =>"
            " jsonb_build_object('fire_at', now() + interval '1 h'))",
            "0 old",
        ),
        (
            "pgsched.edit(client => 'acme', key => 'b', changes =>"
            """ '{"payload": 2, "fire_at": "2100-01-01T00:00:00Z"}')""",
            "0 2",
        ),
        ("pgsched.schedule('python:noted', '1', client => 'acme', key => 'b', delay => '1 h')", "0 1"),
    ],
)
async def test_a_row_delayed_in_hand_by_a_limit_can_be_changed(
    db: Connection, running: Running, noted: Noted, change: str, left: str
) -> None:
    await db.execute("select pgsched.set_limit('client', 'acme', rate => 1, per => '1 s')")
    async with running(noted.app):
        for key in ("a", "b"):
            await schedule(db, "0 s", client="acme", key=key)
        await db.execute(IN_HAND_THEN.replace("change", change).encode())
        assert await value(db, "select concat(attempt, ' ', payload #>> '{}') from pgsched.executions") == left
        await until_history(db, 1)
    assert noted.calls == ["old"]


async def test_a_recalled_row_that_was_kept_back_does_not_start(db: Connection, early: Early) -> None:
    async with early() as worker:
        id, other = (await schedule(db)).bytes, (await schedule(db)).bytes
        await in_hand(worker, 2)
        unbegun = worker.parts.dispatcher.unbegun
        unbegun.name([id, other])
        unbegun.recall(lambda row: row.id == id)
        worker.parts.dispatcher.go_on([id, other])
        assert [row.id for row in unbegun.copy()] == [other]
        assert not unbegun.kept_back


@pytest.mark.parametrize("waits_for", ["payload", "note"])
async def test_a_row_whose_job_is_paused_while_its_lane_waits_does_not_start(
    db: Connection, running: Running, noted: Noted, monkeypatch: pytest.MonkeyPatch, waits_for: str
) -> None:
    async with running(noted.app) as worker:
        parts, unbegun = worker.parts, worker.parts.dispatcher.unbegun
        waited, name = (parts.beginnings, "note") if waits_for == "note" else (parts.payloads._readings, "get")
        wait = getattr(waited, name)

        async def late(row: ClaimedExecution, **named: bool) -> Any:
            await db.execute("select pgsched.pause('job', id::text) from pgsched.jobs")
            async with asyncio.timeout(20):
                while row.id not in unbegun.named:  # noqa: ASYNC110  a notification is on its way
                    await asyncio.sleep(0.005)
            return await wait(row, **named)

        monkeypatch.setattr(waited, name, late)
        await db.execute(
            "insert into pgsched.jobs (client_id, key, target, payload, options, every, anchor) values ('default', 'j',"
            " 'python:noted', to_jsonb(repeat('x', 20000)), %s, '1 h', now() + interval '0.5 s' - interval '1 h')",
            ['{"max_attempts": 1}' if waits_for == "note" else None],
        )
        await until(lambda: value(db, "select count(*) = 0 from pgsched.executions"))
    assert not noted.calls
    assert await value(db, "select count(*) from pgsched.history") == 0


async def test_a_claimed_row_delayed_by_a_limit_keeps_its_instant(
    db: Connection, running: Running, noted: Noted
) -> None:
    await db.execute("select pgsched.set_limit('client', 'acme', rate => 5, per => '1 s')")
    await db.execute(
        "insert into pgsched.executions (client_id, target, fire_at)"
        " select 'acme', 'python:noted', date_trunc('minute', now()) from generate_series(1, 3)"
    )
    async with running(noted.app):
        await until_history(db, 3)
    moved = "select count(*) from pgsched.history where scheduled_for <> date_trunc('minute', scheduled_for)"
    assert await value(db, moved) == 0


async def test_rows_in_hand_are_held_when_their_host_is_sidelined(db: Connection, early: Early) -> None:
    async with early() as worker:
        await db.execute("select pgsched.schedule('http://shop.example/', delay => '18 s')")
        await in_hand(worker)
        await db.execute("select pgsched.pause('target', 'shop.example')")
        await until(lambda: value(db, "select gate = 'host:shop.example' from pgsched.executions"))
        await in_hand(worker, 0)


async def test_rows_in_hand_are_handed_back_when_their_queue_is_paused(db: Connection, early: Early) -> None:
    async with early() as worker:
        id = await schedule(db)
        await in_hand(worker)
        await db.execute("select pgsched.pause('queue', 'default')")
        await until(lambda: value(db, "select lease_token is null from pgsched.executions where id = %s", id))
        await in_hand(worker, 0)


@pytest.mark.parametrize(("verb", "state"), [("pause('job', %s::text)", "paused"), ("cancel(%s)", "cancelled")])
async def test_a_run_in_hand_is_removed_when_its_job_is_paused_or_cancelled(
    db: Connection, early: Early, verb: str, state: str
) -> None:
    async with early() as worker:
        id = await job(db)
        await in_hand(worker)
        await db.execute(f"select pgsched.{verb}".encode(), [id])
        await in_hand(worker, 0)
        await until(lambda: value(db, "select count(*) = 0 from pgsched.executions"))
        assert await value(db, "select state::text from pgsched.jobs") == state
    assert await value(db, "select count(*) from pgsched.history") == 0


async def test_a_job_that_is_paused_and_resumed_keeps_its_run(db: Connection, early: Early) -> None:
    async with early() as worker:
        id = await job(db)
        await in_hand(worker)
        instant = await value(db, "select min(scheduled_for) from pgsched.executions")
        await db.execute("select pgsched.pause('job', %s::text), pgsched.resume('job', %s::text)", [id, id])
        await until(lambda: value(db, "select plan = 3 from pgsched.executions where scheduled_for = %s", instant))
        await in_hand(worker)


async def test_a_run_in_hand_takes_its_edited_jobs_payload(db: Connection, early: Early) -> None:
    async with early() as worker:
        id = await job(db)
        await in_hand(worker)
        instant = await value(db, "select min(scheduled_for) from pgsched.executions")
        await db.execute('select pgsched.edit(%s, \'{"payload": "new"}\')', [id])
        query = "select payload = '\"new\"' from pgsched.executions where scheduled_for = %s"
        await until(lambda: value(db, query, instant))
        await in_hand(worker)
        [row] = worker.parts.dispatcher.unbegun.copy()
        assert row.payload == b'"new"'


async def test_a_run_in_hand_outside_the_edited_schedule_is_removed(db: Connection, early: Early) -> None:
    async with early() as worker:
        id = await job(db)
        await in_hand(worker)
        changes = "jsonb_build_object('anchor', now() + interval '10 days', 'every', '720h')"
        await db.execute(f"select pgsched.edit(%s, {changes})".encode(), [id])
        await in_hand(worker, 0)
        await until(lambda: value(db, "select planned_revision = revision from pgsched.jobs"))
        assert await value(db, "select count(*) from pgsched.executions where fire_at < now() + interval '1 h'") == 0


async def test_a_recalled_run_counts_once_towards_the_max_runs_limit(db: Connection, early: Early) -> None:
    async with early() as worker:
        id = await job(db, '{"max_runs": 2}')
        await in_hand(worker)
        await db.execute("select pgsched.pause('job', %s::text)", [id])
        await until(lambda: value(db, "select runs = 0 from pgsched.jobs"))
        await db.execute("select pgsched.resume('job', %s::text)", [id])
        await in_hand(worker)
        assert await value(db, "select runs from pgsched.jobs") == 1
