"""Limits, with whole workers: which executions pass, which are held, and that none is lost."""

import asyncio
import time
from collections import Counter
from contextlib import AsyncExitStack
from typing import Any

import psycopg
import pytest

from pgsched.delivery.app import App
from pgsched.store.core.connect import connect
from pgsched.worker.gates import gate_claimer
from tests.delivery.receiver import execution
from tests.worker.conftest import Connection, Running, until, until_history, value

FLOOD = """
insert into pgsched.executions (client_id, target, fire_at, options)
select 'flood', 'python:noop', now() - interval '1 minute' + n * interval '1 ms', %s::jsonb
  from generate_series(1, %s) n"""
HELD = "select count(*) from pgsched.executions where gate = %s and fire_at = 'infinity'"


def counting_app() -> tuple[App, dict[str, int]]:
    app, seen = App(), {"now": 0, "most": 0, "done": 0}

    @app.handler("noop")
    async def noop() -> None:
        seen["done"] += 1

    @app.handler("slow")
    async def slow() -> None:
        seen["now"] += 1
        seen["most"] = max(seen["most"], seen["now"])
        await asyncio.sleep(0.02)
        seen["now"] -= 1
        seen["done"] += 1

    return app, seen


async def limit(db: Connection, name: str, **columns: Any) -> None:
    names = ", ".join(columns)
    marks = ", ".join(["%s"] * len(columns))
    await db.execute(
        f"insert into pgsched_internal.gates (name, {names}) values (%s, {marks})".encode(), [name, *columns.values()]
    )


@pytest.mark.timed
async def test_executions_over_a_clients_rate_are_held_and_pass_at_that_rate(running: Running, db: Connection) -> None:
    app, seen = counting_app()
    await limit(db, "client:flood", events=50, period="1 second")
    await db.execute(FLOOD.encode(), [None, 3000])
    async with running(app):
        await until(lambda: value(db, HELD + " having count(*) > 100", "client:flood"))
        before, began = seen["done"], time.monotonic()
        await until(lambda: asyncio.sleep(0, seen["done"] >= before + 75))
        rate = (seen["done"] - before - 1) / (time.monotonic() - began)
    assert rate <= 50 * 1.05


async def test_one_clients_limit_does_not_delay_another_client(running: Running, db: Connection) -> None:
    app, _ = counting_app()
    await limit(db, "client:flood", events=1, period="1 hour")
    await db.execute(FLOOD.encode(), [None, 500])
    async with running(app):
        await until(lambda: value(db, HELD + " having count(*) > 400", "client:flood"))
        await db.execute("insert into pgsched.executions (target, fire_at) values ('python:noop', now())")
        await until(lambda: value(db, "select 1 from pgsched.history where client_id = 'default'"))


async def test_a_locked_gate_holds_its_executions_and_delays_no_other_executions(
    running: Running, db: Connection, database_url: str
) -> None:
    app, _ = counting_app()
    await limit(db, "client:flood", concurrency=100)
    async with running(app), await psycopg.AsyncConnection.connect(database_url) as operator:
        await operator.execute("select pgsched.set_limit('client', 'flood', concurrency => 50)")
        await db.execute(FLOOD.encode(), [None, 20])
        await until(lambda: value(db, HELD + " having count(*) = 20", "client:flood"))
        await db.execute("insert into pgsched.executions (target, fire_at) values ('python:noop', now())")
        await until_history(db, 1)
        await operator.commit()
        await until_history(db, 21)


async def test_two_workers_together_obey_a_concurrency_limit(running: Running, db: Connection) -> None:
    app, seen = counting_app()
    await limit(db, "client:flood", concurrency=3)
    await db.execute(FLOOD.replace("noop", "slow").encode(), [None, 60])
    async with running(app), running(app):
        await until_history(db, 60)
    assert seen["most"] == 3


async def test_executions_pass_a_dropped_limit_and_history_records_the_wait(running: Running, db: Connection) -> None:
    app, _ = counting_app()
    await limit(db, "client:flood", events=1, period="1 hour")
    await db.execute(FLOOD.encode(), [None, 30])
    async with running(app):
        await until(lambda: value(db, HELD + " having count(*) = 29", "client:flood"))
        await db.execute("delete from pgsched_internal.gates")
        await db.execute("notify pgsched_wake, 'gates'")
        await until_history(db, 30)
    waits = "select waits #- '{0,since}' #- '{0,until}' = %s, waits #> '{0,until}' >= waits #> '{0,since}', count(*)"
    found = await db.execute(f"{waits} from pgsched.history group by 1, 2".encode(), ['[{"held_by": "client:flood"}]'])
    assert sorted(await found.fetchall(), key=str) == [(None, None, 1), (True, True, 29)]


