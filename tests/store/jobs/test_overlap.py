"""Instants that come while the job's previous run has not ended."""

from datetime import datetime, timedelta
from uuid import UUID

import psycopg
import pytest

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Connection
from pgsched.store.live import executions
from pgsched.store.live.executions import Group
from tests.store.jobs.jobs_arrange import BEGAN, HOUR, claim, job, planned_row, waiting
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import call, heard, listening, row, value

pytestmark = pytest.mark.oldest_postgresql

AT = timedelta(seconds=1)


async def at_second_instant(worker: Connection) -> list[ClaimedExecution]:
    """Claim at the second instant, while the first run is in hand."""
    return (await claim(worker, now=BEGAN + HOUR + AT)).rows


async def running(db: Session, worker: Connection, **rules: object) -> tuple[UUID, ClaimedExecution]:
    """An hourly job whose run for BEGAN is in hand."""
    hourly = job(db, rules=rules) if rules else job(db)
    planned_row(db, hourly, BEGAN)
    [first] = (await claim(worker, now=BEGAN + AT)).rows
    return hourly, first


async def settle(worker: Connection, execution: ClaimedExecution) -> None:
    await executions.settle_succeeded(worker, None, {execution.partition: Group([execution.id], [execution.token])})


def statuses(db: Session, hourly: UUID) -> list[tuple[datetime, str, str | None]]:
    return db.execute(
        "select scheduled_for, status::text, case when finished_at is not null then reason end"
        " from pgsched.status where job_id = %s order by 1",
        [hourly],
    ).fetchall()


@pytest.mark.parametrize("rules", [{}, {"on_overlap": "skip"}])
async def test_an_overlapping_instant_is_skipped_by_default(
    db: Session, worker: Connection, rules: dict[str, object]
) -> None:
    hourly, _ = await running(db, worker, **rules)
    assert await at_second_instant(worker) == []
    assert statuses(db, hourly) == [
        (BEGAN, "running", None),
        (BEGAN + HOUR, "skipped", "overlap"),
        (BEGAN + 2 * HOUR, "scheduled", None),
    ]


async def claimed_early(db: Session, worker: Connection, **rules: object) -> tuple[UUID, ClaimedExecution, datetime]:
    """A job whose first run is in hand and whose second instant, an hour away, has been claimed early."""
    instant = value(db, "select date_trunc('second', pgsched.now()) + interval '1 h'")
    hourly = job(db, anchor=instant - 10 * HOUR, rules=rules)
    planned_row(db, hourly, instant - HOUR)
    [first] = (await claim(worker, now=instant - HOUR + AT)).rows
    assert (await claim(worker, now=instant - timedelta(minutes=30), ahead=2 * HOUR)).rows == []
    return hourly, first, instant


def pass_time(db: Session) -> None:
    """Move every row two hours back, so that instants an hour away have come."""
    db.execute(
        "update pgsched.executions"
        " set fire_at = fire_at - interval '2 h', scheduled_for = scheduled_for - interval '2 h',"
        " start_at = start_at - interval '2 h'"
    )


POLICIES = pytest.mark.parametrize("policy", ["skip", "cancel_running", "queue_one", "queue_all"])


@POLICIES
async def test_a_run_claimed_early_starts_if_the_previous_run_ends_in_time(
    db: Session, worker: Connection, policy: str
) -> None:
    hourly, first, instant = await claimed_early(db, worker, on_overlap=policy)
    assert statuses(db, hourly) == [(instant - HOUR, "running", None), (instant, "scheduled", None)]
    assert (await claim(worker, now=instant - AT, ahead=2 * HOUR)).taken == []
    await settle(worker, first)
    pass_time(db)
    [second] = (await claim(worker, now=instant - HOUR - AT, ahead=2 * HOUR)).rows
    assert second.nominal == instant - 2 * HOUR
    assert (instant - HOUR, "scheduled", None) in statuses(db, hourly)


@POLICIES
async def test_the_overlap_of_a_run_claimed_early_is_decided_at_its_instant(
    db: Session, worker: Connection, policy: str
) -> None:
    hourly, _, instant = await claimed_early(db, worker, on_overlap=policy)
    pass_time(db)
    await claim(worker, now=instant - HOUR - AT, ahead=2 * HOUR)
    first, second = {"skip": ("running", "skipped"), "cancel_running": ("cancelled", "running")}.get(
        policy, ("running", "held")
    )
    assert [status for _, status, _ in statuses(db, hourly)][:2] == [first, second]


