"""Handlers that end their process, in real, supervised workers."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsched.delivery.isolated_handlers import LOSSES
from tests.cli.conftest import Start, answer
from tests.conftest import at

APP = """
import os, time
import pgsched

app = pgsched.App()


@app.handler("work")
def work(payload):
    if payload == "poison":
        os._exit(3)
    time.sleep(0.002)


@app.handler("other")
async def other():
    pass
"""
MIXED = """
insert into pgsched.executions (target, payload, fire_at, options)
select 'python:work', case when n %% %s = 0 then '"poison"'::jsonb else to_jsonb(n) end, now(),
       '{"max_attempts": 2, "backoff": {"initial": "100ms", "maximum": "100ms"}}'
  from generate_series(1, %s) n"""
DIED = "the handler's process ended (exit status 3)"


@pytest.fixture
def db(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def worker(start: Start, database_url: str, tmp_path: Path) -> Any:
    """Starts ``pgsched worker`` with a handler that ends its process, and waits until it is ready."""

    def begin(*words: str) -> Any:
        (tmp_path / "poisoned.py").write_text(APP)
        process = start("worker", "--json", "--app", "poisoned:app", "--drain-timeout", "2", *words, **at(database_url))
        answer(process)
        return process

    return begin


def value(db: psycopg.Connection[Any], query: str, *parameters: Any) -> Any:
    row = db.execute(query.encode(), parameters).fetchone()
    return row[0] if row else None


def until(db: psycopg.Connection[Any], query: str, *parameters: Any, seconds: float = 100) -> None:
    deadline = time.monotonic() + seconds
    while not value(db, query, *parameters):
        assert time.monotonic() < deadline, db.execute(
            "select status::text, held_by, count(*) from pgsched.status group by 1, 2"
        ).fetchall()
        time.sleep(0.1)


def test_poison_pills_do_not_affect_other_executions(worker: Any, db: Any) -> None:
    db.execute(MIXED, [51, 204])
    worker("--processes", "2", "--concurrency", "10")
    until(db, "select count(*) = 200 from pgsched.history where status = 'succeeded'")
    until(db, "select count(*) = 4 from pgsched.dead_letters")
    assert value(db, "select count(*) from pgsched.executions") == 0
    assert value(db, "select max(attempt) from pgsched.history where status = 'succeeded'") == 1
    found = db.execute("select distinct payload #>> '{}', attempt, reason from pgsched.dead_letters").fetchall()
    assert found == [("poison", 2, DIED)]


def test_a_poison_pill_does_not_delay_other_targets(worker: Any, db: Any) -> None:
    worker("--processes", "2")
    db.execute(MIXED, [1, 3])
    db.execute(
        "insert into pgsched.executions (target, fire_at) select 'python:other', now() from generate_series(1, 50)"
    )
    until(db, "select count(*) = 50 from pgsched.history where status = 'succeeded'")
    until(db, "select count(*) = 3 from pgsched.dead_letters")


def test_isolating_a_poison_pill_costs_a_fixed_number_of_workers(worker: Any, db: Any, tmp_path: Path) -> None:
    worker("--processes", "2")
    db.execute(MIXED, [1, 1])
    until(db, "select count(*) = 1 from pgsched.dead_letters")
    assert (tmp_path / "stderr-0").read_text().count("ended unexpectedly") == LOSSES
    errors = db.execute("select error from pgsched.attempts order by finished_at").fetchall()
    assert errors == [("the worker was lost",)] * LOSSES + [(DIED,)] * 2


def test_a_failed_poison_pill_does_not_block_its_ordering_key(worker: Any, db: Any) -> None:
    worker("--processes", "2")
    schedule = "select pgsched.schedule('python:work', %s::jsonb, ordering_key => 'one', options => %s::jsonb)"
    for payload in ('"poison"', '"good"'):
        value(db, schedule, payload, '{"max_attempts": 2, "backoff": {"initial": "100ms"}}')
    until(db, "select count(*) = 1 from pgsched.history where status = 'succeeded'")
    assert value(db, "select reason from pgsched.dead_letters") == DIED
