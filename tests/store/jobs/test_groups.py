"""Verbs over the jobs of a client, or with labels; and jobs that go by themselves after their end."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from pgsched.events import Events
from pgsched.store.admin import workers
from pgsched.store.core import connect
from pgsched.store.core.connect import Link
from pgsched.store.lookup import listings
from pgsched.store.lookup.rows import JobFilter
from pgsched.upkeep.days import Days
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

VERBS = ["pause_all", "resume_all", "cancel_all"]


def job(db: Connection, client: str = "default", **labels: str) -> Any:
    return schedule(db, every="1 hour", client=client, labels=labels or None)


def states(db: Connection) -> dict[Any, str]:
    return dict(db.execute("select id, state::text from pgsched.jobs").fetchall())


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("filters", [{}, {"labels": {}}, {"note": "all of them"}])
def test_without_a_filter_nobody_is_meant(db: Connection, verb: str, filters: dict[str, Any]) -> None:
    id = job(db)
    with refused("PS000", hint="give client, labels or both"):
        call(db, verb, **filters)
    assert states(db) == {id: "active"}


def test_all_labels_must_be_there(db: Connection) -> None:
    both, one, other = job(db, team="a", tier="gold"), job(db, team="a"), job(db, team="b", tier="gold")
    assert call(db, "pause_all", labels={"team": "a", "tier": "gold"}) == 1
    assert states(db) == {both: "paused", one: "active", other: "active"}


def test_client_and_labels_are_both_required_where_both_are_given(db: Connection) -> None:
    mine, other = job(db, "shop", team="a"), job(db, "bank", team="a")
    assert call(db, "cancel_all", client="shop", labels={"team": "a"}) == 1
    assert states(db) == {mine: "cancelled", other: "active"}


def test_what_is_so_already_does_not_count(db: Connection) -> None:
    job(db, team="a")
    call(db, "pause", job_id=job(db, team="a"))
    call(db, "cancel", id=job(db, team="a"))
    assert call(db, "pause_all", labels={"team": "a"}) == 1
    assert call(db, "resume_all", labels={"team": "a"}) == 2
    assert call(db, "cancel_all", labels={"team": "a"}) == 2
    assert call(db, "cancel_all", labels={"team": "a"}) == 0


def test_each_job_that_was_changed_is_on_record(db: Connection) -> None:
    changed = [job(db, team="a"), job(db, team="a")]
    call(db, "pause_all", labels={"team": "a"}, note="stocktaking", actor="ann")
    found = column(
        db, "select subject from pgsched.audit_log where actor = 'ann' and detail ->> 'note' = 'stocktaking'"
    )
    assert sorted(found) == sorted(changed)
    assert set(column(db, "select reason from pgsched.jobs")) == {"stocktaking"}


def test_waiting_rows_are_taken_back(db: Connection) -> None:
    planned(db, job(db, team="a"))
    call(db, "pause_all", labels={"team": "a"})
    assert counts(db) == (0, 1, 0)


def test_a_job_that_is_cancelled_at_that_moment_is_passed_over(db: Connection, store_url: str) -> None:
    first, second = job(db, team="a"), job(db, team="a")
    with (
        psycopg.connect(store_url, autocommit=True) as other,
        psycopg.connect(store_url, autocommit=True) as watcher,
        ThreadPoolExecutor() as threads,
    ):
        with db.transaction():
            call(db, "cancel", id=first)
            late = threads.submit(lambda: call(other, "pause_all", labels={"team": "a"}))
            wait_until_blocked(watcher, other)
        assert late.result(20) == 1
    assert states(db) == {first: "cancelled", second: "paused"}


async def test_jobs_are_listed_by_their_labels(db: Connection, worker: connect.Connection) -> None:
    found, _ = job(db, team="a", tier="gold"), job(db, team="b", tier="gold")
    listed = (await listings.list_jobs(worker, JobFilter(labels={"team": "a", "tier": "gold"}), limit=10)).items
    assert [row.id for row in listed] == [found]


def test_labels_are_looked_up_in_their_index(db: Connection) -> None:
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
async def test_a_job_that_ended_goes_after_its_time(db: Connection, worker: connect.Connection, state: str) -> None:
    ended(db, state, ago="31 days", rules={"delete_after": "30d"})
    young = ended(db, state, ago="29 days", rules={"delete_after": "30d"})
    kept = ended(db, state, ago="9 years", rules=None)
    assert await workers.delete_ended_jobs(worker, most=10) == 1
    assert set(states(db)) == {young, kept}


@pytest.mark.parametrize("state", ["active", "paused", "invalid"])
async def test_a_job_that_has_not_ended_stays(db: Connection, worker: connect.Connection, state: str) -> None:
    ended(db, state, ago="31 days", rules={"delete_after": "30d"})
    assert await workers.delete_ended_jobs(worker, most=10) == 0


async def test_a_job_stays_while_something_of_it_waits(db: Connection, worker: connect.Connection) -> None:
    id = ended(db, "finished", ago="31 days", rules={"delete_after": "30d"})
    execution = call(db, "trigger", job_id=id)
    assert await workers.delete_ended_jobs(worker, most=10) == 0
    finish(db, execution)
    assert await workers.delete_ended_jobs(worker, most=10) == 1
    assert value(db, "select job_id from pgsched.history where id = %s", [execution]) == id


async def test_a_job_that_somebody_has_locked_is_passed_over(
    db: Connection, worker: connect.Connection, store_url: str
) -> None:
    id = ended(db, "finished", ago="31 days", rules={"delete_after": "30d"})
    ended(db, "finished", ago="31 days", rules={"delete_after": "30d"})
    with psycopg.connect(store_url) as editor:
        editor.execute("select from pgsched.jobs where id = %s for update", [id])
        assert await workers.delete_ended_jobs(worker, most=10) == 1
    assert set(states(db)) == {id}


async def test_a_turn_of_the_upkeep_deletes_them_all(db: Connection, store_url: str) -> None:
    for _ in range(5):
        ended(db, "finished", ago="2 hours", rules={"delete_after": "1h"})
    seen: list[tuple[str, dict[str, Any]]] = []
    link = Link(store_url, "chores", raw=False)
    await Days(link, Events(lambda event, fields: seen.append((event, fields))), batch=2).turn()
    await link.drop()
    assert states(db) == {}
    assert ("jobs.deleted", {"jobs": 5}) in seen


def test_all_of_a_client_is_cancelled_with_what_waits_of_it(db: Connection) -> None:
    schedule(db, client="shop", every="1 hour")
    first = schedule(db, client="shop", fire_at="2040-01-01Z")
    schedule(db, client="shop", key="k", delay="1 hour", ordering_key="o")
    schedule(db, client="shop", after=[str(first)])
    schedule(db, client="other", delay="1 hour")
    assert call(db, "cancel_all", client="shop", note="closed") == 4
    assert call(db, "cancel_all", client="shop") == 0
    assert column(db, "select client_id from pgsched.executions") == ["other"]
    assert column(db, "select distinct reason from pgsched.history where status = 'cancelled'") == ["closed"]
    detail = value(db, "select detail from pgsched.audit_log where action = 'cancel all'")
    assert detail == {"client": "shop", "executions": 3, "note": "closed"}


def test_what_a_worker_has_in_hand_is_not_cancelled_with_all(db: Connection) -> None:
    schedule(db, client="shop")
    db.execute(
        "update pgsched.executions set lease_token = 7, lease_owner = 1, lease_expires_at = now() + interval '1 hour'"
    )
    assert call(db, "cancel_all", client="shop") == 0


def test_what_waits_is_cancelled_in_parts(db: Connection) -> None:
    db.execute("select pgsched.schedule('notify:a', delay => '1 hour') from generate_series(1, 30)")
    assert value(db, "select pgsched_internal.cancel_waiting('default', null, 20)") == 20
    assert value(db, "select pgsched_internal.cancel_waiting('default', null, 20)") == 10


def test_what_was_triggered_of_a_job_is_cancelled_with_all_and_counts_with_it(db: Connection) -> None:
    job = schedule(db, client="shop", every="1 hour")
    call(db, "trigger", job_id=job)
    assert call(db, "cancel_all", client="shop") == 1
    assert value(db, "select count(*) from pgsched.executions") == 0
