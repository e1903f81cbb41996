"""A batch with a row that fails or is locked is carried out for the other rows."""

from collections.abc import Sequence
from datetime import timedelta

import psycopg
import pytest

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.culprits import by_halves, is_of_a_row
from pgsched.store.core.wire import LONG_AGO, to_instant
from pgsched.store.ends import dependencies
from pgsched.store.jobs import unplanned_jobs
from pgsched.store.live import executions
from pgsched.store.live.executions import Group, Lease, PartitionShare
from pgsched.store.live.reaping import ReapRange, reap_others
from pgsched.store.pull import pull_upkeep
from pgsched.telemetry import Events
from pgsched.upkeep.bulk import Bulk
from tests.store.bulk.bulk_arrange import backfill, bulk
from tests.store.ends.dead_letter_arrange import dead_letter, state
from tests.store.pull.pull_arrange import FIRST, claim, pulled_queue
from tests.store.store_arrange import TARGET, call, column, row, schedule, status, value
from tests.store.store_arrange import Connection as Session

pytestmark = pytest.mark.oldest_postgresql


@pytest.mark.parametrize("odd", [set(), {0}, {99}, {3, 4, 50}, set(range(100))])
async def test_halving_a_batch_processes_all_rows_except_the_culprits(odd: set[int]) -> None:
    done: list[int] = []

    async def work(part: Sequence[int]) -> None:
        if odd & set(part):
            raise ValueError("odd")
        done.extend(part)

    parted = await by_halves(range(100), work)
    assert {culprit.row for culprit in parted.culprits} == odd
    assert sorted(done) == sorted(set(range(100)) - odd)


async def test_halving_a_batch_raises_errors_that_no_single_row_can_cause() -> None:
    async def work(part: Sequence[int]) -> None:
        raise psycopg.errors.AdminShutdown("bye")

    with pytest.raises(psycopg.errors.AdminShutdown):
        await by_halves([1, 2], work)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (psycopg.errors.NumericValueOutOfRange(), True),
        (psycopg.errors.CheckViolation(), True),
        (psycopg.errors.ProgramLimitExceeded(), True),
        (psycopg.errors.RaiseException(), True),
        (psycopg.errors.DataCorrupted(), True),
        (psycopg.errors.LockNotAvailable(), True),
        (psycopg.errors.QueryCanceled(), True),
        (psycopg.DataError("timestamp too large"), True),
        (OverflowError(), True),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "odd"), True),
        (psycopg.OperationalError("the connection is lost"), False),
        (psycopg.errors.OutOfMemory(), False),
        (psycopg.errors.ReadOnlySqlTransaction(), False),
        (psycopg.errors.UndefinedTable(), False),
        (psycopg.errors.InsufficientPrivilege(), False),
        (psycopg.errors.TooManyConnections(), False),
        (ConnectionResetError(), False),
        (TimeoutError(), False),
    ],
)
def test_errors_that_a_single_row_can_cause_are_recognized(error: Exception, expected: bool) -> None:
    assert is_of_a_row(error) is expected


async def leased(db: Session, worker: Connection, *keys: str) -> list[ClaimedExecution]:
    """Rows with these targets, all in one partition, claimed by worker 5."""
    for key in keys:
        schedule(db, fire_at="2020-01-01Z", ordering_key="together", client="shop", target=f"python:{key}")
    home = value(db, "select min(partition) from pgsched.executions")
    lease = Lease(owner=5, token=5, length=timedelta(seconds=30), ahead=timedelta(0))
    return (await executions.claim(worker, lease, [PartitionShare(home, LONG_AGO, 100)], now=0)).rows


async def test_reaping_parks_a_failing_row_and_reaps_the_rest(db: Session, worker: Connection) -> None:
    rows = await leased(db, worker, "a", "odd", "b", "c")
    db.execute(
        "alter table pgsched.executions add constraint odd"
        " check (target <> 'python:odd' or lease_token is not null or fire_at = 'infinity')"
    )
    try:
        part = ReapRange(rows[0].partition, LONG_AGO, 100)
        (returned, failed, again), parked = await reap_others(worker, part, [5], ended_by=0.0)
    finally:
        db.execute("alter table pgsched.executions drop constraint odd")
    assert (returned, failed, [one.how for one in parked], again) == (3, 0, ["held"], LONG_AGO)
    assert row(db, "select gate, lease_token from pgsched.executions where target = 'python:odd'") == ("error", None)
    assert "odd" in value(db, "select reason from pgsched.status where target = 'python:odd'")


