"""Many sessions schedule few keys at once, in several ordering keys and queues, while rows are claimed and settled."""

import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psycopg
import pytest

from tests.store.admin.queue_arrange import queue, session
from tests.store.store_arrange import Connection, column, schedule, value

KEYS = [f"key-{n}" for n in range(20)]
SCHEDULERS, CALLS = 6, 30
INSERT = """
insert into pgsched.executions (target, fire_at, key, ordering_key, partition)
values ('python:x', now(), %(key)s::text, %(order)s::text,
        pgsched.partition_for('orders', 'default', %(key)s::text, %(order)s::text))
"""
CLAIM = """
update pgsched.executions e
   set lease_owner = 1, lease_token = 1, attempt = attempt + 1, lease_expires_at = now() + interval '1 hour'
 where e.id = any (array(select d.id from pgsched.executions d
                          where d.lease_token is null and d.fire_at <= clock_timestamp()
                          limit 5 for update skip locked))
returning e.id, e.key
"""
SETTLE = """
with ended as (delete from pgsched.executions e where e.id = any (%s) returning e.*)
select pgsched_internal.end_execution(ended::pgsched.executions, 'succeeded', null) from ended
"""


@pytest.fixture
def db(database_url: str) -> Iterator[Connection]:
    with session(database_url) as connection:
        queue(connection, "orders")
        queue(connection, "mail")
        yield connection


def schedule_often(url: str, seed: int, **options: str) -> set[str]:
    """Schedule under random keys, roll some calls back, and return the committed keys."""
    chance, committed = random.Random(seed), set[str]()
    with session(url) as connection:
        for _ in range(CALLS):
            key, undone = chance.choice(KEYS), chance.random() < 0.3
            with connection.transaction(force_rollback=undone):
                schedule(
                    connection,
                    key=key,
                    delay="0",
                    ordering_key=chance.choice([None, "a", "b"]),
                    queue=chance.choice(["default", "orders", "mail"]),
                    **options,
                )
            if not undone:
                committed.add(key)
    return committed


def run_until(url: str, stop: threading.Event) -> list[tuple[UUID, str]]:
    """Claim and settle until nothing is left after the stop, and return what fired."""
    fired: list[tuple[UUID, str]] = []
    with session(url) as connection:
        while True:
            stopping = stop.is_set()
            claimed = connection.execute(CLAIM).fetchall()
            fired += [(id, key) for id, key in claimed]
            if claimed:
                connection.execute(SETTLE, [[id for id, _ in claimed]])
            elif stopping:
                return fired


def test_an_execution_fires_once_if_many_sessions_schedule_its_key(db: Connection, database_url: str) -> None:
    stop = threading.Event()
    with ThreadPoolExecutor() as threads:
        workers = [threads.submit(run_until, database_url, stop) for _ in range(2)]
        schedulers = [threads.submit(schedule_often, database_url, seed) for seed in range(SCHEDULERS)]
        try:
            committed = set().union(*(one.result(120) for one in schedulers))
        finally:
            stop.set()
        fired = [key for one in workers for _, key in one.result(120)]
    assert Counter(fired) == dict.fromkeys(committed, 1)
    assert value(db, "select count(*) from pgsched.executions") == 0


@pytest.mark.parametrize("on_conflict", ["replace", "keep", "debounce"])
def test_a_key_has_one_waiting_row_if_many_sessions_schedule_it(
    db: Connection, database_url: str, on_conflict: str
) -> None:
    with ThreadPoolExecutor() as threads:
        schedulers = [
            threads.submit(schedule_often, database_url, seed, on_conflict=on_conflict) for seed in range(SCHEDULERS)
        ]
        committed = set().union(*(one.result(120) for one in schedulers))
    assert column(db, "select key from pgsched.executions order by key") == sorted(committed)


def test_concurrent_inserts_and_calls_leave_one_row_per_key(db: Connection, database_url: str) -> None:
    def insert_often(seed: int) -> set[str]:
        chance, committed = random.Random(seed), set[str]()
        with session(database_url) as connection:
            for _ in range(CALLS):
                key, order = chance.choice(KEYS), chance.choice([None, "a", "b"])
                try:
                    connection.execute(INSERT, {"key": key, "order": order})
                except psycopg.Error as error:
                    refusals.add(error.sqlstate)
                committed.add(key)
        return committed

    refusals: set[str | None] = set()

    with ThreadPoolExecutor() as threads:
        inserters = [threads.submit(insert_often, seed) for seed in range(3)]
        schedulers = [threads.submit(schedule_often, database_url, seed) for seed in range(3, 6)]
        committed = set().union(*(one.result(120) for one in inserters + schedulers))
    assert refusals == {"PS011"}
    assert column(db, "select key from pgsched.executions order by key") == sorted(committed)
