"""A worker's payload memory is bounded in bytes, even with hundreds of large rows in hand."""

import asyncio
from typing import Any

import orjson

from pgsched.delivery.app import App
from pgsched.domain.execution import KEPT_BACK
from tests.delivery.receiver import receiving
from tests.worker.conftest import Connection, Running, until, until_history, value

MEBIBYTE = 1_048_576
LARGE = """
insert into pgsched.executions (target, payload, fire_at)
select %s, jsonb_build_object('n', n, 'text', text), now() from generate_series(1, %s) n,
       lateral (select string_agg(md5(n::text || i), '') as text from generate_series(1, %s) i) drawn"""
COMPRESSED = """
insert into pgsched.executions (target, payload, fire_at)
select 'python:hold', to_jsonb(repeat('a', 900000)), now() from generate_series(1, 8)"""


async def test_large_payloads_arrive_whole(db: Connection, running: Running) -> None:
    app, got = App(), list[dict[str, Any]]()

    @app.handler("take")
    async def take(payload: dict[str, Any]) -> None:
        got.append(payload)

    await db.execute(LARGE.encode(), ["python:take", 12, 10_000])
    expected = await (await db.execute("select payload from pgsched.executions")).fetchall()
    async with running(app):
        await until_history(db, 12)
    assert sorted(orjson.dumps(one) for one in got) == sorted(orjson.dumps(row[0]) for row in expected)
    assert await value(db, "select max(attempt) from pgsched.history") == 1


async def test_a_large_callback_body_arrives_whole(db: Connection, running: Running) -> None:
    async with receiving() as receiver, running():
        await db.execute(LARGE.encode(), [receiver.url, 1, 10_000])
        await until_history(db, 1)
    [request] = receiver.requests
    assert len(orjson.loads(request.body)["text"]) == 320_000


async def test_payloads_in_memory_stay_within_the_in_hand_bytes_setting(db: Connection, running: Running) -> None:
    app, go, begun = App(), asyncio.Event(), list[int]()

    @app.handler("hold")
    async def hold(payload: dict[str, Any]) -> None:
        begun.append(payload["n"])
        await go.wait()

    await db.execute(LARGE.encode(), ["python:hold", 20, 25_000])  # 800 kB each
    async with running(app, concurrency=20, in_hand_bytes=3 * MEBIBYTE) as worker:

        async def has_waited() -> bool:
            return worker.parts.dispatcher._waiting.count > 0 and len(begun) > 1

        await until(has_waited)
        in_hand = list(worker.parts.dispatcher.in_hand.rows.values())
        assert {row.payload for row in in_hand} == {KEPT_BACK}
        assert worker.parts.dispatcher._payloads.used <= 3 * MEBIBYTE
        assert len(begun) <= 3
        go.set()
        await until_history(db, 20, seconds=40)
        assert worker.parts.dispatcher._payloads.used == 0
    assert sorted(begun) == list(range(1, 21))
    assert await value(db, "select max(attempt) from pgsched.history") == 1


async def test_compressed_payloads_count_at_their_uncompressed_size(db: Connection, running: Running) -> None:
    app, go, sizes = App(), asyncio.Event(), list[int]()

    @app.handler("hold")
    async def hold(payload: str) -> None:
        sizes.append(len(payload))
        await go.wait()

    await db.execute(COMPRESSED)
    assert await value(db, "select max(pg_column_size(payload)) < 50000 from pgsched.executions")
    async with running(app, in_hand_bytes=2 * MEBIBYTE):
        await until(lambda: value(db, "select count(*) = 8 from pgsched.executions where lease_token is not null"))
        assert len(sizes) <= 2
        go.set()
        await until_history(db, 8, seconds=40)


async def test_a_payload_equal_to_the_placeholder_is_delivered_unchanged(db: Connection, running: Running) -> None:
    app, got = App(), list[Any]()

    @app.handler("take")
    async def take(payload: Any) -> None:
        got.append(payload)

    async with running(app):
        await db.execute("select pgsched.schedule('python:take', %s::jsonb)", [KEPT_BACK.decode()])
        await until_history(db, 1)
    assert got == [{"pgsched": "kept back"}]


async def test_a_large_results_memory_is_freed_after_settling(db: Connection, running: Running) -> None:
    app = App()

    @app.handler("report")
    async def report() -> str:
        return "x" * 700_000

    async with running(app, in_hand_bytes=MEBIBYTE) as worker:
        await db.execute("select pgsched.schedule('python:report') from generate_series(1, 10)")
        await until_history(db, 10, seconds=30)
        assert worker.parts.dispatcher._payloads.used == 0
