"""Concurrent consumers: no execution goes to two consumers, and none is lost."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psycopg
import pytest

from tests.store.pull.pull_arrange import claim, claim_one, complete, fail, pulled_queue, put, put_many, run_out
from tests.store.store_arrange import Connection, call, column, refused, value

pytestmark = pytest.mark.oldest_postgresql


@pytest.fixture(autouse=True)
def _orders(db: Connection) -> None:
    pulled_queue(db)


@pytest.fixture
def other(store_url: str) -> Iterator[Connection]:
    with psycopg.connect(store_url, autocommit=True) as connection:
        yield connection


def test_concurrent_claims_skip_each_others_rows(db: Connection, other: Connection) -> None:
    put_many(db, 10)
    with db.transaction():
        mine = {handed.id for handed in claim(db, 6)}
        theirs = {handed.id for handed in claim(other, 10)}
    assert (len(mine), len(theirs), mine & theirs) == (6, 4, set())


def test_an_expired_lease_is_claimed_by_only_one_consumer(db: Connection, other: Connection) -> None:
    put(db)
    run_out(db, claim_one(db))
    with db.transaction():
        claim_one(db)
        assert claim(other) == []


def test_a_late_completion_is_refused_after_a_new_claim(db: Connection, other: Connection) -> None:
    put(db)
    late = claim_one(db)
    run_out(db, late)
    with other.transaction():
        claim_one(other)
        with refused("PS013"):
            complete(db, late)
    with refused("PS013"):
        complete(db, late)


def test_only_one_consumer_at_a_time_can_claim_an_ordering_key(db: Connection, other: Connection) -> None:
    put(db, ordering_key="o")
    put(db, ordering_key="o")
    first = claim_one(db, batch=1)
    assert claim(other) == []
    complete(db, first)
    assert claim_one(other).id != first.id


def test_twenty_consumers_claim_two_thousand_executions_exactly_once(db: Connection, store_url: str) -> None:
    put_many(db, 2_000)
    seen: list[UUID] = []
    lock = threading.Lock()

    def consume(number: int) -> None:
        with psycopg.connect(store_url, autocommit=True) as consumer:
            while handed := claim(consumer, 20, worker=f"svc-{number}"):
                with lock:
                    seen.extend(one.id for one in handed)
                ids, tokens = [one.id for one in handed], [one.token for one in handed]
                query = "select pgsched.complete(x.id, x.token) from unnest(%s::uuid[], %s::bigint[]) as x(id, token)"
                consumer.execute(query, [ids, tokens])

    with ThreadPoolExecutor(20) as pool:
        for consuming in [pool.submit(consume, number) for number in range(20)]:
            consuming.result(timeout=120)
    assert (len(seen), len(set(seen))) == (2_000, 2_000)
    while value(db, "select pgsched_internal.record_results(1000)"):  # results of rows that another claim had locked
        pass
    assert value(db, "select count(*) from pgsched.history where status = 'succeeded'") == 2_000
    assert column(db, "select id from pgsched.executions") == []


def test_a_client_claims_only_its_own_executions(db: Connection, payments: Connection) -> None:
    put(db, client="billing")
    own = put(payments, client="payments")
    assert [handed.id for handed in claim(payments)] == [own]


def test_a_client_can_settle_extend_and_release_its_own_executions(payments: Connection) -> None:
    for _ in range(3):
        put(payments, client="payments")
    one, two, three = claim(payments)
    complete(payments, one)
    assert fail(payments, two) == "retrying"
    call(payments, "extend", id=three.id, token=three.token)
    call(payments, "release", id=three.id, token=three.token)


def test_a_client_cannot_complete_another_clients_execution(db: Connection, payments: Connection) -> None:
    put(db, client="billing")
    theirs = claim_one(db)
    with refused("PS012"):
        complete(payments, theirs)