async def test_a_limit_on_a_limit_key_applies_only_to_executions_with_that_key(
    running: Running, db: Connection
) -> None:
    app, _ = counting_app()
    await limit(db, "key:flood/m-1", events=1, period="1 hour")
    await db.execute(FLOOD.encode(), ['{"limit_key": "m-1"}', 5])
    await db.execute(FLOOD.encode(), ['{"limit_key": "m-2"}', 5])
    async with running(app):
        await until_history(db, 6)
        assert await value(db, HELD, "key:flood/m-1") == 4


@pytest.mark.timed
async def test_held_executions_pass_by_priority_and_then_by_instant(running: Running, db: Connection) -> None:
    app, _ = counting_app()
    await limit(db, "client:flood", events=1, period="1 hour")
    await db.execute(FLOOD.encode(), ['{"priority": 1}', 3])
    await db.execute(FLOOD.encode(), ['{"priority": 5}', 2])
    async with running(app):
        await until(lambda: value(db, HELD + " having count(*) = 4", "client:flood"))
        await db.execute("update pgsched_internal.gates set period = '0.2 s', next_at = now()")
        await until_history(db, 5)
    order = await (
        await db.execute("select (options ->> 'priority')::int from pgsched.history order by finished_at offset 1")
    ).fetchall()
    assert [row[0] for row in order] in ([5, 5, 1, 1], [5, 1, 1, 1])


async def test_an_execution_held_before_it_is_due_does_not_start_early(running: Running, db: Connection) -> None:
    app, _ = counting_app()
    await limit(db, "client:flood", events=100, period="1 second")
    await db.execute(
        "insert into pgsched.executions (client_id, target, fire_at, scheduled_for, gate)"
        " select 'flood', 'python:noop', 'infinity', now() + n * interval '0.2 s', 'client:flood'"
        " from generate_series(1, 5) n"
    )
    async with running(app):
        await until_history(db, 5)
    assert await value(db, "select count(*) from pgsched.history where finished_at < scheduled_for") == 0


async def test_executions_that_expire_behind_a_limit_use_none_of_its_rate(running: Running, db: Connection) -> None:
    app, _ = counting_app()
    await limit(db, "client:flood", events=1, period="1 hour", next_at="2200-01-01")
    await db.execute(FLOOD.encode(), ['{"relevant_for": "10s"}', 40])
    async with running(app):
        await until_history(db, 40, status="expired")


async def test_a_rolled_back_admission_is_not_counted(running: Running, db: Connection, database_url: str) -> None:
    await limit(db, "client:shop", concurrency=3)
    row = execution("python:noop", client_id="shop")
    async with running(counting_app()[0]) as worker, await connect(database_url, "claim") as connection:
        await until(lambda: asyncio.sleep(0, worker.parts.known_gates.loaded and worker.parts.assignment.number))
        async with connection.transaction(force_rollback=True):
            await worker.parts.admission.admit(connection, [row])
        async with connection.transaction():
            await worker.parts.admission.admit(connection, [row])
        assert await value(db, "select running from pgsched_internal.gate_use") >= 1
        worker.parts.admission.left([row.id])
        await until(lambda: value(db, "select running = 0 from pgsched_internal.gate_use"))


async def test_executions_at_all_gates_run_even_if_a_search_finds_few_gates(
    running: Running, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_claimer, "_MOST_HOLDING", 2)
    app, _ = counting_app()
    for client in ("a", "b", "c", "d", "e"):
        await limit(db, f"client:{client}", concurrency=1)
        await db.execute(FLOOD.replace("flood", client).replace("noop", "slow").encode(), [None, 5])
    async with running(app):
        await until_history(db, 25)


BESIDE = """
insert into pgsched.executions (client_id, target, fire_at, options, payload)
select 'flood', 'python:count', now() - interval '1 minute' + n * interval '3 ms', %s::jsonb, to_jsonb(%s::text)
  from generate_series(1, %s) n"""


async def _begun_in_3_s(running: Running, db: Connection, *, workers: int = 1) -> Counter[str]:
    """The number of each payload's starts in three seconds, once workers have found the limits."""
    app, begun = App(), Counter[str]()

    @app.handler("count")
    async def count(payload: str) -> None:
        begun[payload] += 1

    async with AsyncExitStack() as stack:
        for _ in range(workers):
            await stack.enter_async_context(running(app))
        await until(lambda: asyncio.sleep(0, begun.total() > 100))
        before = begun.copy()
        await asyncio.sleep(3)
        return begun - before


