"""One worker, end to end, on a real database."""

import asyncio
import itertools
import time
from typing import Any

import psycopg
import pytest

from pgsched.delivery.app import App
from pgsched.delivery.exception_outcomes import Fail, Retry
from pgsched.delivery.handler_call import Context
from pgsched.worker.claiming_connection import new_token
from tests.worker.conftest import Connection, Recorder, Running, counting_app, until, until_history, value

pytestmark = pytest.mark.smoke

CUT = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name like %s"


async def test_an_inserted_row_is_delivered_once_and_enters_history(db: Connection, running: Running) -> None:
    app, calls = counting_app()
    async with running(app):
        id = await value(db, "select pgsched.schedule('python:count', '{}')::text")
        await until_history(db, 1)
    assert calls == [id]
    assert await value(db, "select count(*) from pgsched.executions") == 0


async def test_a_rolled_back_insert_is_never_delivered(db: Connection, running: Running, database_url: str) -> None:
    app, calls = counting_app()
    async with running(app):
        async with await psycopg.AsyncConnection.connect(database_url) as other:
            await other.execute("select pgsched.schedule('python:count', '{}')")
            await other.rollback()
        await db.execute("select pgsched.schedule('python:count', '{}')")
        await until_history(db, 1)
    assert len(calls) == 1


@pytest.mark.timed
async def test_executions_start_neither_before_nor_long_after_their_instant(db: Connection, running: Running) -> None:
    app, late = App(), list[float]()

    @app.handler("stamp")
    async def stamp(payload: float) -> None:
        late.append(time.time() - payload)

    async with running(app):
        await db.execute(
            "insert into pgsched.executions (target, payload, fire_at) select 'python:stamp', "
            "to_jsonb(extract(epoch from t)::float8), t from generate_series(now() + interval '0.3 s', "
            "now() + interval '1.3 s', interval '20 ms') t"
        )
        await until_history(db, 51)
    assert min(late) > -0.001
    assert sorted(late)[25] < 0.05


async def test_a_retryable_failure_is_retried_and_each_attempt_is_recorded(db: Connection, running: Running) -> None:
    app, tries = App(), list[int]()

    @app.handler("flaky")
    async def flaky(payload: Any, context: Context) -> None:
        tries.append(context.attempt)
        if context.attempt < 3:
            raise ValueError("not yet")

    async with running(app):
        options = '{"backoff": {"initial": "1ms", "maximum": "5ms"}}'
        await db.execute("select pgsched.schedule('python:flaky', '{}', options => %s::jsonb)", [options])
        await until_history(db, 1)
    assert tries == [1, 2, 3]
    rows = await (await db.execute("select attempt, error from pgsched.attempts order by 1")).fetchall()
    assert rows == [(1, "ValueError: not yet"), (2, "ValueError: not yet")]
    assert await value(db, "select attempt from pgsched.history") == 3
    assert await value(db, "select scheduled_for < fire_at from pgsched.history")


async def test_an_execution_past_its_relevant_for_period_expires_undelivered(db: Connection, running: Running) -> None:
    app, calls = counting_app()
    async with running(app):
        for options in ('{"relevant_for": "30s"}', '{"relevant_for": "2m"}'):
            await db.execute(
                "select pgsched.schedule('python:count', fire_at => now() - interval '1 minute', options => %s::jsonb)",
                [options],
            )
        await until_history(db, 1, status="expired")
        await until_history(db, 1)
    assert len(calls) == 1
    rows = await (await db.execute("select attempt, reason from pgsched.history where status = 'expired'")).fetchall()
    assert rows == [(0, "not started within 30s of its scheduled time")]
    assert await value(db, "select count(*) from pgsched.attempts") == 0


async def test_an_execution_whose_retry_would_come_too_late_expires(db: Connection, running: Running) -> None:
    app = App()

    @app.handler("busy")
    async def busy() -> None:
        raise Retry("busy")

    async with running(app):
        options = '{"relevant_for": "10s", "backoff": ["1ms", "1h"]}'
        await db.execute("select pgsched.schedule('python:busy', options => %s::jsonb)", [options])
        await until_history(db, 1, status="expired")
    assert await value(db, "select reason from pgsched.history") == "busy; not started within 10s of its scheduled time"
    assert await value(db, "select attempt from pgsched.history") == 2
    assert await value(db, "select count(*) from pgsched.attempts") == 2


async def test_a_deadline_cuts_the_last_attempt_short(db: Connection, running: Running) -> None:
    app = App()

    @app.handler("slow")
    async def slow() -> None:
        await asyncio.sleep(60)

    async with running(app):
        await db.execute("select pgsched.schedule('python:slow', options => '{\"deadline\": \"2s\"}')")
        await until_history(db, 1, status="failed")
    reason = await value(db, "select reason from pgsched.history")
    assert reason.startswith("no answer within ")
    assert reason.endswith("not started before its deadline, 2s after its scheduled time")
    assert await value(db, "select finished_at < scheduled_for + interval '30 seconds' from pgsched.history")