async def test_renewing_skips_a_locked_row(db: Session, worker: Connection, store_url: str) -> None:
    rows = await leased(db, worker, "a", "mine", "b")
    group = Group([one.id for one in rows], [one.token for one in rows])
    with psycopg.connect(store_url) as holder:
        holder.execute("select from pgsched.executions where target = 'python:mine' for update")
        assert await executions.renew(worker, rows[0].partition, group, timedelta(hours=1)) == 2
    assert await executions.renew(worker, rows[0].partition, group, timedelta(hours=1)) == 1


async def test_planning_marks_a_failing_job_invalid_and_plans_the_rest(db: Session, planning: Connection) -> None:
    odd = schedule(db, every="1 hour", key="odd")
    for n in range(4):
        schedule(db, every="1 hour", key=f"fine-{n}")
    db.execute("alter table pgsched.executions add constraint odd check (job_id is null or target <> 'python:odd')")
    db.execute("update pgsched.jobs set target = 'python:odd' where id = %s", [odd])
    try:
        taken, invalid, _ = await unplanned_jobs.plan_jobs(planning, batch=10, seconds=60)
    finally:
        db.execute("alter table pgsched.executions drop constraint odd")
    assert (taken, [id for id, _ in invalid]) == (5, [odd])
    assert value(db, "select count(*) from pgsched.executions") == 4
    assert column(db, "select state::text from pgsched.jobs where id = %s", [odd]) == ["invalid"]


async def test_a_job_whose_planning_times_out_does_not_block_other_jobs(db: Session, planning: Connection) -> None:
    schedule(db, every="1 hour", key="slow", target="python:slow")
    fine = schedule(db, every="1 hour", key="fine")
    db.execute(
        "create function public.be_slow() returns trigger language plpgsql as 'begin perform pg_sleep(60); end';"
        " create trigger be_slow before insert on pgsched.executions for each row"
        " when (new.target = 'python:slow') execute function public.be_slow()"
    )
    await planning.execute("set statement_timeout = '1s'")
    try:
        assert (await unplanned_jobs.plan_jobs(planning, batch=10, seconds=0))[:2] == (1, [])
    finally:
        db.execute("drop trigger be_slow on pgsched.executions; drop function public.be_slow()")
    assert column(db, "select job_id from pgsched.executions") == [fine]


async def test_locked_dependents_do_not_delay_releasing_other_dependents(
    db: Session, worker: Connection, store_url: str
) -> None:
    before = [schedule(db, client="shop") for _ in range(12)]
    held = [call(db, "schedule", target=TARGET, client="shop", after=[str(id)], key="mine") for id in before[:1]]
    held += [call(db, "schedule", target=TARGET, client="shop", after=[str(id)]) for id in before[1:]]
    first = schedule(db, client="other")
    following = call(db, "schedule", target=TARGET, client="other", after=[str(first)], after_outcome="any")
    with psycopg.connect(store_url) as holder:
        holder.execute("select from pgsched.executions where id = any (%s) for update", [held])
        for id in [*before, first]:
            call(db, "cancel", id=id)
        after: dependencies.ReleasePosition | None = None
        for _ in range(4):
            _, _, after = await dependencies.release(worker, most=5, after=after)
        assert status(db, following) == "scheduled"


async def test_repairing_jobs_marks_a_failing_job_invalid_and_repairs_the_rest(
    db: Session, planning: Connection
) -> None:
    ids = sorted(schedule(db, every="1 hour", key=f"k-{n}") for n in range(9))
    db.execute("update pgsched.jobs set planned_revision = revision")
    db.execute(f"alter table pgsched.jobs add constraint odd check (id <> '{ids[4]}' or planned_revision > 0)".encode())
    try:
        (repaired, after), invalid = await unplanned_jobs.repair_others(planning, after=unplanned_jobs.FIRST, most=100)
    finally:
        db.execute("alter table pgsched.jobs drop constraint odd")
    assert (repaired, after, [id for id, _ in invalid]) == (8, None, [ids[4]])
    found = row(db, "select state::text, reason from pgsched.jobs where id = %s", [ids[4]])
    assert (found[0], "odd" in found[1]) == ("invalid", True)


