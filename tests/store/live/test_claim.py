"""The claim: which rows it leases, in which order, and how it plans the successor of a recurring row."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Connection, connect
from pgsched.store.core.wire import FAR_OFF, LONG_AGO, microseconds, to_instant
from pgsched.store.live import claim_culprits, executions
from pgsched.store.live.executions import Claimed, Group, Lease, PartitionShare
from pgsched.store.live.row_filter_and_next_due import ALL_ROWS, InstantRange, RowFilter, next_due, peek
from tests.store.store_arrange import TARGET, call, column, counts, on_job, row, schedule, value
from tests.store.store_arrange import Connection as Session

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]

EVERYWHERE = tuple(range(16))


async def claim(
    worker: Connection,
    *,
    batch: int = 100,
    partitions: Sequence[int] = EVERYWHERE,
    low: int = LONG_AGO,
    token: int = 7,
    ahead: timedelta = timedelta(0),
    row_filter: RowFilter = ALL_ROWS,
) -> list[ClaimedExecution]:
    lease = Lease(owner=1, token=token, length=timedelta(seconds=30), ahead=ahead)
    shares = [PartitionShare(partition, low, batch) for partition in partitions]
    return (await executions.claim(worker, lease, shares, now=0, row_filter=row_filter)).rows


def due(db: Session, count: int = 1, *, partition: int = 0) -> list[UUID]:
    """Insert due rows and return their ids, earliest first."""
    return column(
        db,
        "insert into pgsched.executions (target, fire_at, partition)"
        " select %s, now() - interval '1 hour' + n * interval '1 second', %s from"
        " generate_series(1, %s) n returning id",
        [TARGET, partition, count],
    )


def recurring(db: Session, **arguments: object) -> UUID:
    """A job whose first row is planned and due."""
    job = schedule(db, **{"every": "1 hour", **arguments})
    db.execute(
        "insert into pgsched.executions (fire_at, scheduled_for, job_id, plan, partition, client_id, target)"
        " select j.anchor, j.anchor, j.id, j.revision, pgsched_internal.partition_of(j), j.client_id, j.target"
        " from pgsched.jobs j where j.id = %s",
        [job],
    )
    db.execute("update pgsched.jobs set planned_revision = revision")
    return job


async def test_a_claim_takes_the_earliest_rows_up_to_the_batch_size(db: Session, worker: Connection) -> None:
    ids = due(db, 5)
    claimed = await claim(worker, batch=3, partitions=[0])
    assert {row.id for row in claimed} == {id.bytes for id in ids[:3]}
    assert {row.id for row in await claim(worker, batch=3, partitions=[0])} == {id.bytes for id in ids[3:]}


FIRST = RowFilter(first=True)


def prior(db: Session, *priorities: int, client: str = "default", delay: str = "0 seconds") -> list[bytes]:
    """Insert executions with these priorities and return their ids."""
    named = {"client": client, "delay": delay}
    found = [schedule(db, options=f'{{"priority": {each}}}', **named) for each in priorities]
    return [id.bytes for id in found]


async def test_a_priority_claim_takes_the_highest_priority_of_all_partitions(db: Session, worker: Connection) -> None:
    due(db, 3)
    low, high, below, highest = prior(db, 5, 50, -5, 90)
    assert [row.id for row in await claim(worker, batch=2, row_filter=FIRST)] == [highest, high]
    assert [row.id for row in await claim(worker, row_filter=FIRST)] == [low]
    assert below in {row.id for row in await claim(worker)}


async def test_a_priority_claim_skips_locked_and_future_rows(db: Session, worker: Connection, store_url: str) -> None:
    prior(db, 80, delay="1 hour")
    locked, free = prior(db, 70, 60)
    with psycopg.connect(store_url) as other:
        other.execute("select from pgsched.executions where id = %s for update", [UUID(bytes=locked)])
        assert [row.id for row in await claim(worker, row_filter=FIRST)] == [free]


async def test_a_priority_claim_skips_rows_of_separately_claimed_clients(db: Session, worker: Connection) -> None:
    theirs, others = prior(db, 90, client="flood") + prior(db, 10)
    assert [row.id for row in await claim(worker, row_filter=replace(FIRST, apart=("flood",)))] == [others]
    assert [row.id for row in await claim(worker, row_filter=replace(FIRST, only="flood"))] == [theirs]


async def test_a_claim_can_skip_negative_priorities(db: Session, worker: Connection) -> None:
    [plain], [above, _] = due(db), prior(db, 1, -1)
    assert {row.id for row in await claim(worker, row_filter=RowFilter(ordinary=True))} == {plain.bytes, above}


async def test_a_claim_can_take_the_latest_rows_first(db: Session, worker: Connection) -> None:
    ids = due(db, 5)
    claimed = await claim(worker, batch=3, partitions=[0], row_filter=RowFilter(latest_first=True))
    assert {row.id for row in claimed} == {id.bytes for id in ids[2:]}


async def test_a_claim_takes_the_requested_share_of_each_partition(db: Session, worker: Connection) -> None:
    for partition in (0, 1, 2):
        due(db, 3, partition=partition)
    claimed = await claim(worker, batch=2, partitions=[0, 2])
    assert sorted(row.partition for row in claimed) == [0, 0, 2, 2]


async def test_a_claimed_row_has_all_fields_needed_for_delivery(db: Session, worker: Connection) -> None:
    id = schedule(
        db,
        fire_at="2020-01-01Z",
        client="payments",
        key="k",
        ordering_key="o",
        payload={"n": 1},
        options={"timeout": "5s"},
    )
    [row] = await claim(worker)
    assert (UUID(bytes=row.id), row.token, row.attempt, row.client_id, row.key, row.ordering_key) == (
        id, 7, 1, "payments", "k", "o",
    )  # fmt: skip
    assert (row.decode_payload(), row.options, row.target) == ({"n": 1}, b'{"timeout": "5s"}', TARGET)
    assert (row.nominal.year, row.job_id, row.plan) == (2020, None, None)


async def test_a_claim_writes_the_lease_and_counts_the_attempt(db: Session, worker: Connection) -> None:
    due(db)
    await claim(worker)
    assert row(
        db,
        "select lease_owner, lease_token, attempt, lease_expires_at > now() + interval '25 seconds',"
        " lease_expires_at < now() + interval '30 seconds' from pgsched.executions",
    ) == (1, 7, 1, True, True)


async def test_a_leased_row_is_not_claimed_again(db: Session, worker: Connection) -> None:
    due(db)
    assert len(await claim(worker)) == 1
    assert await claim(worker, token=8) == []


async def test_a_row_that_is_not_due_is_not_claimed(db: Session, worker: Connection) -> None:
    schedule(db, delay="1 minute")
    db.execute("insert into pgsched.executions (target, fire_at) values (%s, 'infinity')", [TARGET])
    assert await claim(worker) == []


async def test_a_claim_can_take_rows_due_within_its_lookahead(db: Session, worker: Connection) -> None:
    schedule(db, delay="1 minute")
    schedule(db, delay="3 minutes")
    assert len(await claim(worker, ahead=timedelta(minutes=2))) == 1


async def test_a_claim_starts_at_its_watermark(db: Session, worker: Connection) -> None:
    ids = due(db, 3)
    instants = column(db, "select fire_at from pgsched.executions order by fire_at")
    assert [row.id for row in await claim(worker, low=to_instant(instants[2]))] == [ids[2].bytes]
    assert len(await claim(worker)) == 2


async def test_a_claim_skips_rows_that_another_session_has_locked(
    db: Session, worker: Connection, store_url: str
) -> None:
    ids = due(db, 4)
    with psycopg.connect(store_url) as holder:
        holder.execute("select from pgsched.executions where id = any (%s) for update", [ids[:2]])
        claimed = await claim(worker)
    assert {row.id for row in claimed} == {id.bytes for id in ids[2:]}


async def test_interleaved_claims_of_two_sessions_take_every_row_once(
    db: Session, worker: Connection, store_url: str
) -> None:
    ids = due(db, 40)
    other = await connect(store_url, "other")
    try:
        taken = [
            row.id
            for _ in range(5)
            for link, token in ((worker, 1), (other, 2))
            for row in await claim(link, batch=4, token=token)
        ]
    finally:
        await other.close()
    assert sorted(taken) == sorted(id.bytes for id in ids)


async def test_a_claim_makes_only_hot_updates(db: Session, worker: Connection) -> None:
    due(db, 20, partition=3)
    counts = "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = 'executions_3'"
    before, hot_before = row(db, counts)
    await claim(worker)
    await worker.execute("select pg_stat_force_next_flush()")
    await worker.execute("select 1")
    updated, hot = row(db, counts)
    assert updated - before >= 20
    assert hot - hot_before == updated - before


async def test_claiming_a_recurring_row_plans_its_successor(db: Session, worker: Connection) -> None:
    job = recurring(db, payload={"n": 1}, options={"timeout": "5s"}, client="payments")
    await claim(worker)
    assert row(
        db,
        "select e.scheduled_for = j.anchor + interval '1 hour', e.fire_at = e.scheduled_for,"
        " e.plan, e.payload, e.options, e.client_id"
        " from pgsched.executions e join pgsched.jobs j on j.id = e.job_id where e.lease_token is null and j.id = %s",
        [job],
    ) == (True, True, 1, {"n": 1}, {"timeout": "5s"}, "payments")


async def test_a_failed_claim_leaves_the_row_and_plans_no_successor(db: Session, worker: Connection) -> None:
    recurring(db)
    db.execute("alter table pgsched.jobs rename to hidden")
    try:
        with pytest.raises(psycopg.errors.UndefinedTable):
            await claim(worker)
    finally:
        db.execute("alter table pgsched.hidden rename to jobs")
    assert row(db, "select count(*), count(lease_token), max(attempt) from pgsched.executions") == (1, 0, 0)
    assert len(await claim(worker)) == 1
    assert counts(db)[0] == 2


async def claim_carefully(connection: Connection, lease: Lease, shares: list[PartitionShare], **named: Any) -> Claimed:
    """Claim without the rows that make the claim fail, as a worker does."""
    try:
        return await executions.claim(connection, lease, shares, **named)
    except psycopg.Error as error:
        return await claim_culprits.claim_despite(error, connection, lease, shares, **named)


@pytest.mark.parametrize(
    ("locked", "needed", "tries"),
    [
        ("lock table pgsched.audit_log", "select 1 from pgsched.audit_log", 2),
        ("select from pgsched.queues for update", "select 1 from pgsched.queues for update", 3),
    ],
)
async def test_a_claim_retries_with_all_rows_after_a_lock_timeout(
    db: Session, worker: Connection, store_url: str, locked: str, needed: str, tries: int
) -> None:
    due(db, 4)
    await worker.execute("set lock_timeout = '20ms'")
    tried: list[int] = []

    async def admit(connection: Connection, rows: list[ClaimedExecution]) -> list[ClaimedExecution]:
        tried.append(len(rows))
        if len(tried) == 1:
            await (await connection.execute(needed.encode())).fetchall()
        return rows

    lease = Lease(owner=1, token=7, length=timedelta(seconds=30), ahead=timedelta(0))
    with psycopg.connect(store_url) as holder:
        holder.execute(locked.encode())
        answer = await claim_carefully(worker, lease, [PartitionShare(0, LONG_AGO, 4)], now=0, admit=admit)
    assert (len(answer.rows), answer.parked, tried) == (4, (), [4] * tries)


async def test_reclaiming_a_released_row_does_not_replan_its_successor(db: Session, worker: Connection) -> None:
    recurring(db)
    [first] = await claim(worker)
    await executions.release(worker, first.partition, Group([first.id], [first.token]))
    db.execute("delete from pgsched.executions where lease_token is null and attempt = 0 and plan > 0")
    [again] = await claim(worker, token=8)
    assert (again.id, again.attempt) == (first.id, 1)
    assert counts(db)[0] == 1


async def test_claiming_a_retry_does_not_plan_a_successor(db: Session, worker: Connection) -> None:
    recurring(db)
    db.execute("update pgsched.executions set attempt = 1")
    await claim(worker)
    assert counts(db)[0] == 1


@pytest.mark.parametrize("change", ["pause", "cancel", "edit"])
async def test_a_claim_plans_no_successor_for_a_concurrently_changed_job(
    db: Session, worker: Connection, store_url: str, change: str
) -> None:
    job = recurring(db, key="hourly")
    with psycopg.connect(store_url) as holder:
        holder.execute("select from pgsched.executions for update")  # so that the change skips the row
        match change:
            case "edit":
                schedule(db, key="hourly", every="2 hours")
            case _:
                call(db, change, **on_job(change, job))
    assert len(await claim(worker)) == 1
    assert counts(db)[0] == 1


def test_a_job_cannot_have_two_live_rows_for_one_instant(db: Session) -> None:
    job = schedule(db, every="1 hour")
    insert = (
        "insert into pgsched.executions (fire_at, scheduled_for, job_id, partition, target)"
        " select '2040-01-01Z', '2040-01-01Z', id, pgsched_internal.partition_of(j), target from"
        " pgsched.jobs j where id = %s"
    )
    db.execute(insert, [job])
    with pytest.raises(psycopg.errors.UniqueViolation):
        db.execute(insert, [job])


async def test_a_claim_does_not_replan_an_existing_successor(db: Session, worker: Connection) -> None:
    job = recurring(db)
    db.execute(
        "insert into pgsched.executions (fire_at, scheduled_for, job_id, plan, partition, target)"
        " select anchor + interval '1 hour', anchor + interval '1 hour', id, revision,"
        " pgsched_internal.partition_of(j), target"
        " from pgsched.jobs j where id = %s",
        [job],
    )
    await claim(worker)
    assert counts(db)[0] == 2


async def test_the_next_due_query_returns_each_partitions_earliest_instant(db: Session, worker: Connection) -> None:
    first, second = due(db, 2, partition=4)
    earliest, now, _ = await next_due(worker, dict.fromkeys([4, 5], LONG_AGO))
    assert earliest == {4: to_instant(value(db, "select fire_at from pgsched.executions where id = %s", [first]))}
    assert now > earliest[4]
    await claim(worker, batch=1, partitions=[4])
    later, _, _ = await next_due(worker, dict.fromkeys([4, 5], LONG_AGO))
    assert later == {4: to_instant(value(db, "select fire_at from pgsched.executions where id = %s", [second]))}


async def test_a_peek_returns_the_first_match_and_its_stopping_point(db: Session, worker: Connection) -> None:
    for hour in range(4):
        for client in ("payments", "default"):
            schedule(db, fire_at=f"2020-01-01 0{hour}:00Z", client=client)
    db.execute("delete from pgsched.executions where client_id = 'default' and fire_at < '2020-01-01 02:00Z'")
    found = []
    for partition in range(16):
        low: int | None = LONG_AGO
        while low is not None:
            spans = {partition: InstantRange(low, FAR_OFF)}
            parts = await peek(worker, spans, most=2, row_filter=RowFilter(held=("payments",)))
            first, read_to = parts[partition]
            found += [first] if first is not None else []
            low = None if read_to is None else read_to + 1
    assert found
    assert set(found) <= {microseconds(datetime(2020, 1, 1, hour, tzinfo=UTC)) for hour in (2, 3)}


@pytest.mark.parametrize(
    "row_filter", [RowFilter(only="default"), RowFilter(plain=True), RowFilter(missed=("kafka:",))]
)
async def test_claims_and_peeks_skip_rows_that_the_filter_excludes(
    db: Session, worker: Connection, row_filter: RowFilter
) -> None:
    refused, second = due(db, 2, partition=4)
    row_filter = replace(row_filter, refused=(refused.bytes,), left={0: ("python:send_email",)})
    instant = to_instant(value(db, "select fire_at from pgsched.executions where id = %s", [second]))
    spans = {4: InstantRange(LONG_AGO, FAR_OFF)}
    part = (await peek(worker, spans, most=2, row_filter=row_filter))[4]
    earliest, _, _ = await next_due(worker, {4: LONG_AGO}, row_filter=row_filter)
    assert (part.first, earliest) == (instant, {4: instant})
    claimed = await claim(worker, batch=2, partitions=[4], row_filter=row_filter)
    assert [row.id for row in claimed] == [second.bytes]


async def test_a_latest_first_claim_finds_and_parks_the_culprit(db: Session, worker: Connection) -> None:
    ids = due(db, 5)
    lease = Lease(owner=1, token=7, length=timedelta(seconds=30), ahead=timedelta(0))
    db.execute(f"alter table pgsched.executions add constraint odd check (id <> '{ids[-1]}' or attempt = 0)".encode())
    try:
        answer = await claim_carefully(
            worker, lease, [PartitionShare(0, LONG_AGO, 2)], now=0, row_filter=RowFilter(latest_first=True)
        )
    finally:
        db.execute("alter table pgsched.executions drop constraint odd")
    assert [one.id for one in answer.parked] == [ids[-1].bytes]
    assert {row.id for row in answer.rows} == {id.bytes for id in ids[2:4]}
