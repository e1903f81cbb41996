"""pgsched.edit of executions: what can be changed before an execution begins, and what afterwards."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.store.ends.dependency_arrange import after
from tests.store.store_arrange import (
    TARGET,
    Connection,
    acting,
    call,
    finish,
    heard,
    lease,
    listening,
    login_role,
    planned,
    refused,
    row,
    schedule,
    value,
    wait_until_blocked,
)

pytestmark = pytest.mark.oldest_postgresql

AT = "2040-03-01T09:00:00+00:00"
CONTENT = "select target, payload, options, labels, fire_at = %s::timestamptz from pgsched.executions where id = %s"
ALL = {
    "target": "python:other",
    "payload": {"n": 2},
    "options": {"timeout": "7s"},
    "labels": {"team": "sales"},
    "fire_at": AT,
}


def edit(db: Connection, id: Any, changes: Any, **said: Any) -> Any:
    return call(db, "edit", id=id, changes=Jsonb(changes), **said)


def content(db: Connection, id: Any) -> tuple[Any, ...]:
    return row(db, CONTENT, [AT, id])


def one(db: Connection, **more: Any) -> Any:
    given = {"payload": {"n": 1}, "options": {"timeout": "5s"}, "labels": {"team": "mail"}, "fire_at": AT}
    return schedule(db, **given | more)


@pytest.mark.parametrize("name", ALL)
def test_an_edit_changes_only_the_given_field(db: Connection, name: str) -> None:
    id = one(db, fire_at="2035-01-01Z")
    before = dict(zip(ALL, content(db, id), strict=True))
    assert edit(db, id, {name: ALL[name]}) is True
    assert dict(zip(ALL, content(db, id), strict=True)) == before | {name: True if name == "fire_at" else ALL[name]}
    assert edit(db, id, {name: ALL[name]}) is False


def test_editing_an_optional_field_to_null_removes_it(db: Connection) -> None:
    id = one(db)
    assert edit(db, id, {"payload": None, "options": None, "labels": None}) is True
    assert content(db, id) == (TARGET, None, None, None, True)
    assert edit(db, id, {}) is False


def test_an_execution_can_be_edited_by_client_and_key(db: Connection) -> None:
    id = one(db, client="shop", key="k")
    other = one(db, client="default", key="k")
    assert call(db, "edit", client="shop", key="k", changes={"payload": {"n": 3}}) is True
    assert (content(db, id)[1], content(db, other)[1]) == ({"n": 3}, {"n": 1})


def test_an_edits_audit_entry_has_no_payload_or_header_values(db: Connection) -> None:
    id = one(db, options={"headers": {"X-Token": "hush"}}, payload={"password": "hush"})
    edit(db, id, {"payload": {"password": "new"}, "options": None, "fire_at": "2041-01-01T00:00:00Z", "target": TARGET},
         note="see 42", actor="ann")  # fmt: skip
    actor, action, subject, before, later, detail = row(
        db, "select actor, action, subject, before, after, detail from pgsched.audit_log"
    )
    assert (actor, action, subject, detail) == ("ann", "edit", id, {"note": "see 42"})
    assert before.keys() == later.keys() == {"payload", "options", "fire_at"}
    assert before["fire_at"].startswith("2040-03-01")
    assert "hush" not in str(before) + str(later)


def test_an_edit_that_changes_nothing_is_not_audited(db: Connection) -> None:
    edit(db, one(db), {"payload": {"n": 1}, "fire_at": AT})
    assert value(db, "select count(*) from pgsched.audit_log") == 0


BEFORE: dict[str, Callable[[Connection, Any], Any]] = {
    "will be retried": lambda db, id: db.execute("update pgsched.executions set attempt = 1"),
    "has begun before": lambda db, id: db.execute("update pgsched.executions set losses = 1"),  # with a lost worker
}
OVER: dict[str, Callable[[Connection, Any], Any]] = {
    "running": lambda db, id: lease(db, id),
    "has ended": lambda db, id: finish(db, id),
}
BEGUN = [(state, changes) for state in BEFORE for changes in (ALL, {"labels": None})] + [
    (state, changes) for state in OVER for changes in (ALL, {"fire_at": AT}, {"labels": None}, {})
]


@pytest.mark.parametrize(("state", "changes"), BEGUN)
def test_an_execution_that_has_begun_or_ended_cannot_be_edited(db: Connection, state: str, changes: Any) -> None:
    id = one(db, key="k")
    (BEFORE | OVER)[state](db, id)
    before = row(db, "select to_jsonb(s) from pgsched.status s")
    with refused("PS011"):
        edit(db, id, changes)
    with refused("PS011"):
        call(db, "edit", client="default", key="k", changes=changes)
    assert row(db, "select to_jsonb(s) from pgsched.status s") == before


@pytest.mark.parametrize("state", BEFORE)
def test_an_execution_waiting_for_a_retry_can_be_rescheduled(db: Connection, state: str) -> None:
    id = one(db, key="k")
    BEFORE[state](db, id)
    assert edit(db, id, {}) is False
    assert edit(db, id, {"fire_at": "2041-01-01T00:00:00Z"}) is True
    assert value(db, "select fire_at = '2041-01-01Z' from pgsched.executions")


@pytest.mark.parametrize("changes", [{"payload": 1}, {"fire_at": AT}])
def test_a_jobs_run_can_be_neither_edited_nor_rescheduled(db: Connection, changes: Any) -> None:
    job = schedule(db, every="1 hour", key="j")
    with refused("PS011", hint="edit the job, or trigger it"):
        edit(db, planned(db, job), changes)


def test_a_job_can_be_edited_by_key_but_cannot_be_given_a_fire_at(db: Connection) -> None:
    schedule(db, every="1 hour", key="j")
    with refused("PS000", hint="every"):
        call(db, "edit", client="default", key="j", changes={"fire_at": AT})
    assert call(db, "edit", client="default", key="j", changes={"every": "2h"}, note="fewer")
    assert value(db, "select detail ->> 'note' from pgsched.audit_log where action = 'edit'") == "fewer"


@pytest.mark.parametrize("function", ["cancel", "edit", "status_of"])
def test_an_execution_is_given_by_id_alone_or_by_client_and_key(db: Connection, function: str) -> None:
    id = one(db, key="k")
    for names in (
        {"client": "default"},
        {"key": "k"},
        {"id": id, "key": "k", "client": "default"},
        {"id": id, "client": "default"},
    ):
        with refused("PS000", hint="either id, or client and key"):
            call(db, function, **names)


@pytest.mark.parametrize(
    ("sqlstate", "changes"),
    [
        ("PS000", []),
        ("PS000", None),
        ("PS000", {"queue": "default"}),
        ("PS000", {"key": "k"}),
        ("PS000", {"payloads": 1}),
        ("PS000", {"lease_token": 1}),
        ("PS000", {"target": None}),
        ("PS000", {"target": 5}),
        ("PS001", {"target": "ftp://shop.example"}),
        ("PS001", {"target": "queue:"}),
        ("PS002", {"fire_at": None}),
        ("PS002", {"fire_at": "tomorrow"}),
        ("PS002", {"fire_at": "infinity"}),
        ("PS002", {"fire_at": "-infinity"}),
        ("PS002", {"fire_at": "0044-03-15 BC"}),
        ("PS002", {"fire_at": "2040-03-01T09:00:00"}),
        ("PS002", {"fire_at": 5}),
        ("PS003", {"payload": "x" * 1_100_000}),
        ("PS004", {"options": {"retries": 3}}),
        ("PS004", {"options": "fast"}),
        ("PS000", {"labels": {"team": 5}}),
        ("PS000", {"payload": {"n": 2}, "labels": []}),
    ],
)
def test_an_invalid_edit_is_refused_and_changes_nothing(db: Connection, sqlstate: str, changes: Any) -> None:
    id = one(db)
    before = content(db, id)
    with refused(sqlstate):
        edit(db, id, changes)
    assert content(db, id) == before


def test_an_unknown_id_or_key_is_not_found(db: Connection) -> None:
    with refused("PS010"):
        edit(db, "00000000-0000-7000-8000-000000000000", {"payload": 1})
    with refused("PS010"):
        call(db, "edit", client="default", key="nothing", changes={"payload": 1})


def test_a_client_can_edit_only_its_own_executions(db: Connection, store_url: str) -> None:
    role = login_role(db, "pgsched_client")
    db.execute("insert into pgsched.clients (client_id, database_role) values ('payments', %s)", [role])
    mine, theirs = one(db, client="payments"), one(db, client="shop", key="k")
    with acting(store_url, role) as session:
        assert edit(session, mine, {"payload": 5}) is True
        with refused("PS010"):
            edit(session, theirs, {"payload": 5})
        with refused("PS012"):
            call(session, "edit", client="shop", key="k", changes={"payload": 5})
    assert content(db, theirs)[1] == {"n": 1}
    db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


def test_an_edit_to_a_target_outside_the_clients_channels_is_refused(db: Connection) -> None:
    id = one(db, client="shop")
    call(db, "set_client", client="shop", changes=Jsonb({"channels": ["http"]}))
    with refused("PS012"):
        edit(db, id, {"target": "python:other"})
    assert edit(db, id, {"payload": 5}) is True


def test_rescheduling_an_execution_to_now_wakes_workers(db: Connection, store_url: str) -> None:
    id = one(db)
    with listening(store_url) as listener:
        edit(db, id, {"payload": 5})
        assert heard(listener, db) == []
        edit(db, id, {"fire_at": "2026-01-01T00:00:00Z"})
        partition = value(db, "select partition from pgsched.executions")
        assert [said.partition("@")[0] for said in heard(listener, db)] == [str(partition)]


@pytest.mark.parametrize(
    ("gate", "changes", "stays"),
    [
        ("host:shop.example", {"target": "https://other.example/x"}, False),
        ("key:default/a", {"options": {"limit_key": "b"}}, False),
        ("host:shop.example", {"payload": 5}, True),
        ("order", {"target": "https://other.example/x"}, True),
        ("host:shop.example", {"fire_at": AT, "payload": 5}, True),
        ("host:shop.example", {"fire_at": AT}, False),
        ("order", {"fire_at": "2041-01-01T00:00:00Z"}, False),
    ],
)
def test_an_edit_keeps_only_a_gate_that_still_applies(db: Connection, gate: str, changes: Any, stays: bool) -> None:
    id = one(db)
    db.execute("update pgsched.executions set scheduled_for = fire_at, fire_at = 'infinity', gate = %s", [gate])
    edit(db, id, changes)
    held, moved = row(db, "select gate, coalesce(fire_at, 'infinity') = %s from pgsched.executions", [AT])
    assert held == (gate if stays else None)
    assert moved is (not stays and changes.get("fire_at", AT) == AT)
    assert (value(db, "select isfinite(fire_at) from pgsched.executions where id = %s", [id])) is not stays


def test_editing_a_dependent_keeps_it_waiting_unless_its_fire_at_is_set(db: Connection) -> None:
    id = after(db, schedule(db))
    edit(db, id, {"target": "python:other", "options": {"timeout": "7s"}})
    assert value(db, "select fire_at = 'infinity' from pgsched.executions where id = %s", [id])
    assert value(db, "select count(*) from pgsched.dependencies") == 1
    edit(db, id, {"fire_at": AT})
    assert content(db, id)[4] is True
    assert value(db, "select count(*) from pgsched.dependencies") == 0


@pytest.mark.parametrize("claimed", [True, False])
def test_an_edit_waits_for_a_claim_and_is_refused_if_the_claim_commits(
    db: Connection, store_url: str, claimed: bool
) -> None:
    id = one(db)
    with psycopg.connect(store_url) as worker, psycopg.connect(store_url) as other, ThreadPoolExecutor(1) as threads:
        lease(worker, id)
        waiting = threads.submit(lambda: edit(other, id, {"payload": {"n": 2}}))
        wait_until_blocked(db, other)
        (worker.commit if claimed else worker.rollback)()
        if claimed:
            with refused("PS011", hint="only a waiting execution"):
                waiting.result(20)
        else:
            assert waiting.result(20) is True
        other.rollback() if claimed else other.commit()
    assert content(db, id)[1] == ({"n": 1} if claimed else {"n": 2})
