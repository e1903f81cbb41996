"""Claims skip targets that only other workers can deliver; what no worker can deliver is held and shown."""

import asyncio
from typing import Any

from pgsched.delivery.app import App
from pgsched.scheduler import Worker
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value

HELD = "select count(*) from pgsched.status where status = 'held' and held_by = %s"
ENDED = "select count(*) from pgsched.history where status = 'succeeded'"
SCHEDULE = "insert into pgsched.executions (target, fire_at) select %s, now() from generate_series(1, %s)"


def app_with(*names: str) -> tuple[App, list[str]]:
    app, calls = App(), list[str]()

    def register(name: str) -> None:
        @app.handler(name)
        async def handle() -> None:
            calls.append(name)

    for name in names:
        register(name)
    return app, calls


async def knows(worker: Worker, *targets: str) -> None:
    """Wait until the worker leaves these targets to other workers."""
    await until(lambda: asyncio.sleep(0, worker.parts.capabilities.left.get(0) == targets))


async def test_workers_without_the_handler_cause_no_failed_attempts(running: Running, db: Connection) -> None:
    app, calls = app_with("greet")
    async with running(), running(app), running():
        await db.execute(SCHEDULE, ["python:greet", 40])
        await until_history(db, 40)
    assert calls == ["greet"] * 40
    assert await value(db, "select max(attempt) from pgsched.history") == 1
    assert await value(db, "select count(*) from pgsched.attempts") == 0


async def test_a_worker_skips_executions_that_only_another_worker_can_deliver(running: Running, db: Connection) -> None:
    app, calls = app_with("greet")
    async with running() as without, running(app) as having:
        await knows(without, "python:greet")
        assert len(having.parts.assignment.own) == 16
        await db.execute(SCHEDULE, ["python:greet", 200])
        await until_history(db, 200)
        assert without.parts.settler.settled_count == 0
    assert len(calls) == 200


async def test_undeliverable_executions_are_held_without_an_attempt(running: Running, db: Connection) -> None:
    async with running():
        await db.execute(SCHEDULE, ["python:nobody", 3])
        await until(lambda: value(db, HELD + " having count(*) = 3", "worker:python:nobody"))
    assert await value(db, "select max(attempt) from pgsched.executions") == 0


async def test_held_executions_start_once_a_worker_with_the_handler_joins(running: Running, db: Connection) -> None:
    app, calls = app_with("greet")
    async with running():
        await db.execute(SCHEDULE, ["python:greet", 30])
        await until(lambda: value(db, HELD + " having count(*) = 30", "worker:python:greet"))
        async with running(app):
            await until_history(db, 30)
    assert len(calls) == 30
    assert await value(db, "select max(attempt) from pgsched.history") == 1


async def test_held_executions_start_once_the_handler_is_registered(running: Running, db: Connection) -> None:
    app, calls = app_with("other")
    async with running(app):
        await db.execute(SCHEDULE, ["python:greet", 5])
        await until(lambda: value(db, HELD + " having count(*) = 5", "worker:python:greet"))

        @app.handler("greet")
        async def greet() -> None:
            calls.append("greet")

        await until_history(db, 5)
    assert calls == ["greet"] * 5


async def test_executions_are_held_when_the_last_capable_worker_leaves(running: Running, db: Connection) -> None:
    app, _ = app_with("greet")
    async with running() as without:
        async with running(app):
            await knows(without, "python:greet")
        await db.execute(SCHEDULE, ["python:greet", 4])
        await until(lambda: value(db, HELD + " having count(*) = 4", "worker:python:greet"))


async def test_many_undeliverable_executions_delay_no_deliverable_executions(running: Running, db: Connection) -> None:
    app, calls = app_with("greet")
    await db.execute(SCHEDULE.replace("now()", "now() - interval '1 minute'"), ["python:nobody", 20_000])
    await db.execute(SCHEDULE, ["python:greet", 20])
    async with running(app) as worker:
        await until_history(db, 20)
        waiting = await value(
            db, "select count(*) from pgsched.executions where target = 'python:nobody' and isfinite(fire_at)"
        )
        assert waiting > 0
        assert worker.parts.capabilities.missed == ("python:nobody",)
        await until(lambda: value(db, HELD + " having count(*) = 20000", "worker:python:nobody"), seconds=60)
        await until(lambda: asyncio.sleep(0, worker.parts.capabilities.missed == ()))
    assert len(calls) == 20