async def test_exhausted_retries_end_in_a_dead_letter(db: Connection, running: Running) -> None:
    app = App()

    @app.handler("broken")
    async def broken() -> None:
        raise Retry("still broken")

    async with running(app):
        options = '{"max_attempts": 2, "backoff": {"initial": "1ms", "maximum": "1ms"}}'
        await db.execute("select pgsched.schedule('python:broken', options => %s::jsonb)", [options])
        await until_history(db, 1, status="failed")
    assert await value(db, "select reason from pgsched.history") == "still broken"
    assert await value(db, "select count(*) from pgsched.attempts") == 2


async def test_a_final_failure_is_not_retried(db: Connection, running: Running) -> None:
    app = App()

    @app.handler("refuse")
    async def refuse() -> None:
        raise Fail("no such order")

    async with running(app):
        await db.execute("select pgsched.schedule('python:refuse')")
        await until_history(db, 1, status="failed")
    assert await value(db, "select attempt from pgsched.history") == 1


async def test_a_handlers_result_is_kept_in_history(db: Connection, running: Running) -> None:
    app = App()

    @app.handler("sum")
    async def add(payload: list[int]) -> int:
        return sum(payload)

    async with running(app):
        await db.execute("select pgsched.schedule('python:sum', '[1, 2]')")
        await until_history(db, 1)
    assert await value(db, "select result from pgsched.history") == 3


async def test_an_attempt_ends_at_its_timeout(db: Connection, running: Running) -> None:
    app = App()

    @app.handler("hang")
    async def hang() -> None:
        await asyncio.Event().wait()

    async with running(app):
        options = '{"timeout": "100ms", "max_attempts": 1}'
        await db.execute("select pgsched.schedule('python:hang', options => %s::jsonb)", [options])
        await until_history(db, 1, status="failed")
    assert await value(db, "select reason from pgsched.history") == "no answer within 0.1 s"


async def test_a_handler_that_cancels_itself_fails(db: Connection, running: Running) -> None:
    app = App()

    @app.handler("cancel")
    async def cancel() -> None:
        raise asyncio.CancelledError

    async with running(app):
        await db.execute("""select pgsched.schedule('python:cancel', options => '{"max_attempts": 1}')""")
        await until_history(db, 1, status="failed")
    assert await value(db, "select reason from pgsched.history") == "the handler cancelled itself"


async def test_a_transactional_handler_commits_with_its_completion(db: Connection, running: Running) -> None:
    app = App()
    await db.execute("create table ledger (entry text)")

    @app.handler("book")
    async def book(payload: str, connection: Connection) -> None:
        await connection.execute("insert into ledger values (%s)", [payload])
        if payload == "bad":
            raise Fail("refused")

    async with running(app):
        await db.execute("select pgsched.schedule('python:book', '\"good\"')")
        await db.execute("select pgsched.schedule('python:book', '\"bad\"')")
        await until_history(db, 1)
        await until_history(db, 1, status="failed")
    assert await value(db, "select array_agg(entry) from ledger") == ["good"]


async def test_the_search_path_applies_to_handlers_but_not_to_pgsched(
    db: Connection, running: Running, database_url: str
) -> None:
    app, name = App(), database_url.partition("?")[0].rsplit("/", 1)[1]
    await db.execute(
        "create schema books; create table books.ledger (entry text);"
        "create function books.never(uuid, uuid) returns boolean language sql immutable as 'select false';"
        "create operator books.= (leftarg = uuid, rightarg = uuid, function = books.never)"
    )
    await db.execute(f"alter database {name} set search_path = books, pg_catalog".encode())

    @app.handler("book")
    async def book(payload: str, connection: Connection) -> None:
        await connection.execute("insert into ledger values (%s)", [payload])

    async with running(app):
        await db.execute("select pgsched.schedule('python:book', '\"good\"')")
        await until_history(db, 1)
    assert await value(db, "select array_agg(entry) from books.ledger") == ["good"]


