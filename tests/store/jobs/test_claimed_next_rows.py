"""The successors that a claim plans for recurring rows: their instants, and which rows have none."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from pgsched.domain.start_jitter import resolve_hashes
from pgsched.errors import InvalidSchedule
from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement, statement_in
from pgsched.store.core.wire import LONG_AGO, to_datetime, to_instant
from pgsched.store.jobs import claimed_decisions, definition_cache
from pgsched.store.live import executions
from pgsched.store.live.executions import Claimed, Lease, PartitionShare
from tests.store.jobs.jobs_arrange import ALLOWED, BEGAN, HOUR, claim, job, planned_row, waiting
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import call, column, counts, row, schedule, value, wait_until_blocked

pytestmark = pytest.mark.oldest_postgresql

_KINDS = {
    "clients": "text[]",
    "jobs": "uuid[]",
    "revisions": "bigint[]",
    "instants": "timestamptz[]",
    "starts": "timestamptz[]",
    "fires": "timestamptz[]",
    "after": "uuid[]",
    "delays": "interval[]",
}


async def test_a_claim_returns_the_planned_successors_overdue_instant(db: Session, worker: Connection) -> None:
    late = job(db)
    planned_row(db, late, BEGAN)
    answer = await claim(worker)
    assert answer.planned == {answer.rows[0].partition: to_instant(BEGAN + HOUR)}
    assert waiting(db, late) == [BEGAN + HOUR]


async def traced_claim(worker: Connection, folder: Path) -> tuple[Claimed, bytes]:
    """Claim, and return the answer and a trace of the traffic with the server."""
    with (folder / "sent").open("w+b") as sent:
        worker.pgconn.trace(sent.fileno())
        answer = await claim(worker)
        worker.pgconn.untrace()
        sent.seek(0)
        return answer, sent.read()


async def test_a_claim_returns_each_partitions_earliest_planned_instant(db: Session, worker: Connection) -> None:
    for every in (timedelta(hours=3), HOUR, timedelta(hours=2)):
        planned_row(db, job(db, every=every, ordering_key="together"), BEGAN)
    answer = await claim(worker)
    assert list(answer.planned.values()) == [to_instant(BEGAN + HOUR)]


async def test_a_claim_does_not_look_up_the_successors_it_just_planned(
    db: Session, worker: Connection, tmp_path: Path
) -> None:
    """Over many partitions, a claim sends all its statements before it reads the first result."""
    for _ in range(20):
        planned_row(db, job(db), BEGAN)
    answer, told = await traced_claim(worker, tmp_path)
    assert (len(answer.rows), len(answer.planned) > 1) == (20, True)
    assert told.count(b"the successors of rows that were claimed in one partition") == len(answer.planned)
    assert b"those that are missing although" not in told


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        ({"max_runs": 5}, b"one more run of each job"),
        ({"window": "10m"}, b"rows that wait in each of these time spans"),
        ({"after_completion": True}, b"the successors of jobs whose next instant is counted from the end of a run"),
    ],
)
async def test_a_claim_sends_one_statement_per_rule_for_all_jobs(
    db: Session, worker: Connection, tmp_path: Path, rules: dict[str, object], asked: bytes
) -> None:
    """Within a partition, a claim sends as many statements for thousands of jobs as for one."""
    for _ in range(20):
        planned_row(db, job(db, rules=rules, ordering_key="together"), BEGAN)
    answer, told = await traced_claim(worker, tmp_path)
    assert (len(answer.rows), told.count(asked)) == (20, 1)


@pytest.mark.parametrize("name", ["plan_successors", "plan_completions", "hold_jobs", "unplanned_successors"])
async def test_a_plan_cached_with_few_jobs_looks_jobs_up_by_index(db: Session, worker: Connection, name: str) -> None:
    """Sessions keep plans. A plan that scans all active jobs at each claim would still do so with thousands of jobs."""
    job(db)
    text = statement_in(f"jobs/{name}", 0)
    named = [one for one in _KINDS if f"%({one})s" in text]
    for number, one in enumerate(named, 1):
        text = text.replace(f"%({one})s", f"${number}")
    await worker.execute(f"prepare kept ({', '.join(_KINDS[one] for one in named)}) as {text}".encode())
    cursor = await worker.execute(f"explain execute kept ({', '.join(['null'] * len(named))})".encode())
    plan = "\n".join([line for (line,) in await cursor.fetchall()])
    by_id = r"jobs_pkey on jobs j(_1)? .*\n\s+Index Cond: \(id = "
    by_client = r"jobs_client on jobs j(_1)? .*\n\s+Index Cond: .*client_id.* AND \(id = "
    assert re.search(f"{by_id}|{by_client}", plan), plan
    assert plan.count(" on jobs ") == 1


async def test_one_shot_rows_have_no_successor(db: Session, worker: Connection) -> None:
    schedule(db, fire_at=BEGAN)
    answer = await claim(worker)
    assert (len(answer.rows), answer.planned) == (1, {})


async def test_a_late_job_catches_up_one_instant_per_claim(db: Session, worker: Connection) -> None:
    late = job(db)
    planned_row(db, late, BEGAN)
    for n in range(1, 4):
        await claim(worker)
        assert waiting(db, late) == [BEGAN + n * HOUR]


async def test_a_delayed_rows_successor_counts_from_the_nominal_instant(db: Session, worker: Connection) -> None:
    retried = job(db)
    planned_row(db, retried, BEGAN, fire_at=BEGAN + timedelta(minutes=40))
    await claim(worker)
    assert waiting(db, retried) == [BEGAN + HOUR]


async def test_a_row_off_the_schedule_is_followed_by_the_next_instant(db: Session, worker: Connection) -> None:
    edited = job(db)
    planned_row(db, edited, BEGAN + timedelta(minutes=25, microseconds=1))
    await claim(worker)
    assert waiting(db, edited) == [BEGAN + HOUR]


async def test_a_row_before_the_anchor_is_followed_by_the_anchor(db: Session, worker: Connection) -> None:
    anchor = datetime(2040, 1, 1, 0, 0, 0, 7, tzinfo=UTC)
    future = job(db, anchor=anchor)
    planned_row(db, future, BEGAN)
    await claim(worker)
    assert waiting(db, future) == [anchor]


@pytest.mark.parametrize("fraction", [0, 1, 250_000, 999_999])
async def test_a_cron_jobs_successor_ignores_fractions_of_a_second(
    db: Session, worker: Connection, fraction: int
) -> None:
    minutely = job(db, cron="* * * * *")
    planned_row(db, minutely, BEGAN + timedelta(microseconds=fraction))
    await claim(worker)
    assert waiting(db, minutely) == [BEGAN + timedelta(minutes=1)]


async def test_a_cron_job_has_successors_before_the_year_2000(db: Session, worker: Connection) -> None:
    old = job(db, cron="30 * * * *")
    planned_row(db, old, datetime(1999, 12, 31, 23, 0, 0, 500_000, tzinfo=UTC))
    await claim(worker)
    assert waiting(db, old) == [datetime(1999, 12, 31, 23, 30, tzinfo=UTC)]


async def test_cron_jobs_with_one_schedule_due_in_one_second_share_a_search(db: Session, worker: Connection) -> None:
    definition_cache._following.cache_clear()
    for n in range(20):
        planned_row(db, job(db, cron="17 4 * * *"), BEGAN + timedelta(microseconds=n))
    assert len((await claim(worker)).rows) == 20
    assert (definition_cache._following.cache_info().misses, definition_cache._following.cache_info().hits) == (1, 19)


async def test_cron_jobs_in_different_time_zones_share_no_search(db: Session, worker: Connection) -> None:
    east, west = (job(db, cron="0 0 * * *", timezone=zone) for zone in ("Asia/Tokyo", "America/New_York"))
    for one in (east, west):
        planned_row(db, one, BEGAN)
    await claim(worker)
    assert waiting(db, east) == [datetime(2025, 3, 1, 15, tzinfo=UTC)]
    assert waiting(db, west) == [datetime(2025, 3, 2, 5, tzinfo=UTC)]


@pytest.mark.parametrize("how", [{"every": HOUR}, {"cron": "0 0 1 1 *"}])
async def test_a_job_finishes_at_the_end_of_the_year_9999(
    db: Session, worker: Connection, how: dict[str, object]
) -> None:
    last = job(db, **how)
    planned_row(db, last, datetime(9999, 12, 31, tzinfo=UTC), fire_at=BEGAN)
    answer = await claim(worker)
    assert (len(answer.rows), answer.planned, waiting(db, last)) == (1, {}, [])
    found = row(db, "select state::text, reason from pgsched.jobs")
    assert found == ("finished", "no further instants")


@pytest.mark.parametrize(
    "broken", [{"cron": "0 0 30-31 2 *"}, {"cron": "0 0 30/1 2 *"}, {"cron": "0 0 * * *", "timezone": "Mars/Olympus"}]
)
async def test_a_schedule_that_became_invalid_does_not_affect_other_jobs(
    db: Session, worker: Connection, broken: dict[str, object]
) -> None:
    invalid, before, after = job(db, **broken), job(db), job(db, cron="0 * * * *")
    for one in (before, invalid, after):
        planned_row(db, one, BEGAN)
    assert len((await claim(worker)).rows) == 3
    assert waiting(db, before) == waiting(db, after) == [BEGAN + HOUR]
    assert waiting(db, invalid) == []
    stated = "select id from pgsched.jobs where state = 'invalid' and reason like %s || ': %%'"
    assert column(db, stated, [InvalidSchedule.code]) == [invalid]


@pytest.mark.parametrize("first", ["the earlier", "the later"])
async def test_only_the_later_of_a_jobs_two_claimed_rows_gets_a_successor(
    db: Session, worker: Connection, first: str
) -> None:
    double = job(db, rules=ALLOWED)
    instants = [BEGAN, BEGAN + HOUR]
    for nominal in instants if first == "the earlier" else reversed(instants):
        planned_row(db, double, nominal)
    assert len((await claim(worker)).rows) == 2
    assert waiting(db, double) == [BEGAN + 2 * HOUR]


@pytest.mark.parametrize("revisions", [(1, 2), (2, 1)])
async def test_only_the_current_revisions_claimed_row_gets_a_successor(
    db: Session, worker: Connection, revisions: tuple[int, int]
) -> None:
    edited = job(db, revision=2, planned_revision=2, rules=ALLOWED)
    for revision, minutes in zip(revisions, (0, 30), strict=True):
        planned_row(db, edited, BEGAN + timedelta(minutes=minutes), revision=revision)
    assert len((await claim(worker)).rows) == 2
    assert waiting(db, edited) == [BEGAN + HOUR]


async def test_a_claim_does_not_replan_an_existing_successor(db: Session, worker: Connection) -> None:
    foreseen, other = job(db), job(db)
    planned_row(db, foreseen, BEGAN)
    planned_row(db, foreseen, BEGAN + HOUR, fire_at=datetime(2400, 1, 1, tzinfo=UTC))
    planned_row(db, other, BEGAN)
    answer = await claim(worker)
    assert {row.job_id for row in answer.rows} == {foreseen.bytes, other.bytes}
    assert waiting(db, foreseen) == waiting(db, other) == [BEGAN + HOUR]
    assert counts(db) == (4, 2, 0)


async def test_a_claim_waits_for_a_concurrently_inserted_successor(
    db: Session, worker: Connection, store_url: str
) -> None:
    foreseen = job(db)
    planned_row(db, foreseen, BEGAN)
    with psycopg.connect(store_url) as other:
        planned_row(other, foreseen, BEGAN + HOUR, fire_at=datetime(2400, 1, 1, tzinfo=UTC))
        claiming = asyncio.create_task(claim(worker))
        await asyncio.to_thread(wait_until_blocked, db, worker)
        other.commit()
        answer = await claiming
    assert [row.job_id for row in answer.rows] == [foreseen.bytes]
    assert waiting(db, foreseen) == [BEGAN + HOUR]


async def test_a_cron_jobs_hashed_minute_is_stable(db: Session, worker: Connection) -> None:
    minute = int(resolve_hashes("H * * * *", "default/nightly").split()[0])
    hashed = job(db, cron="H * * * *", key="nightly")
    planned_row(db, hashed, BEGAN.replace(minute=minute))
    await claim(worker)
    assert waiting(db, hashed) == [BEGAN.replace(minute=minute) + HOUR]


async def test_a_job_definition_is_read_once_per_revision(
    db: Session, worker: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def noted(name: str) -> str:
        asked.append(name)
        return statement(name)

    monkeypatch.setattr(definition_cache, "statement", noted)
    known = definition_cache.Definitions()
    edited = job(db, rules=ALLOWED)
    planned_row(db, edited, BEGAN)
    await claim(worker, definitions=known)
    await claim(worker, definitions=known)
    assert waiting(db, edited) == [BEGAN + 2 * HOUR]
    assert asked.count("jobs/jobs_in_hand") == 1
    db.execute("update pgsched.jobs set every = '3 hours', revision = 2")
    db.execute("update pgsched.executions set plan = 2 where lease_token is null")
    await claim(worker, definitions=known)
    assert waiting(db, edited) == [BEGAN + 3 * HOUR]
    assert asked.count("jobs/jobs_in_hand") == 2


async def test_empty_rules_are_not_evaluated(db: Session, worker: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definition_cache, "decide_instant", None)  # the function that evaluates rules
    plain = job(db, rules={})
    planned_row(db, plain, BEGAN)
    await claim(worker)
    assert waiting(db, plain) == [BEGAN + HOUR]


@pytest.mark.parametrize("change", ["pause", "cancel", "edit"])
async def test_a_row_of_a_job_changed_before_the_claim_gets_no_successor(
    db: Session, worker: Connection, store_url: str, change: str
) -> None:
    changed, other = job(db, key="changed"), job(db)
    planned_row(db, changed, BEGAN)
    planned_row(db, other, BEGAN)
    with psycopg.connect(store_url) as holder:
        holder.execute("select from pgsched.executions for update")  # so that the change skips its row
        apply(db, change, changed)
    assert len((await claim(worker)).rows) == 2
    assert (waiting(db, changed), waiting(db, other)) == ([], [BEGAN + HOUR])


@pytest.mark.parametrize("change", ["pause", "cancel", "edit"])
async def test_a_change_during_a_claim_prevents_the_planned_successor(
    db: Session, worker: Connection, store_url: str, change: str
) -> None:
    changed = job(db, key="changed")
    planned_row(db, changed, BEGAN)
    answer = await claim_behind(db, worker, store_url, change, changed)
    assert len(answer.rows) == 1
    assert waiting(db, changed) == []


async def test_editing_an_invalid_schedule_during_a_claim_keeps_the_job_active(
    db: Session, worker: Connection, store_url: str
) -> None:
    changed = job(db, key="changed", cron="0 0 30-31 2 *")
    planned_row(db, changed, BEGAN)
    await claim_behind(db, worker, store_url, "edit", changed)
    assert row(db, "select state::text, reason, revision from pgsched.jobs") == ("active", None, 2)


async def claim_behind(db: Session, worker: Connection, store_url: str, change: str, job: UUID) -> Claimed:
    """Claim while a change of the job is not committed. If the row is postponed, claim again after the commit."""
    with psycopg.connect(store_url) as changer:
        with psycopg.connect(store_url) as claiming:
            claiming.execute("select from pgsched.executions for update")  # so that the change skips its row
            apply(changer, change, job)
            claiming.rollback()
        found = await claim(worker)
        changer.commit()
    if found.rows:
        return found
    db.execute("update pgsched.executions set fire_at = scheduled_for")
    return await claim(worker)


def apply(db: Session, change: str, job: UUID) -> None:
    match change:
        case "edit":
            schedule(db, target="python:y", key="changed", every="2 hours")
        case "cancel":
            call(db, "cancel", id=job)
        case _:
            call(db, "pause", kind="job", name=str(job))


async def test_calling_claim_at_once_skips_recurring_rows(db: Session, worker: Connection) -> None:
    recurring = job(db)
    planned_row(db, recurring, BEGAN)
    partition = value(db, "select partition from pgsched.executions")
    lease = Lease(owner=1, token=7, length=timedelta(seconds=30), ahead=timedelta(0))
    answer = await executions.claim_at_once(worker, lease, PartitionShare(partition, LONG_AGO, 100))
    assert (answer, waiting(db, recurring), counts(db)[0]) == (Claimed([], [], {}, statements=1), [BEGAN], 1)


async def test_a_claim_that_runs_out_of_time_postpones_jobs_with_rules(
    db: Session, worker: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claimed_decisions, "_SECONDS", 0.0)
    plain = job(db, every=HOUR)
    ruled = [job(db, every=HOUR, rules={"exclude": [f"* {hour} * * *"]}) for hour in (3, 4)]
    for one in (plain, *ruled):
        planned_row(db, one, BEGAN)
    answer = await claim(worker)
    assert [row.job_id for row in answer.rows] == [plain.bytes]
    later = "select count(*) from pgsched.executions where job_id = any(%s) and gate = 'busy' and fire_at > now()"
    assert value(db, later, [ruled]) == 2


async def test_a_run_postponed_for_lack_of_time_keeps_its_instant(
    db: Session, worker: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claimed_decisions, "_SECONDS", 0.0)
    ruled = [job(db, every=HOUR, rules={"exclude": [f"* {hour} * * *"]}) for hour in (3, 4)]
    for one in ruled:
        planned_row(db, one, BEGAN)
    runs = (await claim(worker)).rows
    db.execute("update pgsched.executions set fire_at = now() where gate = 'busy'")
    runs += (await claim(worker)).rows
    assert {run.job_id for run in runs} == {one.bytes for one in ruled}
    assert [to_datetime(run.scheduled_for) for run in runs] == [BEGAN, BEGAN]
