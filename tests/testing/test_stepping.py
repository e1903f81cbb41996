"""Stepping a worker by hand, and time travel."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest

import pgsched
from pgsched.testing import Kit
from tests.testing.conftest import Calls

Connection = psycopg.Connection[tuple[Any, ...]]
NOON = "2031-03-01T12:00:00+00:00"


def test_calling_run_due_runs_and_records_due_executions(pgsched_kit: Kit, db: Connection, calls: Calls) -> None:
    id = pgsched.schedule(db, "python:ship", payload={"order": 42}, key="ship-42")
    pgsched.schedule(db, "python:ship", payload={"order": 43}, delay="1h")
    [ran] = pgsched_kit.run_due()
    assert (ran.id, ran.key, ran.payload, ran.status, ran.attempt) == (id, "ship-42", {"order": 42}, "succeeded", 1)
    assert ran.result == {"attempt": 1}
    assert calls == [("ship", {"order": 42})]
    assert db.execute("select status::text from pgsched.status order by id").fetchall() == [
        ("succeeded",),
        ("scheduled",),
    ]


def test_calling_run_due_also_runs_executions_that_become_due_meanwhile(
    pgsched_kit: Kit, db: Connection, pgsched_app: pgsched.App, calls: Calls, database_url: str
) -> None:
    @pgsched_app.handler("first")
    def first() -> None:
        with psycopg.connect(database_url) as connection:
            pgsched.schedule(connection, "python:count", payload=1)

    before = pgsched.schedule(db, "python:first")
    pgsched.schedule(db, "python:count", payload=2, after=[before])
    assert sorted(ran.target for ran in pgsched_kit.run_due()) == ["python:count", "python:count", "python:first"]
    assert sorted(calls) == [("count", 1), ("count", 2)]


def test_a_held_execution_expires_when_the_clock_is_advanced(pgsched_kit: Kit, db: Connection) -> None:
    pgsched_kit.travel_to(NOON)
    db.execute("select pgsched.pause('client', 'default')")
    id = pgsched.schedule(db, "python:ship", options={"relevant_for": "1h"})
    assert pgsched_kit.run_due() == []
    pgsched_kit.advance(timedelta(hours=2))
    assert pgsched_kit.run_due() == []
    assert db.execute("select status::text from pgsched.status where id = %s", [id]).fetchone() == ("expired",)


def test_the_clock_stands_still_after_travel_to(pgsched_kit: Kit, db: Connection) -> None:
    pgsched_kit.travel_to(NOON)
    assert db.execute("select pgsched.now()::text = %s::timestamptz::text", [NOON]).fetchone() == (True,)
    pgsched.schedule(db, "python:ship", delay="2d")
    assert pgsched_kit.run_due() == []
    pgsched_kit.advance(timedelta(days=2) - timedelta(microseconds=1))
    assert pgsched_kit.run_due() == []
    pgsched_kit.advance(timedelta(microseconds=1))
    [ran] = pgsched_kit.run_due()
    assert ran.scheduled_for.isoformat() == "2031-03-03T12:00:00+00:00"


def test_calling_run_until_runs_a_job_at_each_fire_time_on_the_way(pgsched_kit: Kit, db: Connection) -> None:
    pgsched_kit.travel_to(NOON)
    pgsched.schedule(db, "python:count", cron="0 2 * * *", timezone="Europe/Berlin", key="nightly")
    found = pgsched_kit.run_until("2031-03-04T12:00:00Z")
    assert [ran.scheduled_for.isoformat() for ran in found] == [f"2031-03-0{day}T01:00:00+00:00" for day in (2, 3, 4)]
    assert pgsched_kit.now().isoformat() == "2031-03-04T12:00:00+00:00"


def test_a_failed_attempt_is_raised_with_its_traceback(pgsched_kit: Kit, db: Connection) -> None:
    pgsched.schedule(db, "python:break", options={"max_attempts": 1})
    with pytest.raises(AssertionError, match="1 of the attempts failed") as caught:
        pgsched_kit.run_due()
    assert "the printer is out of paper" in str(caught.value)
    assert 'in broken\n    raise ValueError("the printer is out of paper")' in str(caught.value)


def test_with_checks_off_a_failure_is_returned_and_retried_when_due(pgsched_kit: Kit, db: Connection) -> None:
    pgsched_kit.travel_to(NOON)
    pgsched.schedule(db, "python:break", options={"max_attempts": 2, "backoff": ["10m"]})
    [first] = pgsched_kit.run_due(check=False)
    assert (first.status, first.error) == ("retrying", "ValueError: the printer is out of paper")
    assert pgsched_kit.run_due() == []
    pgsched_kit.advance("15m")
    [second] = pgsched_kit.run_due(check=False)
    assert (second.attempt, second.status) == (2, "failed")


def test_a_target_without_a_handler_is_named_in_the_error(pgsched_kit: Kit, db: Connection) -> None:
    pgsched.schedule(db, "python:shipp")
    with pytest.raises(AssertionError, match="no handler for python:shipp; the application's handlers are book, break"):
        pgsched_kit.run_due()


def test_a_due_job_that_cannot_be_planned_is_reported(pgsched_kit: Kit, db: Connection) -> None:
    db.execute("insert into pgsched.jobs (target, cron) values ('python:ship', '0 0 30-31 2 *')")
    with pytest.raises(AssertionError, match="cannot be planned"):
        pgsched_kit.run_due()


def test_a_handlers_writes_on_its_connection_are_committed(pgsched_kit: Kit, db: Connection) -> None:
    db.execute("create table bookings (n integer)")
    pgsched.schedule(db, "python:book", payload=7)
    assert [ran.status for ran in pgsched_kit.run_due()] == ["succeeded"]
    assert db.execute("select n from bookings").fetchall() == [(7,)]


def test_all_due_executions_run_under_a_concurrency_limit_of_one(pgsched_kit: Kit, db: Connection) -> None:
    db.execute("select pgsched.set_limit('client', 'default', concurrency => 1)")
    for n in range(3):
        pgsched.schedule(db, "python:count", payload=n)
    assert sorted(ran.payload for ran in pgsched_kit.run_due()) == [0, 1, 2]


def test_an_endless_chain_of_due_executions_is_stopped(
    pgsched_kit: Kit, db: Connection, pgsched_app: pgsched.App
) -> None:
    @pgsched_app.handler("again")
    def again() -> None:
        pgsched.schedule(db, "python:again")

    again()
    with pytest.raises(AssertionError, match="after 3 attempts, an execution is still due: python:again"):
        pgsched_kit.run_due(most=3)


async def test_calling_run_due_async_runs_handlers_in_the_tests_event_loop(
    pgsched_kit: Kit, db: Connection, calls: Calls
) -> None:
    pgsched.schedule(db, "python:ship", payload=1)
    with pytest.raises(RuntimeError, match="run_due_async"):
        pgsched_kit.run_due()
    assert [ran.status for ran in await pgsched_kit.run_due_async()] == ["succeeded"]
    assert calls == [("ship", 1)]


def test_the_clock_function_is_restored_even_if_the_kit_was_killed(database_url: str, db: Connection) -> None:
    defined = """select pg_get_functiondef(oid), proacl, obj_description(oid, 'pg_proc') from pg_proc
                  where oid = 'pgsched.now'::regproc"""
    before = db.execute(defined.encode()).fetchall()
    killed = Kit(database_url)
    killed.travel_to(NOON)
    killed._session.close()
    with Kit(database_url) as kit:
        assert kit.now() != NOON
        kit.travel_to(NOON)
    assert db.execute(defined.encode()).fetchall() == before


def test_the_kit_refuses_a_database_served_by_a_worker(database_url: str, db: Connection) -> None:
    db.execute(
        "insert into pgsched.workers (name, queues, release, instance, expires_at)"
        " values ('w', '{}', '0', 'abc', now())"
    )
    with (
        psycopg.connect(database_url, application_name="pgsched claim abc"),
        pytest.raises(RuntimeError, match=r"workers are serving this database \(w\)"),
    ):
        Kit(database_url)


def test_clearing_the_kit_removes_every_job_execution_and_key(pgsched_kit: Kit, db: Connection) -> None:
    pgsched.schedule(db, "python:count", every="1h", key="hourly")
    pgsched.schedule(db, "python:count", payload=1, key="one")
    pgsched_kit.run_due()
    pgsched_kit.clear()
    for table in ("pgsched.status", "pgsched.jobs", "pgsched_internal.keys"):
        assert db.execute(f"select count(*) from {table}".encode()).fetchone() == (0,)


def test_a_disallowed_call_fails_immediately_with_a_reason(
    pgsched_kit: Kit, db: Connection, pgsched_app: pgsched.App, calls: Calls
) -> None:
    @pgsched_app.handler("refund", clients=["support"])
    async def refund() -> None:
        calls.append(("refund", None))

    db.execute("""insert into pgsched.clients (client_id, channels) values ('shop', '{http}');
      insert into pgsched.executions (fire_at, target, client_id)
      values (now(), 'python:count', 'shop'), (now(), 'python:refund', 'billing'),
             (now(), 'python:refund', 'support')""")
    ran = pgsched_kit.run_due(check=False)
    assert sorted((one.status, one.attempt) for one in ran) == [("failed", 1), ("failed", 1), ("succeeded", 1)]
    reasons = db.execute("select reason from pgsched.status where status = 'failed' order by 1").fetchall()
    assert reasons == [
        ("client 'shop' is not allowed to use python targets: its channels are http",),
        ("the handler 'refund' does not serve client 'billing': its clients are support",),
    ]
    assert calls == [("refund", None)]
