"""pgsched.edit: what can be changed in a job, and what happens to its waiting row."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.store.store_arrange import (
    TARGET,
    Connection,
    call,
    column,
    counts,
    lease,
    planned,
    refused,
    row,
    schedule,
    status,
    value,
    wait_until_blocked,
)

pytestmark = pytest.mark.oldest_postgresql

UNKNOWN = UUID("00000000-0000-7000-8000-000000000000")


def edit(db: Connection, job: UUID, **changes: Any) -> bool:
    return bool(call(db, "edit", id=job, changes=changes))


def waiting(db: Connection) -> list[tuple[Any, ...]]:
    return db.execute("select id, target, payload, options, plan from pgsched.executions").fetchall()


@pytest.mark.parametrize(
    ("column", "changed"),
    [
        ("target", "python:other"),
        ("payload", {"n": 2}),
        ("payload", None),
        ("options", {"timeout": "5s"}),
        ("rules", {"max_runs": 3}),
        ("labels", {"team": "payments"}),
        ("ordering_key", "o"),
        ("timezone", "Europe/Berlin"),
        ("gap", "skip"),
        ("overlap", "both"),
        ("cron", "0 9 * * *"),
    ],
)
def test_an_edit_changes_only_the_given_field(db: Connection, column: str, changed: Any) -> None:
    job = schedule(db, cron="@daily", payload={"n": 1}, key="k")
    before = value(db, "select to_jsonb(j) from pgsched.jobs j")
    assert edit(db, job, **{column: changed}) is True
    after = value(db, "select to_jsonb(j) from pgsched.jobs j")
    different = {name for name in before if before[name] != after[name]} - {"revision", "updated_at"}
    assert (different, after[column]) == ({column}, changed)


def test_an_edit_that_changes_nothing_returns_false(db: Connection) -> None:
    job = schedule(db, cron="@daily", payload={"n": 1})
    assert edit(db, job, payload={"n": 1}, timezone="UTC", gap=None, target=TARGET) is False
    assert edit(db, job) is False
    assert value(db, "select revision from pgsched.jobs") == 1


def test_an_interval_replaces_a_cron_expression_and_vice_versa(db: Connection) -> None:
    job = schedule(db, cron="@daily")
    edit(db, job, every="90m")
    assert row(db, "select cron, every = interval '90 minutes' from pgsched.jobs") == (None, True)
    edit(db, job, cron="@hourly")
    assert row(db, "select cron, every from pgsched.jobs") == ("@hourly", None)


def test_editing_a_field_to_null_resets_it_to_its_default(db: Connection) -> None:
    job = schedule(db, cron="@daily", timezone="Europe/Berlin", labels={"a": "b"}, rules={"max_runs": 3})
    edit(db, job, timezone=None, labels=None, rules=None)
    assert row(db, "select timezone, labels, rules from pgsched.jobs") == ("UTC", None, None)


def test_an_edit_updates_the_waiting_row_in_place(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    id = planned(db, job)
    fires = value(db, "select fire_at from pgsched.executions")
    edit(db, job, target="python:other", payload={"n": 2}, options={"timeout": "5s"})
    assert waiting(db) == [(id, "python:other", {"n": 2}, {"timeout": "5s"}, 2)]
    assert value(db, "select fire_at from pgsched.executions") == fires
    assert row(db, "select revision, planned_revision from pgsched.jobs") == (2, 2)


def test_editing_rules_that_do_not_move_instants_keeps_the_waiting_row(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    id = planned(db, job)
    edit(db, job, rules={"on_overlap": "allow", "on_missed": "skip", "pause_after": 3, "delete_after": "30d"})
    assert waiting(db)[0][0] == id
    assert value(db, "select planned_revision = revision from pgsched.jobs") is True


def test_editing_labels_does_not_change_the_revision(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    planned(db, job)
    assert edit(db, job, labels={"team": "payments"}) is True
    assert row(db, "select revision, planned_revision from pgsched.jobs") == (1, 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"every": "30m"},
        {"cron": "@daily"},
        {"anchor": "2026-03-01T09:00:00Z"},
        {"rules": {"exclude": ["2026-12-25"]}},
        {"rules": {"jitter": "5m"}},
        {"rules": {"max_runs": 5}},
    ],
)
def test_editing_the_schedule_deletes_the_waiting_row(db: Connection, changes: dict[str, Any]) -> None:
    job = schedule(db, every="1 hour")
    planned(db, job)
    edit(db, job, **changes)
    assert counts(db) == (0, 1, 0)
    assert row(db, "select state::text, planned_revision < revision from pgsched.jobs") == ("active", True)


def test_editing_the_schedule_holds_a_due_row_for_the_planner(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    id = planned(db, job, ahead="-1 second")
    edit(db, job, every="30m")
    assert row(db, "select status::text, reason from pgsched.status where id = %s", [id]) == ("held", "edited")


def test_editing_the_ordering_key_deletes_the_waiting_row_for_replanning(db: Connection) -> None:
    job = schedule(db, every="1 hour", key="k")
    planned(db, job)
    home = value(db, "select pgsched_internal.partition_of(j) from pgsched.jobs j")
    away = value(
        db,
        "select min(o::text) from generate_series(1, 100) o"
        " where pgsched.partition_for('default', 'default', 'k', o::text) <> %s",
        [home],
    )
    edit(db, job, ordering_key=away)
    assert counts(db) == (0, 1, 0)
    assert value(db, "select planned_revision < revision from pgsched.jobs") is True


def test_an_edit_does_not_change_a_running_execution(db: Connection) -> None:
    job = schedule(db, every="1 hour", payload={"n": 1})
    id = planned(db, job, ahead="-1 second")
    lease(db, id)
    edit(db, job, target="python:other")
    assert status(db, id) == "running"
    assert waiting(db)[0][1:] == (TARGET, None, None, 1)
    assert value(db, "select planned_revision < revision from pgsched.jobs") is True


def test_an_edit_does_not_change_retries_or_triggered_rows(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    retried = planned(db, job)
    db.execute("update pgsched.executions set attempt = 1 where id = %s", [retried])
    call(db, "trigger", job_id=job)
    edit(db, job, target="python:other")
    assert column(db, "select distinct target from pgsched.executions") == [TARGET]


def test_an_edit_does_not_wait_for_a_row_that_a_worker_has_locked(db: Connection, store_url: str) -> None:
    """The worker finds the job at a new revision and leaves its planning to a planner."""
    job = schedule(db, every="1 hour")
    id = planned(db, job, ahead="-1 second")
    with psycopg.connect(store_url) as claimer:
        claimer.execute("update pgsched.executions set lease_token = 1, lease_owner = 1 where id = %s", [id])
        db.execute("set lock_timeout = '5s'")
        assert edit(db, job, target="python:other") is True
        claimer.execute("update pgsched.executions set lease_expires_at = now(), attempt = 1 where id = %s", [id])
        claimer.commit()
    assert row(db, "select status::text, target from pgsched.status") == ("running", TARGET)
    assert row(db, "select revision, planned_revision from pgsched.jobs") == (2, 1)


def test_an_edit_waits_for_a_claim_that_plans_a_successor(db: Connection, store_url: str) -> None:
    """The claim has share-locked the job to plan its successor. The edit waits, then updates the successor too."""
    job = schedule(db, every="1 hour")
    with (
        psycopg.connect(store_url, autocommit=True) as other,
        psycopg.connect(store_url, autocommit=True) as watcher,
        ThreadPoolExecutor() as threads,
    ):
        with db.transaction():
            planned(db, job)
            late = threads.submit(lambda: edit(other, job, target="python:other"))
            wait_until_blocked(watcher, other)
        assert late.result(20) is True
    assert [found[1] for found in waiting(db)] == ["python:other"]
    assert row(db, "select revision, planned_revision from pgsched.jobs") == (2, 2)


def test_an_edit_that_waits_for_a_cancel_is_refused(db: Connection, store_url: str) -> None:
    job = schedule(db, every="1 hour")
    with (
        psycopg.connect(store_url, autocommit=True) as other,
        psycopg.connect(store_url, autocommit=True) as watcher,
        ThreadPoolExecutor() as threads,
    ):
        with db.transaction():
            call(db, "cancel", id=job)
            late = threads.submit(lambda: edit(other, job, target="python:other"))
            wait_until_blocked(watcher, other)
        with refused("PS011", hint="schedule it again"):
            late.result(20)


def test_editing_a_paused_job_leaves_it_paused(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    call(db, "pause", kind="job", name=str(job), note="closed")
    assert edit(db, job, every="30m") is True
    assert row(db, "select state::text, reason from pgsched.jobs") == ("paused", "closed")


@pytest.mark.parametrize("changes", [{"cron": "@hourly"}, {"target": "python:other"}])
def test_editing_an_invalid_job_makes_it_active(db: Connection, changes: dict[str, Any]) -> None:
    job = schedule(db, cron="0 0 30-31 2 *")
    db.execute("update pgsched.jobs set state = 'invalid', reason = 'never occurs', planned_revision = revision")
    edit(db, job, **changes)
    found = row(db, "select state::text, reason, planned_revision < revision from pgsched.jobs")
    assert found == ("active", None, True)


@pytest.mark.parametrize(
    ("changes", "state", "runs"), [({"every": "30m"}, "active", 0), ({"payload": 1}, "finished", 3)]
)
def test_only_a_schedule_edit_makes_a_finished_job_active(
    db: Connection, changes: dict[str, Any], state: str, runs: int
) -> None:
    job = schedule(db, every="1 hour")
    db.execute("update pgsched.jobs set state = 'finished', runs = 3, planned_revision = revision")
    edit(db, job, **changes)
    assert row(db, "select state::text, runs from pgsched.jobs") == (state, runs)


def test_a_cancelled_job_cannot_be_edited(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    call(db, "cancel", id=job)
    with refused("PS011", hint="schedule it again"):
        edit(db, job, every="30m")


def test_an_unknown_job_cannot_be_edited(db: Connection) -> None:
    with refused("PS010", hint="pgsched.jobs"):
        edit(db, UNKNOWN, every="30m")


@pytest.mark.parametrize(
    ("sqlstate", "hint", "changes"),
    [
        ("PS000", "the fields that can be changed are target, payload", {"retries": 3}),
        ("PS000", "schedule another job", {"key": "other"}),
        ("PS000", "schedule another job", {"client": "other"}),
        ("PS000", "in quotes", {"target": None}),
        ("PS000", "in quotes", {"queue": None}),
        ("PS000", "in quotes", {"cron": 5}),
        ("PS000", "labels", {"labels": {"team": 5}}),
        ("PS001", "write one of", {"target": "ftp://shop.example"}),
        ("PS002", "replaces the other", {"cron": "@daily", "every": "1h"}),
        ("PS002", 'to replace "every"', {"every": None}),
        ("PS002", '"15m"', {"every": "soon"}),
        ("PS002", '"15m"', {"every": "1s500"}),
        ("PS002", '"15m"', {"every": 15}),
        ("PS002", "five fields", {"cron": "daily"}),
        ("PS002", "IANA", {"timezone": "Mars/Base"}),
        ("PS002", "shift or skip", {"gap": "jump"}),
        ("PS002", "first, second or both", {"overlap": "third"}),
        ("PS002", 'give "cron"', {"gap": "skip"}),
        ("PS002", "offset", {"anchor": "tomorrow"}),
        ("PS002", "rules are", {"rules": {"jiter": "5m"}}),
        ("PS003", "reference", {"payload": "x" * 1_100_000 + "y"}),
        ("PS004", "the options are", {"options": {"tiemout": "5s"}}),
        ("PS010", "pgsched.queues", {"queue": "nowhere"}),
    ],
    ids=str,
)
def test_an_invalid_edit_is_refused_and_changes_nothing(
    db: Connection, sqlstate: str, hint: str, changes: dict[str, Any]
) -> None:
    if sqlstate == "PS003":  # text that compresses well stays within the limit
        changes = {"payload": value(db, "select string_agg(md5(n::text), '') from generate_series(1, 40000) n")}
    job = schedule(db, every="1 hour")
    before = value(db, "select to_jsonb(j) from pgsched.jobs j")
    with refused(sqlstate, hint=hint):
        edit(db, job, **changes)
    assert value(db, "select to_jsonb(j) from pgsched.jobs j") == before


@pytest.mark.parametrize("changes", [[], "cron", None, 5])
def test_changes_that_are_not_an_object_are_refused(db: Connection, changes: Any) -> None:
    job = schedule(db, every="1 hour")
    with refused("PS000", hint="changes =>"):
        db.execute("select pgsched.edit(%s, %s)", [job, Jsonb(changes)])
