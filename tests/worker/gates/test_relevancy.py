"""A held execution expires when its ``relevant_for`` period ends, not when its turn comes."""

import asyncio

import pytest

from pgsched.delivery.app import App
from tests.delivery.receiver import Request, receiving
from tests.worker.conftest import Connection, Running, until, until_history, value

WAYS = {
    "a limit": (
        "select pgsched.set_limit('client', 'acme', rate => 1, per => '1 hour');"
        " update pgsched_internal.gates set next_at = pgsched.now() + interval '1 hour'"
    ),
    "a hold": "select pgsched.pause('client', 'acme')",
    "a host": "select pgsched.pause('target', 'shop.example')",
    "an ordering key": "select pgsched.schedule('python:slow', ordering_key => 'one', client => 'acme')",
    "no handler": "select",
}
TARGETS = {"a host": "http://shop.example/", "no handler": "python:missing"}
DEFAULTS = {
    "its own": "select",
    "its client's": 'select pgsched.set_client(\'acme\', \'{"options": {"relevant_for": "PT3S"}}\')',
    "its queue's": 'select pgsched.set_queue(\'default\', \'{"options": {"relevant_for": "PT3S"}}\')',
}
TOOK = "select extract(epoch from finished_at - scheduled_for)::float8 from pgsched.history where status = 'expired'"


@pytest.mark.parametrize(
    ("way", "whose"), [*((way, "its own") for way in WAYS), ("a limit", "its client's"), ("a hold", "its queue's")]
)
async def test_a_held_execution_expires_when_its_relevant_for_period_ends(
    running: Running, db: Connection, way: str, whose: str
) -> None:
    app = App()

    @app.handler("slow")
    async def slow() -> None:
        await asyncio.sleep(20)

    options = '{"relevant_for": "3s"}' if whose == "its own" else "{}"
    for text in (WAYS[way], DEFAULTS[whose]):
        await db.execute(text.encode())
    async with running(app, drain_timeout=0.1):
        schedule = "select pgsched.schedule(%s, client => 'acme', ordering_key => 'one', options => %s)"
        await db.execute(schedule.encode(), [TARGETS.get(way, "python:slow"), options])
        await until_history(db, 1, status="expired")
    assert 3 <= await value(db, TOOK) < 9


async def test_a_held_execution_stays_held_within_its_relevant_for_period(running: Running, db: Connection) -> None:
    await db.execute(WAYS["a hold"].encode())
    async with running():
        for seconds in (1, 1000):
            options = f'{{"relevant_for": "{seconds}s"}}'
            await db.execute("select pgsched.schedule('python:x', client => 'acme', options => %s)", [options])
        await until_history(db, 1, status="expired")
        assert await value(db, "select count(*) from pgsched.executions where not isfinite(fire_at)") == 1


LATER = {
    "a queue was paused": (
        "select pgsched.pause('queue', 'default')",
        "select",
        "select pgsched.resume('queue', 'default')",
    ),
    "a client's default was made shorter": (
        "select pgsched.pause('client', 'acme')",
        'select pgsched.set_client(\'acme\', \'{"options": {"relevant_for": "PT2S"}}\')',
        "select pgsched.resume('client', 'acme')",
    ),
    "a queue's default was made shorter": (
        "select pgsched.pause('client', 'acme')",
        'select pgsched.set_queue(\'default\', \'{"options": {"relevant_for": "PT2S"}}\')',
        "select pgsched.resume('client', 'acme')",
    ),
}
_WAITS_FOR = (
    "select extract(epoch from now() - min(scheduled_for)) from pgsched.status where status in ('scheduled', 'held')"
)


@pytest.mark.parametrize("what", LATER)
async def test_an_execution_expires_if_released_after_its_relevant_for_period(
    running: Running, db: Connection, what: str
) -> None:
    app, begun = App(), []

    @app.handler("note")
    async def note() -> None:
        begun.append(1)

    stops, meanwhile, lets_go = LATER[what]
    await db.execute(stops.encode())
    options = '{"relevant_for": "2s"}' if "paused" in what else "{}"
    await db.execute("select pgsched.schedule('python:note', client => 'acme', options => %s)", [options])
    async with running(app):
        if "paused" not in what:
            await until(lambda: value(db, "select 1 from pgsched.status where status = 'held'"))
        await db.execute(meanwhile.encode())
        await until(lambda: value(db, f"select 1 where ({_WAITS_FOR}) > 4.5"))
        await db.execute(lets_go.encode())
        await until_history(db, 1, status="expired")
    assert not begun


async def test_executions_behind_a_circuit_end_on_time(running: Running, db: Connection) -> None:
    async def fail(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n")

    options = '{"relevant_for": "4s", "backoff": ["1s"], "max_attempts": 100}'
    async with receiving(fail) as receiver, running(sideline_after=3):
        host = receiver.url.removeprefix("http://")
        await db.execute("select pgsched.set_limit('client', 'slow', rate => 5, per => '1 s')")
        for client, delay in (("acme", 0.0), ("acme", 0.1), ("acme", 1.5), ("slow", 0.0)):
            await db.execute(
                "select pgsched.schedule(%s, client => %s, delay => make_interval(secs => %s), options => %s)"
                " from generate_series(1, 15)",
                [receiver.url + "/", client, delay, options],
            )
        await until(lambda: value(db, "select 1 from pgsched_internal.gates where name like %s", f"circuit:{host}%"))
        await until(lambda: value(db, "select count(*) = 60 from pgsched.history"))
    ended = await value(db, "select array_agg(distinct status::text) from pgsched.history")
    assert set(ended) <= {"expired", "failed"}
    assert await value(db, "select count(*) > 30 from pgsched.history where status = 'expired'")
    assert (
        await value(db, "select max(extract(epoch from finished_at - scheduled_for))::float8 from pgsched.history") < 9
    )
