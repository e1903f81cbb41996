"""Targets that answer 202 and complete the execution later."""

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest
from psycopg.types.json import Jsonb

from pgsched.domain.execution_options import parse_options
from tests.delivery.receiver import Receiver, Request, answering, receiving
from tests.worker.conftest import Connection, Running, until, until_history, value

pytestmark = pytest.mark.smoke

ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
COMPLETE = "select pgsched.complete(%s::uuid, %s, %s::jsonb)"
DEFERRED = "select count(*) = %s from pgsched.executions where lease_token is not null and lease_owner is null"


@pytest.fixture
async def slow() -> AsyncIterator[Receiver]:
    """A target that accepts everything with a 202."""
    async with receiving(answering("202 Accepted")) as receiver:
        yield receiver


async def put(db: Connection, url: str, **options: object) -> str:
    return str(
        await value(
            db,
            "select pgsched.schedule(%s, payload => '{}', options => %s)::text",
            f"{url}/slow",
            Jsonb({"deferred": "1h", **options}),
        )
    )


async def deferred(db: Connection, count: int = 1) -> None:
    await until(lambda: value(db, DEFERRED, count))


def token_of(request: Request) -> int:
    return int(request.headers["pgsched-completion-token"])


async def test_a_deferred_execution_runs_until_it_is_completed(
    db: Connection, running: Running, slow: Receiver
) -> None:
    async with running() as worker:
        id = await put(db, slow.url)
        await deferred(db)
        assert await value(db, "select status::text from pgsched.status where id = %s::uuid", id) == "running"
        assert worker.parts.dispatcher.in_hand.rows == {}
        await value(db, COMPLETE, id, token_of(slow.requests[0]), '{"done": 1}')
    assert await value(db, "select result from pgsched.history where status = 'succeeded'") == {"done": 1}


async def test_a_deferred_execution_outlives_its_worker(db: Connection, running: Running, slow: Receiver) -> None:
    async with running():
        id = await put(db, slow.url)
        await deferred(db)
    async with running() as second:
        await until(lambda: value(db, "select count(*) = 1 from pgsched.workers"))
        await second.parts.upkeep.reaper.turn()
        await value(db, COMPLETE, id, token_of(slow.requests[0]), None)
    assert len(slow.requests) == 1
    assert await value(db, "select attempt from pgsched.history where status = 'succeeded'") == 1


async def test_a_target_may_complete_before_it_responds(db: Connection, running: Running, database_url: str) -> None:
    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as quick:
            await quick.execute(COMPLETE, [request.headers["idempotency-key"], token_of(request), None])
        writer.write(ACCEPTED)

    async with receiving(respond) as quick, running():
        await put(db, quick.url)
        await until_history(db, 1)
        assert len(quick.requests) == 1


async def test_a_target_that_does_not_complete_in_time_is_called_again(
    db: Connection, running: Running, slow: Receiver
) -> None:
    async with running(lease=6.0) as worker:
        await put(db, slow.url, backoff=["1ms"], max_attempts=2)
        await deferred(db)
        first = token_of(slow.requests[0])
        await db.execute("update pgsched.executions set fire_at = pgsched.now(), lease_expires_at = pgsched.now()")
        worker.parts.upkeep.reaper._edges.hasten()
        worker.parts.upkeep.reaper.wake()
        await until(lambda: _count(slow, 2))
        assert token_of(slow.requests[1]) != first
    error = await value(db, "select error from pgsched.attempts")
    assert error.startswith("the target responded with 202, but the execution was not completed by ")


async def test_a_target_may_report_a_failure(db: Connection, running: Running, slow: Receiver) -> None:
    async with running():
        id = await put(db, slow.url, max_attempts=1)
        await deferred(db)
        fail = "select pgsched.fail(%s::uuid, %s, 'out of paper')::text"
        assert await value(db, fail, id, token_of(slow.requests[0])) == "failed"
    assert await value(db, "select reason from pgsched.history") == "out of paper"


async def test_a_completion_token_is_valid_for_one_attempt(db: Connection, running: Running, slow: Receiver) -> None:
    async with running():
        id = await put(db, slow.url, backoff=["1ms"])
        await deferred(db)
        first = token_of(slow.requests[0])
        await value(db, "select pgsched.fail(%s::uuid, %s, 'again')::text", id, first)
        await until(lambda: _count(slow, 2))
        await deferred(db)
        with pytest.raises(psycopg.Error, match="no longer yours"):
            await value(db, COMPLETE, id, first, None)


async def test_deferred_executions_take_no_lane(db: Connection, running: Running, slow: Receiver) -> None:
    async with running(concurrency=2):
        for _ in range(10):
            await put(db, slow.url)
        await deferred(db, 10)


async def test_a_target_may_extend_its_completion_deadline(db: Connection, running: Running, slow: Receiver) -> None:
    async with running():
        id = await put(db, slow.url)
        await deferred(db)
        extend = "select pgsched.extend(%s::uuid, %s, '3 hours') > now() + interval '2 hours'"
        assert await value(db, extend, id, token_of(slow.requests[0]))


async def test_a_202_response_without_the_deferred_option_is_a_plain_success(
    db: Connection, running: Running, slow: Receiver
) -> None:
    async with running():
        await value(db, "select pgsched.schedule(%s)", f"{slow.url}/slow")
        await until_history(db, 1)
    assert "pgsched-completion-token" not in slow.requests[0].headers


async def test_a_queue_target_in_a_worker_served_queue_fails_with_the_reason(db: Connection, running: Running) -> None:
    async with running():
        await db.execute("insert into pgsched.executions (target, fire_at) values ('queue:', pgsched.now())")
        await until_history(db, 1, status="failed")
    assert "pulled" in await value(db, "select reason from pgsched.history")


def test_the_deferred_options_duration_is_converted_to_seconds() -> None:
    assert parse_options(b'{"deferred": "1h"}').deferred == 3600.0


async def _count(receiver: Receiver, count: int) -> bool:
    return len(receiver.requests) >= count