async def test_jitter_postpones_an_early_claim_only_once(db: Session, worker: Connection) -> None:
    instant = value(db, "select date_trunc('second', pgsched.now()) + interval '1 h'")
    start = instant + timedelta(minutes=5)
    hourly = job(db, anchor=instant, rules={"jitter": "30m"})
    planned_row(db, hourly, instant - HOUR)
    [_] = (await claim(worker, now=instant - HOUR + AT)).rows
    db.execute("update pgsched.executions set (fire_at, start_at) = (%s, %s) where lease_token is null", [start, start])
    assert (await claim(worker, now=start - AT, ahead=2 * HOUR)).rows == []
    pass_time(db)
    await claim(worker, now=start - HOUR, ahead=2 * HOUR)
    assert (instant - 2 * HOUR, "skipped", "overlap") in statuses(db, hourly)


@pytest.mark.parametrize("rules", [{}, {"jitter": "30m"}])
async def test_a_run_claimed_early_fires_at_its_start_time(
    db: Session, worker: Connection, rules: dict[str, object]
) -> None:
    _, first, _ = await claimed_early(db, worker, **rules)
    await settle(worker, first)
    pass_time(db)
    [second] = (await claim(worker, now=BEGAN, ahead=2 * HOUR)).rows
    assert second.fire_at == second.start
    begun = "select fire_at = coalesce(start_at, scheduled_for), gate, reason from pgsched.executions where id = %s"
    assert row(db, begun, [second.uuid]) == (True, None, None)


async def test_an_ended_run_does_not_count_as_an_overlap(db: Session, worker: Connection) -> None:
    _, first = await running(db, worker)
    await settle(worker, first)
    assert len(await at_second_instant(worker)) == 1


async def test_a_run_waiting_for_a_retry_counts_as_an_overlap(db: Session, worker: Connection) -> None:
    hourly, first = await running(db, worker)
    failed = executions.Finished(
        first.id, first.token, "failed", None, None, "busy", executions.Times(0, 0.1), retryable=True, wait=7200.0
    )
    await executions.settle_finished(worker, first.partition, [failed])
    assert await at_second_instant(worker) == []
    assert (BEGAN + HOUR, "skipped", "overlap") in statuses(db, hourly)


async def test_a_triggered_run_counts_as_an_overlap(db: Session, worker: Connection) -> None:
    hourly = job(db)
    call(db, "trigger", job_id=hourly)
    now = value(db, "select pgsched.now()")
    [_] = (await claim(worker, now=now)).rows
    planned_row(db, hourly, now + AT, fire_at=now)
    assert (await claim(worker, now=now + AT)).rows == []


async def test_a_backfilled_run_does_not_count_as_an_overlap(db: Session, worker: Connection) -> None:
    hourly = job(db)
    planned_row(db, hourly, BEGAN - HOUR, revision=0)
    [_] = (await claim(worker, now=BEGAN)).rows
    planned_row(db, hourly, BEGAN)
    assert len((await claim(worker, now=BEGAN + AT)).rows) == 1


async def test_with_on_overlap_allow_both_instants_run(db: Session, worker: Connection) -> None:
    _, first = await running(db, worker, on_overlap="allow")
    [second] = await at_second_instant(worker)
    assert (second.job_id, second.nominal) == (first.job_id, BEGAN + HOUR)


@pytest.mark.parametrize("policy", ["queue_one", "queue_all"])
async def test_a_queued_instant_is_held_and_has_no_successor(db: Session, worker: Connection, policy: str) -> None:
    hourly, _ = await running(db, worker, on_overlap=policy)
    assert await at_second_instant(worker) == []
    assert statuses(db, hourly) == [(BEGAN, "running", None), (BEGAN + HOUR, "held", None)]
    assert value(db, "select attempt from pgsched.executions where scheduled_for = %s", [BEGAN + HOUR]) == 0


@pytest.mark.parametrize("policy", ["queue_one", "queue_all"])
async def test_a_queued_instant_waits_for_the_previous_run_to_end(db: Session, worker: Connection, policy: str) -> None:
    hourly, first = await running(db, worker, on_overlap=policy)
    await at_second_instant(worker)
    waits = row(db, "select d.after_id, d.outcome, e.scheduled_for from pgsched.dependencies d"
                    " join pgsched.executions e on e.id = d.execution_id")  # fmt: skip
    assert waits == (UUID(bytes=first.id), "any", BEGAN + HOUR)
    assert value(db, "select awaited from pgsched.executions where id = %s", [UUID(bytes=first.id)])
    assert waiting(db, hourly) == [BEGAN + HOUR]


async def release(db: Session, at: datetime) -> None:
    """End the previous run; queued rows fire at ``at``."""
    db.execute("delete from pgsched.executions where lease_token is not null")
    db.execute("update pgsched.executions set fire_at = %s where fire_at = 'infinity'", [at])
    db.execute("delete from pgsched.dependencies")


