"""Statements over several partitions: one text for a queue, which names the table of each partition."""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from pgsched.store.admin import worker_registry
from pgsched.store.core.connect import Connection, connect
from pgsched.store.core.sql import statement, statement_over
from pgsched.store.core.wire import LONG_AGO, to_instant
from pgsched.store.live import executions
from pgsched.store.live.executions import Group, Lease, PartitionShare
from pgsched.store.live.row_filter_and_next_due import next_due
from tests.store.store_arrange import TARGET, column, counts, value
from tests.store.store_arrange import Connection as Session

pytestmark = pytest.mark.oldest_postgresql

OVER_PARTITIONS = ["live/claim", "live/next_due", "live/settle_succeeded", "live/settle_discarded"]


@pytest.fixture(scope="module")
def module_url(module_url: str) -> Iterator[str]:
    """The URL of a database with a second queue, ``orders``, whose first partition is 16."""
    with psycopg.connect(module_url, autocommit=True) as db:
        db.execute("insert into pgsched.queues values ('orders', 16)")
        db.execute("create sequence pgsched_internal.watch_1")
        db.execute("alter sequence pgsched_internal.watch_1 owner to pgsched_owner")
        for n in range(16, 32):
            db.execute(
                f"create table pgsched_internal.executions_{n} partition of pgsched.executions for values in ({n})"
            )
        yield module_url


@pytest.mark.parametrize("name", OVER_PARTITIONS)
def test_a_statement_names_only_the_tables_of_its_partitions(name: str) -> None:
    assert set(re.findall(r"executions_(\d+)", statement_over(name, (3, 7)))) == {"3", "7"}


@pytest.mark.parametrize("name", OVER_PARTITIONS)
def test_a_statement_has_no_unfilled_placeholder(name: str) -> None:
    assert not re.search(r"(?<!%\()\{\w+\}", statement_over(name, tuple(range(16))))


@pytest.mark.parametrize("name", OVER_PARTITIONS)
def test_statement_texts_are_cached(name: str) -> None:
    assert statement_over(name, (3, 7)) is statement_over(name, (3, 7))


def test_statements_for_two_partitions_differ_only_in_the_partition_number() -> None:
    assert statement_over("live/claim", (4,)).replace("4", "5") == statement_over("live/claim", (5,)).replace("4", "5")


def test_a_single_partition_statement_cannot_span_several_partitions() -> None:
    with pytest.raises(ValueError, match="unpack"):
        statement_over("live/reap", (1,))
    assert "{p}" not in statement("live/reap")


def due(db: Session, *partitions: int) -> None:
    """Insert a due row into each of these partitions."""
    for partition in partitions:
        db.execute(
            "insert into pgsched.executions (target, fire_at, partition) values (%s, '2020-01-01Z', %s)",
            [TARGET, partition],
        )


async def claimed_partitions(worker: Connection, *partitions: int, batch: int = 10) -> list[int]:
    """Claim from these partitions and return the partitions of the claimed rows."""
    lease = Lease(owner=1, token=7, length=timedelta(seconds=30), ahead=timedelta(0))
    answer = await executions.claim(
        worker, lease, [PartitionShare(partition, LONG_AGO, batch) for partition in partitions], now=0
    )
    return sorted(row.partition for row in answer.rows)


async def prepared(worker: Connection) -> int:
    """Return how many statements over partitions this session has prepared."""
    cursor = await worker.execute("select count(*) from pg_prepared_statements where statement like '%part\\_%'")
    found = await cursor.fetchone()
    return int(found[0]) if found else 0


async def test_claims_from_any_partitions_of_a_queue_share_one_statement(db: Session, worker: Connection) -> None:
    for partitions in ((1, 2), (2, 5, 9), tuple(range(16)), (15, 0)):
        await claimed_partitions(worker, *partitions)
    assert await prepared(worker) == 1


async def test_a_claim_from_two_queues_uses_one_statement_per_queue(db: Session, worker: Connection) -> None:
    due(db, 1, 2, 20, 30)
    assert await claimed_partitions(worker, 1, 2, 20, 30) == [1, 2, 20, 30]
    assert await prepared(worker) == 2