async def test_a_transactional_handler_with_a_stale_lease_leaves_no_trace(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app, reached, go = App(), asyncio.Event(), asyncio.Event()
    await db.execute("create table ledger (entry text)")

    @app.handler("book")
    async def book(payload: Any, context: Context, connection: Connection) -> None:
        await connection.execute("insert into ledger values ('entry')")
        if context.attempt == 1:
            reached.set()
            await go.wait()

    async with running(app):
        await db.execute("select pgsched.schedule('python:book', '{}')")
        await reached.wait()
        await db.execute(
            "update pgsched.executions set lease_token = null, lease_owner = null, lease_expires_at = null"
        )
        go.set()
        await until_history(db, 1)
    assert await value(db, "select count(*) from ledger") == 1
    assert await value(db, "select attempt from pgsched.history") == 2


async def test_a_late_result_under_a_stale_lease_is_refused(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app, reached, go = App(), asyncio.Event(), asyncio.Event()

    @app.handler("slow")
    async def slow() -> None:
        reached.set()
        await go.wait()

    async with running(app):
        await db.execute("select pgsched.schedule('python:slow')")
        await reached.wait()
        await db.execute("update pgsched.executions set lease_token = 77")
        go.set()
        assert (await recorder.wait_for("lease.refused"))["count"] == 1
        assert await value(db, "select lease_token from pgsched.executions") == 77
    assert await value(db, "select count(*) from pgsched.history") == 0


async def test_a_drain_hands_back_unstarted_rows_and_finishes_running_executions(
    db: Connection, running: Running
) -> None:
    app, started, go = App(), asyncio.Event(), asyncio.Event()

    @app.handler("wait")
    async def wait() -> None:
        started.set()
        await go.wait()

    async with running(app, concurrency=1) as worker:
        await db.execute(
            "insert into pgsched.executions (target, fire_at) values ('python:wait', now()), ('python:wait', now())"
        )
        await started.wait()
        worker.parts.claimer.stop()
        asyncio.get_running_loop().call_later(0.1, go.set)
    assert await value(db, "select count(*) from pgsched.history where status = 'succeeded'") == 1
    left = await (await db.execute("select attempt, lease_token from pgsched.executions")).fetchall()
    assert left == [(0, None)]
    assert await value(db, "select count(*) from pgsched.workers") == 0


async def test_a_drain_hands_back_rows_that_do_not_finish_in_time(db: Connection, running: Running) -> None:
    app, started = App(), asyncio.Event()

    @app.handler("hang")
    async def hang() -> None:
        started.set()
        await asyncio.Event().wait()

    async with running(app, drain_timeout=0.1):
        await db.execute("select pgsched.schedule('python:hang')")
        await started.wait()
    left = await (await db.execute("select attempt, lease_token from pgsched.executions")).fetchall()
    assert left == [(0, None)]


async def test_a_recurring_job_fires_every_instant_once(db: Connection, running: Running) -> None:
    app, _ = counting_app()
    async with running(app):
        job = await value(db, "select pgsched.schedule('python:count', '{}', every => '1 second')")
        await until_history(db, 3)
    query = (
        "select count(distinct scheduled_for), max(scheduled_for) - min(scheduled_for) "
        "from pgsched.history where job_id = %s"
    )
    row = await (await db.execute(query, [job])).fetchone()
    assert row is not None
    assert row[0] >= 3
    assert row[1].total_seconds() == row[0] - 1
    assert await value(db, "select count(*) from pgsched.executions where plan is not null") == 1


async def test_an_impossible_job_inserted_by_sql_becomes_invalid(db: Connection, running: Running) -> None:
    async with running():
        await db.execute("insert into pgsched.jobs (target, cron) values ('python:count', '0 0 30-31 2 *')")
        await until(lambda: value(db, "select state = 'invalid' from pgsched.jobs"))
    assert "never" in await value(db, "select reason from pgsched.jobs")


async def test_a_client_that_keeps_nothing_leaves_no_history(db: Connection, running: Running) -> None:
    await db.execute("insert into pgsched.clients (client_id, keep) values ('frugal', 'nothing')")
    app, calls = counting_app()
    async with running(app):
        await db.execute("select pgsched.schedule('python:count', '{}', client => 'frugal')")
        await until(lambda: value(db, "select count(*) = 0 from pgsched.executions"))
    assert len(calls) == 1
    assert await value(db, "select count(*) from pgsched.history") == 0


@pytest.mark.parametrize("role", ["claim", "settle", "listen", "upkeep"])
async def test_a_worker_survives_the_loss_of_any_connection(db: Connection, running: Running, role: str) -> None:
    app, _ = counting_app()
    async with running(app):
        await db.execute("select pgsched.schedule('python:count', '{}')")
        await until_history(db, 1)
        await value(db, CUT, f"pgsched {role} %")
        await db.execute("select pgsched.schedule('python:count', '{}')")
        await until_history(db, 2)


async def test_the_listener_reconnects_after_losing_its_connection(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    listening = "select count(*) from pg_stat_activity where application_name like 'pgsched listen %%'"
    app, _ = counting_app()
    async with running(app):
        await until(lambda: value(db, "select count(*) = 1 from pgsched.workers"))
        await value(db, CUT, "pgsched listen %")
        await recorder.wait_for("listener.lost")
        await until(lambda: value(db, listening))
        assert await value(db, "select count(*) = 1 and min(lost_since) is null from pgsched.workers")


@pytest.mark.timed
async def test_an_unnotified_row_waits_at_most_one_poll_interval(db: Connection, running: Running) -> None:
    app, _ = counting_app()
    async with running(app, poll_interval=0.5, notify=False):
        await until(lambda: value(db, "select count(*) = 1 from pgsched.workers"))
        await db.execute("select pgsched.schedule('python:count', '{}')")
        await until_history(db, 1, seconds=2)


async def test_a_worker_without_a_session_is_reaped_before_its_lease_ends(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app, _ = counting_app()
    await db.execute(
        "insert into pgsched.workers (id, name, queues, release, expires_at) overriding system value "
        "values (99999, 'dead', '{default}', '0', now() + interval '1 hour')"
    )
    await db.execute(
        "insert into pgsched.executions "
        "(target, payload, fire_at, lease_owner, lease_token, lease_expires_at, attempt) "
        "values ('python:count', '{}', now(), 99999, 1, now() + interval '1 hour', 1)"
    )
    async with running(app):
        await until_history(db, 1)
    assert await value(db, "select error from pgsched.attempts") == "the worker was lost"
    assert await value(db, "select count(*) from pgsched.workers where id = 99999") == 0


async def test_an_expired_lease_is_reaped(db: Connection, running: Running) -> None:
    app, _ = counting_app()
    await db.execute(
        "insert into pgsched.executions "
        "(target, payload, fire_at, lease_owner, lease_token, lease_expires_at, attempt) "
        "values ('python:count', '{}', now(), 5, 1, now() + interval '1 second', 1)"
    )
    async with running(app, lease=2.0):
        await until_history(db, 1)
    assert await value(db, "select attempt from pgsched.history") == 2


@pytest.mark.timed
async def test_a_long_runs_lease_is_renewed(db: Connection, running: Running) -> None:
    app, go = App(), asyncio.Event()

    @app.handler("long")
    async def long() -> None:
        await go.wait()

    async with running(app, lease=1.0):
        await db.execute("select pgsched.schedule('python:long')")
        first = await until(lambda: value(db, "select lease_expires_at from pgsched.executions"))
        later = "select lease_expires_at > %s + interval '1.5 s' from pgsched.executions"
        await until(lambda: value(db, later, first))
        go.set()
        await until_history(db, 1)
    assert await value(db, "select attempt from pgsched.history") == 1


async def test_two_workers_share_the_partitions(database_url: str, db: Connection, running: Running) -> None:
    app, calls = counting_app()
    async with running(app) as first, running(app) as second:
        await until(lambda: _shared(first, second))
        assert sorted(first.parts.assignment.own + second.parts.assignment.own) == list(range(16))
        await db.execute(
            "insert into pgsched.executions (target, payload, fire_at) "
            "select 'python:count', '{}', now() from generate_series(1, 500)"
        )
        await until_history(db, 500)
    assert len(calls) == len(set(calls)) == 500


async def _shared(first: Any, second: Any) -> bool:
    return len(first.parts.assignment.own) == len(second.parts.assignment.own) == 8


async def test_a_job_continues_after_its_next_run_is_cancelled(db: Connection, running: Running) -> None:
    app, _ = counting_app()
    async with running(app):
        job = await value(db, "select pgsched.schedule('python:count', '{}', every => '1 hour')")
        first = await until(lambda: value(db, "select id from pgsched.executions where job_id = %s", job))
        assert await value(db, "select pgsched.cancel(%s::uuid)", first)
        following = await until(lambda: value(db, "select id from pgsched.executions where job_id = %s", job))
    assert following != first
    apart = await value(
        db,
        "select e.scheduled_for - h.scheduled_for from pgsched.executions e, pgsched.history h where h.id = %s",
        first,
    )
    assert apart.total_seconds() == 3600


async def test_a_payload_with_a_huge_number_does_not_stop_planning(db: Connection, running: Running) -> None:
    async with running():
        await db.execute(
            "select pgsched.schedule('python:count', to_jsonb(('0.' || repeat('9', 5000))::numeric), every => '1 hour')"
        )
        await db.execute("select pgsched.schedule('python:count', every => '1 hour')")
        await until(lambda: value(db, "select count(*) = 2 from pgsched.executions where plan is not null"))


def test_lease_tokens_are_distinct_and_not_sequential() -> None:
    tokens = [new_token() for _ in range(1000)]
    assert len(set(tokens)) == 1000
    assert all(0 < token < 2**63 for token in tokens)
    assert len({second - first for first, second in itertools.pairwise(tokens)}) == 999
