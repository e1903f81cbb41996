"""A claim reads about as many rows as it returns, however many other rows are due, planned or leased."""

import psycopg
import pytest
from psycopg import sql

from tests.store.pull.pull_arrange import FIRST, claim, pulled_queue, put, put_many
from tests.store.store_arrange import Connection, acting, login_role, row

pytestmark = pytest.mark.oldest_postgresql

SLACK = 1_000  # deeper indexes and new pages; reading past all rows would take many thousands
_BLOCKS = "explain (analyze, buffers, timing off, format json) select * from pgsched.claim('orders', 'svc-1', 10)"


@pytest.fixture(autouse=True)
def _orders(db: Connection) -> None:
    pulled_queue(db)


def blocks(db: Connection) -> int:
    """The number of blocks that a claim of ten reads once its plans are cached."""
    claim(db, 10)
    plan = row(db, _BLOCKS)[0][0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def test_claim_cost_does_not_grow_with_the_backlog(db: Connection) -> None:
    put_many(db, 100)
    few = blocks(db)
    put_many(db, 20_000)
    assert blocks(db) < few + SLACK


def test_claim_cost_does_not_grow_with_the_number_of_leased_rows(db: Connection) -> None:
    put_many(db, 4_100)
    few = blocks(db)
    while len(claim(db, 1_000)) == 1_000:
        pass
    put_many(db, 100)
    db.execute("vacuum pgsched.executions")
    assert blocks(db) < few + SLACK


def test_claim_cost_does_not_grow_with_the_number_of_future_rows(db: Connection) -> None:
    put_many(db, 100)
    few = blocks(db)
    db.execute(
        "insert into pgsched.executions (target, fire_at, partition)"
        " select 'queue:', pgsched.now() + interval '1 day', %s + n %% 16 from generate_series(1, 20000) as n",
        [FIRST],
    )
    assert blocks(db) < few + SLACK


def put_back_then(db: Connection, count: int, ago: str) -> None:
    db.execute(
        "insert into pgsched.executions (target, fire_at, partition)"
        " select 'queue:', pgsched.now() - %s::interval, %s + n %% 16 from generate_series(1, %s) as n",
        [ago, FIRST, count],
    )


def claim_all(holder: Connection, count: int) -> None:
    handed = 0
    while handed < count:
        handed += len(claim(holder, 1_000))


def test_claim_cost_does_not_grow_with_a_large_uncommitted_claim(db: Connection, store_url: str) -> None:
    with psycopg.connect(store_url) as holder:
        put_back_then(db, 6_000, "2 hours")
        claim_all(holder, 6_000)
        put_back_then(db, 200, "1 second")
        few = blocks(db)
        claim(db, 1_000)
        put_back_then(db, 24_000, "2 hours")
        claim_all(holder, 24_000)
        put_back_then(db, 200, "1 second")
        assert blocks(db) < 2 * few  # five times as many rows are locked


def test_claims_find_rows_behind_a_large_uncommitted_claim(db: Connection, store_url: str) -> None:
    with psycopg.connect(store_url) as holder:
        put_back_then(db, 8_000, "2 hours")
        claim_all(holder, 8_000)
        put_back_then(db, 16, "1 hour")
        found = 0
        for _ in range(1_000):
            found += len(claim(db, 10))
            if found == 16:
                break
        assert found == 16


def test_claim_cost_does_not_grow_with_a_paused_clients_due_rows(db: Connection) -> None:
    put_many(db, 100)
    few = blocks(db)
    db.execute("insert into pgsched.clients (client_id) values ('held') on conflict do nothing")
    put_back_then(db, 20_000, "2 hours")
    db.execute("update pgsched.executions set client_id = 'held' where fire_at < pgsched.now() - interval '1 hour'")
    db.execute("select pgsched.pause('client', 'held')")
    put_back_then(db, 200, "1 second")
    assert len(claim(db, 10)) == 10
    assert blocks(db) < few + 16 * SLACK


def test_a_clients_claim_cost_does_not_grow_with_other_clients_backlogs(db: Connection, store_url: str) -> None:
    role = login_role(db, "pgsched_client")
    db.execute("insert into pgsched.clients (client_id, database_role) values ('payments', %s)", [role])
    put_many(db, 30_000)
    for _ in range(3):
        put(db, client="payments")
    db.execute("vacuum analyze pgsched.executions")
    with acting(store_url, role) as payments:
        claim(payments, 1)
        plan = row(payments, _BLOCKS)[0][0]["Plan"]
    db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))
    assert plan["Actual Rows"] == 2
    # About 3,000, since a session's first call reads the catalog. Reading other clients' rows would add 30,000.
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 6_000
