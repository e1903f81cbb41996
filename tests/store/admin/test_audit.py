"""Audit log entries say who did what, and are deleted after ``audit_days``."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pytest

from pgsched.store.admin import expired_rows
from pgsched.store.core import connect
from pgsched.store.core.connect import Link
from pgsched.telemetry import Events
from pgsched.upkeep.retention import Retention
from tests.store.store_arrange import TARGET, Connection, call, column, refused, row, schedule, value

Verb = Callable[..., Any]

VERBS: dict[str, tuple[str, dict[str, Any]]] = {
    "pause": ("name", {"kind": "job", "note": "stocktaking"}),
    "cancel": ("id", {"note": "stocktaking"}),
    "trigger": ("job_id", {}),
    "edit": ("id", {"changes": {"target": "python:other"}}),
}


def logged(db: Connection) -> list[tuple[str, str, UUID]]:
    return [
        tuple(found)
        for found in db.execute(
            "select actor, action, subject from pgsched.audit_log where action <> 'insert' order by id"
        )
    ]


@pytest.fixture(autouse=True)
def _nothing_logged(db: Connection) -> None:
    db.execute("delete from pgsched.audit_log")


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_logs_the_given_actor(db: Connection, verb: str) -> None:
    job = schedule(db, every="1 hour")
    name, arguments = VERBS[verb]
    call(db, verb, **{name: str(job)}, actor="ann", **arguments)
    assert logged(db) == [("ann", verb, job)]


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_logs_the_current_role_if_no_actor_is_given(db: Connection, verb: str) -> None:
    job = schedule(db, every="1 hour")
    name, arguments = VERBS[verb]
    call(db, verb, **{name: str(job)}, **arguments)
    assert logged(db) == [(value(db, "select current_user::text"), verb, job)]


def test_the_role_from_set_role_is_logged_instead_of_the_login(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    with db.transaction():
        db.execute("set local role pgsched_worker")
        call(db, "pause", kind="job", name=str(job))
    assert column(db, "select actor from pgsched.audit_log where action = 'pause'") == ["pgsched_worker"]


def test_resuming_logs_the_note(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    call(db, "pause", kind="job", name=str(job))
    call(db, "resume", kind="job", name=str(job), note="open again", actor="ann")
    found = row(db, "select actor, detail from pgsched.audit_log where action = 'resume'")
    assert found == ("ann", {"note": "open again"})


def test_rescheduling_logs_the_old_and_new_fire_times(db: Connection) -> None:
    id = schedule(db, fire_at="2030-01-01Z")
    call(db, "edit", id=id, changes={"fire_at": "2040-01-01T00:00:00Z"}, actor="ann")
    actor, action, before, after = row(db, "select actor, action, before, after from pgsched.audit_log")
    assert (actor, action) == ("ann", "edit")
    assert (before["fire_at"][:4], after["fire_at"][:4]) == ("2030", "2040")


def test_cancelling_by_key_is_logged(db: Connection) -> None:
    id = schedule(db, key="k")
    call(db, "cancel", client="default", key="k", actor="ann")
    assert logged(db) == [("ann", "cancel", id)]


def test_no_ops_are_not_logged(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    call(db, "resume", kind="job", name=str(job))
    call(db, "edit", id=job, changes={"target": TARGET})
    for _ in range(2):
        call(db, "pause", kind="job", name=str(job))
    for _ in range(2):
        call(db, "cancel", id=job)
    assert [action for _, action, _ in logged(db)] == ["pause", "cancel"]


def test_a_rolled_back_action_is_not_logged(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    with db.transaction(force_rollback=True):
        call(db, "pause", kind="job", name=str(job))
    assert logged(db) == []


@pytest.mark.parametrize("actor", ["", "x" * 201])
def test_an_empty_or_overlong_actor_is_refused(db: Connection, actor: str) -> None:
    job = schedule(db, every="1 hour")
    with refused("PS000", hint="leave it out"):
        call(db, "pause", kind="job", name=str(job), actor=actor)
    assert value(db, "select state::text from pgsched.jobs") == "active"


def wrote(db: Connection, *, days: Sequence[int]) -> None:
    """Writes one log row for each age in days, the oldest row first."""
    db.execute(
        "insert into pgsched.audit_log (at, actor, action) select now() - days * interval '1 day', 'ann', days::text"
        " from unnest(%s::int[]) days order by days desc",
        [list(days)],
    )


@pytest.mark.parametrize(("kept", "left"), [(400, ["399", "1"]), (365, ["1"]), (0, ["900", "401", "401", "399", "1"])])
async def test_audit_entries_older_than_the_audit_days_setting_are_deleted(
    db: Connection, store_url: str, kept: int, left: list[str]
) -> None:
    db.execute("update pgsched.installation set audit_days = %s", [kept])
    db.execute("delete from pgsched.audit_log")  # the update above is logged
    wrote(db, days=[900, 401, 401, 399, 1])
    seen: list[tuple[str, dict[str, Any]]] = []
    link = Link(store_url, "chores", raw=False)
    events = Events(lambda event, fields: seen.append((event, fields)))
    await Retention(link, events, batch=2).turn()
    await link.drop()
    assert column(db, "select action from pgsched.audit_log order by id") == left
    db.execute("update pgsched.installation set audit_days = default")
    assert [fields["rows"] for event, fields in seen if event == "audit.deleted"] == [5 - len(left)] * (kept > 0)


async def test_old_audit_entries_are_deleted_in_batches(db: Connection, worker: connect.Connection) -> None:
    wrote(db, days=[500, 501, 502])
    assert await expired_rows.delete_audit(worker, kept=400, most=2) == 2
    assert column(db, "select action from pgsched.audit_log") == ["500"]