async def test_with_queue_one_instants_are_skipped_while_an_instant_is_queued(db: Session, worker: Connection) -> None:
    hourly, _ = await running(db, worker, on_overlap="queue_one", catch_up="1s")
    await at_second_instant(worker)
    ended = BEGAN + 4 * HOUR + AT
    await release(db, ended)
    [run] = (await claim(worker, now=ended)).rows
    assert run.nominal == BEGAN + HOUR
    assert waiting(db, hourly) == [BEGAN + 5 * HOUR]
    passed = row(db, "select scheduled_for, last_scheduled_for, instants, reason from pgsched.history")
    assert passed == (BEGAN + 2 * HOUR, BEGAN + 4 * HOUR, 3, "overlap")


async def test_an_instant_queued_twice_records_skipped_instants_when_it_runs(db: Session, worker: Connection) -> None:
    hourly, _ = await running(db, worker, on_overlap="queue_one")
    await at_second_instant(worker)
    ended = BEGAN + 4 * HOUR + AT
    await release(db, ended)
    triggered = call(db, "trigger", job_id=hourly)
    db.execute(
        "update pgsched.executions set fire_at = 'infinity', scheduled_for = %s where id = %s", [BEGAN + AT, triggered]
    )
    assert (await claim(worker, now=ended)).rows == []
    assert value(db, "select count(*) from pgsched.history") == 0
    db.execute("delete from pgsched.executions where id = %s", [triggered])
    await release(db, ended + HOUR)
    assert len((await claim(worker, now=ended + HOUR)).rows) == 1
    assert row(db, "select scheduled_for, instants from pgsched.history") == (BEGAN + 2 * HOUR, 4)


async def test_with_queue_all_every_instant_runs_one_after_another(db: Session, worker: Connection) -> None:
    await running(db, worker, on_overlap="queue_all", on_missed="skip", catch_up="1s")
    await at_second_instant(worker)
    seen = []
    for _ in range(3):
        await release(db, BEGAN + 4 * HOUR)
        seen += [run.nominal for run in (await claim(worker, now=BEGAN + 4 * HOUR)).rows]
        assert (await claim(worker, now=BEGAN + 4 * HOUR)).rows == []
    assert seen == [BEGAN + HOUR, BEGAN + 2 * HOUR, BEGAN + 3 * HOUR]


async def test_an_instant_runs_if_the_previous_run_ends_during_the_claim(
    db: Session, worker: Connection, store_url: str
) -> None:
    _, first = await running(db, worker, on_overlap="queue_one")
    with psycopg.connect(store_url) as settling, psycopg.connect(store_url, autocommit=True) as watcher:
        settling.execute("delete from pgsched.executions where id = %s", [UUID(bytes=first.id)])
        assert await at_second_instant(worker) == []
        settling.commit()
        watcher.execute("update pgsched.executions set fire_at = scheduled_for")
        assert len(await at_second_instant(worker)) == 1


async def test_with_cancel_running_an_overlap_cancels_and_stops_the_previous_run(
    db: Session, worker: Connection, store_url: str
) -> None:
    hourly, first = await running(db, worker, on_overlap="cancel_running")
    with listening(store_url) as listener:
        [second] = await at_second_instant(worker)
        assert f"stop {first.uuid}" in heard(listener, db)
    assert second.nominal == BEGAN + HOUR
    assert statuses(db, hourly)[0] == (BEGAN, "cancelled", "overlap: replaced by the run of 2025-03-01T11:00:00Z")


async def test_a_cancelled_runs_result_is_ignored(db: Session, worker: Connection) -> None:
    hourly, first = await running(db, worker, on_overlap="cancel_running")
    await at_second_instant(worker)
    await settle(worker, first)
    assert [found[1] for found in statuses(db, hourly)] == ["cancelled", "running", "scheduled"]


async def test_another_jobs_run_in_the_partition_does_not_count_as_an_overlap(db: Session, worker: Connection) -> None:
    one, other = (job(db, ordering_key="together") for _ in range(2))
    planned_row(db, one, BEGAN)
    await claim(worker, now=BEGAN)
    planned_row(db, other, BEGAN + HOUR)
    found = (await claim(worker, now=BEGAN + HOUR)).rows
    assert [UUID(bytes=run.job_id or b"") for run in found] == [other]


async def test_a_row_is_postponed_while_the_previous_run_is_locked(
    db: Session, worker: Connection, store_url: str
) -> None:
    _, first = await running(db, worker, on_overlap="cancel_running")
    with psycopg.connect(store_url) as renewing:
        renewing.execute("update pgsched.executions set lease_expires_at = now() where id = %s", [UUID(bytes=first.id)])
        assert await at_second_instant(worker) == []
        renewing.commit()
        db.execute("update pgsched.executions set fire_at = scheduled_for where lease_token is null")
        assert len(await at_second_instant(worker)) == 1