@pytest.mark.timed
@pytest.mark.parametrize(("priority", "workers"), [(0, 1), (5, 1), (5, 2)])
async def test_a_tight_limit_does_not_slow_executions_under_a_wider_limit(
    running: Running, db: Connection, priority: int, workers: int
) -> None:
    await limit(db, "client:flood", events=200, period="1 second")
    await limit(db, "key:flood/m-1", events=4, period="1 second")
    await db.execute(BESIDE.encode(), [None, "others", 2000])
    await db.execute(BESIDE.encode(), [f'{{"limit_key": "m-1", "priority": {priority}}}', "key", 1000])
    begun = await _begun_in_3_s(running, db, workers=workers)
    assert 3 * 150 <= begun.total() <= 3 * 200 * 1.1
    assert 3 * 2 <= begun["key"] <= 3 * 4 + 2


@pytest.mark.timed
async def test_nested_limits_starve_no_executions(running: Running, db: Connection) -> None:
    await limit(db, "queue:default", events=200, period="1 second")
    await limit(db, "client:flood", events=100, period="1 second")
    await limit(db, "key:flood/m-1", events=10, period="1 second")
    await db.execute(BESIDE.encode(), ['{"limit_key": "m-1"}', "key", 1000])
    await db.execute(BESIDE.encode(), [None, "client", 2000])
    await db.execute(BESIDE.replace("flood", "other").encode(), [None, "others", 2000])
    begun = await _begun_in_3_s(running, db, workers=2)
    assert 3 * 140 <= begun.total() <= 3 * 200 * 1.1
    assert 3 * 4 <= begun["key"] <= 3 * 10 + 2
    assert begun["client"] >= 3 * 40
    assert begun["others"] >= 3 * 40


@pytest.mark.timed
async def test_executions_under_a_wide_limit_do_not_wait_for_a_tight_limit(running: Running, db: Connection) -> None:
    app, _ = counting_app()
    await limit(db, "client:flood", events=200, period="1 second")
    await limit(db, "key:flood/m-1", events=4, period="1 second")
    await db.execute(FLOOD.encode(), ['{"limit_key": "m-1"}', 1000])
    async with running(app):
        await until(lambda: value(db, HELD + " having count(*) > 100", "key:flood/m-1"))
        await asyncio.sleep(1)  # until it is known to be fed just in time
        for _ in range(60):
            await db.execute(
                "insert into pgsched.executions (client_id, target, fire_at)"
                " values ('flood', 'python:noop', clock_timestamp())"
            )
            await asyncio.sleep(0.02)
        await until(lambda: value(db, "select 1 from pgsched.history where options is null having count(*) = 60"))
    late = "extract(epoch from percentile_cont(0.5) within group (order by finished_at - scheduled_for))"
    assert await value(db, f"select {late} < 0.1 from pgsched.history where options is null")


async def test_a_host_sidelined_for_a_day_delays_no_other_target(running: Running, db: Connection) -> None:
    app, seen = counting_app()
    await db.execute("select pgsched.pause('target', 'dead.example', until => now() + interval '1 day')")
    async with running(app):
        await db.execute("select pgsched.schedule('http://dead.example/') from generate_series(1, 5)")
        await until(lambda: value(db, HELD + " having count(*) = 5", "host:dead.example"))
        await db.execute("select pgsched.schedule('python:noop') from generate_series(1, 20)")
        await until_history(db, 20)
    assert seen["done"] == 20


@pytest.mark.timed
async def test_executions_behind_two_gates_do_not_delay_those_behind_one(running: Running, db: Connection) -> None:
    app, seen = counting_app()
    await limit(db, "client:flood", events=20, period="1 second")
    await limit(db, "key:flood/m-1", events=1, period="1 hour")
    await limit(db, "queue:default", events=1000, period="1 second")
    await db.execute("select pgsched.pause('target', 'dead.example')")
    await db.execute(FLOOD.encode(), [None, 40])
    async with running(app):
        await until(lambda: value(db, HELD + " having count(*) > 10", "client:flood"))
        await db.execute(FLOOD.replace("python:noop", "http://dead.example/").encode(), ['{"priority": 9}', 2000])
        await db.execute(FLOOD.encode(), ['{"priority": 8, "limit_key": "m-1"}', 2000])
        before = seen["done"]
        await until(lambda: asyncio.sleep(0, seen["done"] == 41), seconds=12)
    assert before < 40


async def test_held_executions_start_despite_a_saturating_backlog(running: Running, db: Connection) -> None:
    app, seen = counting_app()

    @app.handler("long")
    async def long() -> None:
        await asyncio.sleep(0.5)

    await limit(db, "key:flood/m-1", events=2, period="1 second")
    await db.execute(FLOOD.encode(), ['{"limit_key": "m-1"}', 20])
    await db.execute(FLOOD.replace("flood", "other").replace("noop", "long").encode(), [None, 2000])
    async with running(app, concurrency=10, drain_timeout=0.1):
        await until(lambda: asyncio.sleep(0, seen["done"] >= 8), seconds=40)