async def test_thousands_of_unknown_handlers_do_not_starve_other_gates(running: Running, db: Connection) -> None:
    app, _ = app_with("greet")
    await db.execute(
        "insert into pgsched.executions (target, fire_at, scheduled_for, gate)"
        " select 'python:n' || n, 'infinity', now(), 'worker:python:n' || n from generate_series(1, 3000) n"
    )
    await db.execute(
        "insert into pgsched_internal.gates (name, events, period) values ('queue:default', 1000, '1 second')"
    )
    await db.execute(
        "insert into pgsched.executions (target, fire_at, scheduled_for, gate)"
        " select 'python:greet', 'infinity', now(), 'queue:default' from generate_series(1, 20) n"
    )
    async with running(app) as worker:
        await until_history(db, 20)
        assert not [name for name in worker.parts.admission.holding if name.startswith("worker:")]


async def test_ordering_is_kept_while_no_worker_has_the_handler(running: Running, db: Connection) -> None:
    app, seen = App(), []

    @app.handler("greet")
    async def greet(payload: Any) -> None:
        seen.append(payload)

    for n in range(10):
        await db.execute("select pgsched.schedule('python:greet', %s::jsonb, ordering_key => 'one')", [str(n)])
    async with running():
        await until(lambda: value(db, HELD, "worker:python:greet"))
        async with running(app):
            await until_history(db, 10)
    assert seen == [*range(10)]


async def test_a_jobs_runs_are_planned_even_if_no_worker_can_deliver_them(running: Running, db: Connection) -> None:
    app, calls = app_with("greet")
    rules = '{"on_overlap": "allow"}'
    await db.execute("select pgsched.schedule('python:greet', every => '1 second', rules => %s)", [rules])
    async with running():
        await until(lambda: value(db, HELD + " having count(*) >= 2", "worker:python:greet"))
        async with running(app):
            await until(lambda: value(db, ENDED + " having count(*) >= 3"))
    assert len(calls) >= 3


async def test_executions_held_for_a_worker_count_once_towards_a_limit(running: Running, db: Connection) -> None:
    app, calls = app_with("greet")
    await db.execute("insert into pgsched_internal.gates (name, events, period) values ('client:default', 5, '1 hour')")
    await db.execute(SCHEDULE, ["python:greet", 12])
    async with running() as without:
        await until(lambda: value(db, HELD + " having count(*) = 12", "worker:python:greet"))
        async with running(app):
            await knows(without, "python:greet")
            await until(lambda: value(db, HELD + " having count(*) >= 7", "client:default"))
            await until(lambda: value(db, ENDED))
    assert 1 <= len(calls) <= 5


async def test_kafka_targets_are_left_to_workers_with_brokers(running: Running, db: Connection) -> None:
    async with running() as without, running(kafka_brokers="127.0.0.1:1"):
        await knows(without, "kafka:")


async def test_kafka_messages_are_held_while_no_worker_has_brokers(running: Running, db: Connection) -> None:
    async with running():
        await db.execute(SCHEDULE, ["kafka:orders", 2])
        await db.execute(SCHEDULE, ["kafka:bills", 1])
        await until(lambda: value(db, HELD + " having count(*) = 3", "worker:kafka:"))


async def test_sql_targets_are_left_to_workers_with_an_sql_role(running: Running, db: Connection) -> None:
    async with running() as without, running(sql_role="somebody"):
        await knows(without, "sql:")


async def test_executions_are_held_if_no_capable_worker_serves_their_queue(
    running: Running, db: Connection, recorder: Recorder
) -> None:
    app, calls = app_with("greet")
    await db.execute("select pgsched.create_queue('orders')")
    async with running(queues="default,orders") as without, running(app, queues="default"):
        await knows(without, "python:greet")
        await db.execute("select pgsched.schedule('python:greet', queue => 'orders')")
        await db.execute("select pgsched.schedule('python:greet')")
        await until_history(db, 1)
        await until(lambda: value(db, HELD, "worker:python:greet"))
    assert calls == ["greet"]
