"""Bulk operations on jobs selected by client or labels, and the deletion of ended jobs."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from pgsched.store.admin import expired_rows
from pgsched.store.core import connect
from pgsched.store.core.connect import Link
from pgsched.store.lookup import executions_and_jobs
from pgsched.store.lookup.filters import JobFilter
from pgsched.telemetry import Events
from pgsched.upkeep.retention import Retention
from tests.store.bulk.bulk_arrange import bulk, count, progress
from tests.store.store_arrange import (
    Connection,
    call,
    column,
    counts,
    finish,
    planned,
    refused,
    schedule,
    value,
    wait_until_blocked,
)

ACTIONS = ["pause", "resume", "cancel_jobs"]


def job(db: Connection, client: str = "default", **labels: str) -> Any:
    return schedule(db, every="1 hour", client=client, labels=labels or None)


def states(db: Connection) -> dict[Any, str]:
    return dict(db.execute("select id, state::text from pgsched.jobs").fetchall())


def change(db: Connection, action: str, **filter: Any) -> int:
    """Run a bulk operation and return the number of changed jobs."""
    state, done, skipped, failed = progress(db, bulk(db, action, filter))
    assert (state, skipped, failed) == ("finished", 0, 0)
    return int(done)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("filter", [{}, {"labels": {}}, {"client": ""}, {"key": "k"}])
def test_an_empty_or_unknown_job_filter_is_refused(db: Connection, action: str, filter: dict[str, Any]) -> None:
    id = job(db)
    with refused("PS000"):
        bulk(db, action, filter)
    assert states(db) == {id: "active"}


def test_a_job_filter_matches_only_jobs_with_all_given_labels(db: Connection) -> None:
    both, one, other = job(db, team="a", tier="gold"), job(db, team="a"), job(db, team="b", tier="gold")
    assert change(db, "pause", labels={"team": "a", "tier": "gold"}) == 1
    assert states(db) == {both: "paused", one: "active", other: "active"}


def test_a_job_filter_requires_both_client_and_labels_to_match(db: Connection) -> None:
    mine, other = job(db, "shop", team="a"), job(db, "bank", team="a")
    assert change(db, "cancel_jobs", client="shop", labels={"team": "a"}) == 1
    assert states(db) == {mine: "cancelled", other: "active"}


def test_bulk_job_operations_count_only_jobs_that_change_state(db: Connection) -> None:
    job(db, team="a")
    call(db, "pause", kind="job", name=str(job(db, team="a")))
    call(db, "cancel", id=job(db, team="a"))
    assert change(db, "pause", labels={"team": "a"}) == 1
    assert change(db, "resume", labels={"team": "a"}) == 2
    assert change(db, "cancel_jobs", labels={"team": "a"}) == 2
    assert change(db, "cancel_jobs", labels={"team": "a"}) == 0


def test_a_bulk_pause_audits_each_changed_job(db: Connection) -> None:
    changed = [job(db, team="a"), job(db, team="a")]
    bulk(db, "pause", {"labels": {"team": "a"}}, note="stocktaking", actor="ann")
    found = (
        "select subject from pgsched.audit_log where actor = 'ann' and detail ->> 'note' is not null and action = %s"
    )
    assert sorted(column(db, found, ["pause"])) == sorted(changed)
    assert column(db, found, ["bulk pause"]) == column(db, "select id from pgsched.bulk_operations")
    assert set(column(db, "select reason from pgsched.jobs")) == {"stocktaking"}


def test_a_bulk_pause_deletes_the_jobs_waiting_rows(db: Connection) -> None:
    planned(db, job(db, team="a"))
    change(db, "pause", labels={"team": "a"})
    assert counts(db) == (0, 1, 0)


def test_a_bulk_pause_skips_a_concurrently_cancelled_job(db: Connection, store_url: str) -> None:
    first, second = job(db, team="a"), job(db, team="a")
    with (
        psycopg.connect(store_url, autocommit=True) as other,
        psycopg.connect(store_url, autocommit=True) as watcher,
        ThreadPoolExecutor() as threads,
    ):
        with db.transaction():
            call(db, "cancel", id=first)
            late = threads.submit(lambda: change(other, "pause", labels={"team": "a"}))
            wait_until_blocked(watcher, other)
        assert late.result(20) == 1
    assert states(db) == {first: "cancelled", second: "paused"}


async def test_jobs_can_be_listed_by_labels(db: Connection, worker: connect.Connection) -> None:
    found, _ = job(db, team="a", tier="gold"), job(db, team="b", tier="gold")
    listed = (
        await executions_and_jobs.list_jobs(worker, JobFilter(labels={"team": "a", "tier": "gold"}), limit=10)
    ).items
    assert [row.id for row in listed] == [found]


def test_a_job_label_filter_uses_the_label_index(db: Connection) -> None:
    db.execute("set enable_seqscan = off")
    plan = "\n".join(column(db, 'explain select id from pgsched.jobs where labels @> \'{"team": "a"}\''))
    db.execute("reset enable_seqscan")
    assert "jobs_labels" in plan


def ended(db: Connection, state: str, *, ago: str, rules: dict[str, Any] | None) -> Any:
    id = schedule(db, every="1 hour", rules=rules)
    db.execute(
        "update pgsched.jobs set state = %s::pgsched.job_state, updated_at = now() - %s::interval where id = %s",
        [state, ago, id],
    )
    return id


@pytest.mark.parametrize("state", ["finished", "cancelled"])
async def test_an_ended_job_is_deleted_once_its_delete_after_period_is_over(
    db: Connection, worker: connect.Connection, state: str
) -> None:
    ended(db, state, ago="31 days", rules={"delete_after": "30d"})
    young = ended(db, state, ago="29 days", rules={"delete_after": "30d"})
    kept = ended(db, state, ago="9 years", rules=None)
    assert await expired_rows.delete_ended_jobs(worker, most=10) == 1
    assert set(states(db)) == {young, kept}


@pytest.mark.parametrize("state", ["active", "paused", "invalid"])
async def test_a_job_that_has_not_ended_is_not_deleted_despite_delete_after(
    db: Connection, worker: connect.Connection, state: str
) -> None:
    ended(db, state, ago="31 days", rules={"delete_after": "30d"})
    assert await expired_rows.delete_ended_jobs(worker, most=10) == 0


async def test_an_ended_job_is_kept_while_it_has_a_waiting_execution(
    db: Connection, worker: connect.Connection
) -> None:
    id = ended(db, "finished", ago="31 days", rules={"delete_after": "30d"})
    execution = call(db, "trigger", job_id=id)
    assert await expired_rows.delete_ended_jobs(worker, most=10) == 0
    finish(db, execution)
    assert await expired_rows.delete_ended_jobs(worker, most=10) == 1
    assert value(db, "select job_id from pgsched.history where id = %s", [execution]) == id


async def test_a_locked_ended_job_is_not_deleted(db: Connection, worker: connect.Connection, store_url: str) -> None:
    id = ended(db, "finished", ago="31 days", rules={"delete_after": "30d"})
    ended(db, "finished", ago="31 days", rules={"delete_after": "30d"})
    with psycopg.connect(store_url) as editor:
        editor.execute("select from pgsched.jobs where id = %s for update", [id])
        assert await expired_rows.delete_ended_jobs(worker, most=10) == 1
    assert set(states(db)) == {id}


async def test_one_retention_turn_deletes_all_ended_jobs_batch_by_batch(db: Connection, store_url: str) -> None:
    for _ in range(5):
        ended(db, "finished", ago="2 hours", rules={"delete_after": "1h"})
    seen: list[tuple[str, dict[str, Any]]] = []
    link = Link(store_url, "chores", raw=False)
    await Retention(link, Events(lambda event, fields: seen.append((event, fields))), batch=2).turn()
    await link.drop()
    assert states(db) == {}
    assert ("jobs.deleted", {"jobs": 5}) in seen


def test_a_dry_run_counts_matching_jobs_and_changes_nothing(db: Connection) -> None:
    id = job(db, team="a")
    assert count(db, "pause", {"labels": {"team": "a"}}) == (1, True)
    assert count(db, "resume", {"labels": {"team": "a"}}) == (0, True)
    assert states(db) == {id: "active"}


def test_a_bulk_pause_runs_in_the_callers_transaction(db: Connection) -> None:
    id = job(db, team="a")
    with db.transaction(force_rollback=True):
        assert change(db, "pause", labels={"team": "a"}) == 1
        assert states(db) == {id: "paused"}
    assert (states(db), column(db, "select id from pgsched.bulk_operations")) == ({id: "active"}, [])


def test_a_rate_is_refused_for_bulk_job_operations(db: Connection) -> None:
    with refused("PS002", hint="leave the rate out"):
        bulk(db, "pause", {"client": "shop"}, rate=10)