async def test_the_consecutive_failure_count_does_not_overflow(db: Session) -> None:
    id = schedule(db, every="1 hour", rules={"pause_after": 1000})
    db.execute("update pgsched.jobs set failures = 2147483647, rules = rules || '{\"pause_after\": 1000}'")
    assert call(db, "pgsched_internal.count_outcome", job_id=id, status="failed")
    assert row(db, "select state::text, failures from pgsched.jobs") == ("paused", 0)


async def turn_of_bulk_operations(url: str) -> None:
    link = Link(url, "test", raw=False)
    try:
        await Bulk(link, link, Events()).turn()
    finally:
        await link.drop()


async def test_a_failing_backfill_is_stopped_and_other_backfills_continue(db: Session, store_url: str) -> None:
    ids = [schedule(db, cron="0 * * * *", target="python:report", key=f"b-{n}") for n in range(3)]
    asked = [backfill(db, id, "2026-03-01T00:00Z", "2026-03-01T05:00Z") for id in ids]
    db.execute(f"alter table pgsched.executions add constraint odd check (job_id is distinct from '{ids[1]}')".encode())
    await turn_of_bulk_operations(store_url)
    db.execute("alter table pgsched.executions drop constraint odd")
    states = [row(db, "select state, reason from pgsched.bulk_operations where id = %s", [id]) for id in asked]
    assert [state for state, _ in states] == ["active", "stopped", "active"]
    assert "odd" in states[1][1]
    assert value(db, "select count(distinct job_id) from pgsched.executions") == 2


async def test_a_bulk_replay_counts_a_failing_row_and_continues(db: Session, store_url: str) -> None:
    ids = [dead_letter(db, client="shop") for _ in range(5)]
    odd, theirs = dead_letter(db, target="python:odd"), dead_letter(db)
    asked = bulk(db, "replay", {"status_code": 503}, rate=1000)
    db.execute("alter table pgsched.executions add constraint odd check (target <> 'python:odd')")
    await turn_of_bulk_operations(store_url)
    db.execute("alter table pgsched.executions drop constraint odd")
    assert row(db, "select state, done, failed from pgsched.bulk_operations where id = %s", [asked]) == (
        "finished", 6, 1,
    )  # fmt: skip
    assert [state(db, id) for id in (*ids, odd, theirs)] == [*["replayed"] * 5, "open", "replayed"]


async def test_a_failing_bulk_replay_is_stopped_and_other_replays_continue(db: Session, store_url: str) -> None:
    dead_letter(db)
    odd, fine = [bulk(db, "replay", {"status_code": 503}, rate=1000) for _ in range(2)]
    db.execute(
        f"alter table pgsched.bulk_operations add constraint odd check (id <> '{odd}' or reached is null"
        " or state = 'stopped')".encode()
    )
    await turn_of_bulk_operations(store_url)
    db.execute("alter table pgsched.bulk_operations drop constraint odd")
    found = [row(db, "select state, reason from pgsched.bulk_operations where id = %s", [id]) for id in (odd, fine)]
    assert (found[0][0], "odd" in found[0][1], found[1][0]) == ("stopped", True, "finished")


async def test_passing_on_runs_parks_a_failing_run_and_passes_on_the_rest(
    db: Session, worker: Connection, planning: Connection
) -> None:
    pulled_queue(db)
    made = [schedule(db, every="1 hour", key=f"p-{n}", target="queue:", queue="orders") for n in range(4)]
    await unplanned_jobs.plan_jobs(planning, batch=10, seconds=60)
    db.execute("update pgsched.executions set fire_at = now(), scheduled_for = now()")
    db.execute(
        f"alter table pgsched.executions add constraint odd check (job_id is distinct from '{made[2]}'"
        " or coalesce(scheduled_for, fire_at) <= now() or not isfinite(fire_at)) not valid".encode()
    )
    lease = Lease(owner=5, token=5, length=timedelta(seconds=30), ahead=timedelta(seconds=1))
    try:
        now = to_instant(value(db, "select now()"))
        passed = await pull_upkeep.pass_on(worker, lease, FIRST, low=LONG_AGO, batch=50, now=now)
    finally:
        db.execute("alter table pgsched.executions drop constraint odd")
    assert [one.how for one in passed.parked] == ["held"]
    assert {handed.job_id for handed in claim(db)} == set(made) - {made[2]}
    assert "odd" in value(db, "select reason from pgsched.jobs where id = %s", [made[2]])