@pytest.mark.parametrize(
    ("asked", "found"), [((1,), [1]), ((1, 2), [1, 2]), ((16,), []), ((2, 17), [2, 17]), ((1, 16, 18), [1])]
)
async def test_a_claim_takes_rows_only_from_the_given_partitions(
    db: Session, worker: Connection, asked: Sequence[int], found: list[int]
) -> None:
    due(db, 1, 2, 3, 17)
    assert await claimed_partitions(worker, *asked) == found
    assert counts(db)[0] == 4
    assert len(column(db, "select id from pgsched.executions where lease_token is not null")) == len(found)


async def test_the_next_due_query_covers_partitions_of_two_queues(db: Session, worker: Connection) -> None:
    due(db, 3, 25)
    found, now, _ = await next_due(worker, dict.fromkeys([3, 4, 25, 26], LONG_AGO))
    instant = to_instant(value(db, "select min(fire_at) from pgsched.executions"))
    assert found == {3: instant, 25: instant}
    assert now > instant


async def test_the_next_due_query_starts_at_each_partitions_watermark(db: Session, worker: Connection) -> None:
    due(db, 3, 4)
    instant = to_instant(value(db, "select min(fire_at) from pgsched.executions"))
    found, _, _ = await next_due(worker, {3: instant, 4: instant + 1})
    assert found == {3: instant}


async def test_the_next_due_query_returns_only_the_given_partitions(db: Session, worker: Connection) -> None:
    due(db, 3, 4, 5)
    found, _, _ = await next_due(worker, dict.fromkeys([3, 5], LONG_AGO))
    assert set(found) == {3, 5}


@pytest.mark.parametrize("how", ["succeeded", "discarded"])
async def test_rows_from_two_queues_are_settled_together(db: Session, worker: Connection, how: str) -> None:
    due(db, 1, 2, 20)
    await claimed_partitions(worker, 1, 2, 20)
    rows = db.execute("select partition, id from pgsched.executions where lease_token = 7").fetchall()
    groups = {partition: Group([id.bytes], [7]) for partition, id in rows}
    match how:
        case "succeeded":
            answers = await executions.settle_succeeded(worker, None, groups)
        case _:
            answers = await executions.settle_discarded(worker, groups)
    assert (len(answers), counts(db)) == (2, (0, 0, 3 if how == "succeeded" else 0))


async def test_settling_affects_only_the_given_partitions(db: Session, worker: Connection) -> None:
    due(db, 1, 2)
    await claimed_partitions(worker, 1, 2)
    ids: dict[int, Any] = dict(db.execute("select partition, id from pgsched.executions").fetchall())
    groups = {1: Group([ids[1].bytes], [7]), 3: Group([ids[2].bytes], [7])}  # partition 3 has no such row
    [answer] = await executions.settle_succeeded(worker, None, groups)
    assert answer.rowcount == 1
    assert column(db, "select partition from pgsched.executions") == [2]


async def test_a_claim_that_fails_in_one_partition_claims_nothing(
    db: Session, worker: Connection, store_url: str
) -> None:
    due(db, 1, 20)
    db.execute("alter table pgsched_internal.executions_20 rename to hidden")
    try:
        with pytest.raises(psycopg.errors.UndefinedTable):
            await claimed_partitions(worker, 1, 20)
    finally:
        db.execute("alter table pgsched_internal.hidden rename to executions_20")
    other = await connect(store_url, "other")
    try:
        assert await claimed_partitions(other, 1, 20) == [1, 20]
    finally:
        await other.close()


async def test_watching_queues_fails_if_any_queue_is_already_watched(
    db: Session, worker: Connection, store_url: str
) -> None:
    watched = "select pgsched_internal.is_watched(n) from unnest(array[0, 1]) n"
    other = await connect(store_url, "other")
    try:
        assert await worker_registry.watch_queues(other, 2, range(16, 32))
        assert not await worker_registry.watch_queues(worker, 1, range(32))
        assert column(db, watched) == [False, True]
        await worker_registry.unwatch_queues(other, 2, range(16, 32))
        assert await worker_registry.watch_queues(worker, 1, range(32))
    finally:
        await other.close()
