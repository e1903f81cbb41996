"""Executions cancelled and rescheduled many at once: counted, done at a rate in chunks, stopped; never another's."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.store.admin.test_roles import acting, login_role
from tests.store.ends.dead_letter_arrange import advance
from tests.store.ends.dependency_arrange import after
from tests.store.pull.pull_arrange import pulled_queue
from tests.store.store_arrange import (
    TARGET,
    Connection,
    call,
    column,
    heard,
    lease,
    listening,
    planned,
    refused,
    row,
    schedule,
    status,
    value,
)

pytestmark = pytest.mark.oldest_postgresql

MINE = {"client": "shop"}
AT = datetime(2040, 3, 1, 9, tzinfo=UTC)
MANY = """
insert into pgsched.executions (client_id, target, fire_at, labels)
select 'shop', 'notify:a', '2035-01-01Z', case when n % 10 = 0 then '{"team": "mail"}'::jsonb end
  from generate_series(1, %s) n""".replace("% 10", "%% 10")


@pytest.fixture
def payments(db: Connection, store_url: str) -> Iterator[Connection]:
    """A session of the login role that is the client payments."""
    role = login_role(db, "pgsched_client")
    db.execute("insert into pgsched.clients (client_id, database_role) values ('payments', %s)", [role])
    with acting(store_url, role) as session:
        yield session
    db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


def count(db: Connection, filter: dict[str, Any]) -> tuple[int, bool]:
    found = row(db, "select * from pgsched.count_executions(%s)", [Jsonb(filter)])
    return found[0], found[1]


def progress(db: Connection, id: UUID) -> tuple[Any, ...]:
    return row(db, "select state, changed, passed_over from pgsched.bulk_changes where id = %s", [id])


def carry_out(db: Connection, id: UUID, *, most: int = 50) -> tuple[int, int]:
    """Turns until it has ended, however fast it may go: how many were changed, and how many turns that took."""
    changed, turns, finished = 0, 0, False
    while not finished:
        done, _, finished = advance(db, id, most=most)
        changed, turns = changed + done, turns + 1
        db.execute("update pgsched.bulk_changes set paced_until = paced_until - interval '1 hour' where id = %s", [id])
    return changed, turns


def one(db: Connection, **given: Any) -> UUID:
    return schedule(db, **{"client": "shop", "fire_at": "2035-01-01Z", **given})


def each_of_a_kind(db: Connection) -> dict[str, UUID]:
    """Executions of a client, each told from the others by something that a filter names."""
    pulled_queue(db)
    found = {
        "a key": one(db, key="k"),
        "a host": one(db, target="https://Other.example/x"),
        "labels": one(db, labels={"team": "mail", "campaign": "spring"}),
        "a queue": one(db, target="queue:", queue="orders"),
        "an instant": one(db, fire_at="2036-06-01Z"),
        "another client": one(db, client="other", fire_at="2034-01-01Z"),
        "held": one(db),
        "retrying": one(db),
        "running": one(db),
    }
    job = schedule(db, every="1 hour", client="shop")
    found["a job"] = planned(db, job)
    db.execute("update pgsched.executions set fire_at = 'infinity', scheduled_for = fire_at where id = %s",
               [found["held"]])  # fmt: skip
    db.execute("update pgsched.executions set attempt = 1 where id = %s", [found["retrying"]])
    lease(db, found["running"])
    return found


FILTERS: dict[str, dict[str, Any]] = {
    "a key": {"key": "k"},
    "a host": {"host": "OTHER.example"},
    "labels": {"labels": {"campaign": "spring"}},
    "a queue": {"queue": "orders"},
    "an instant": {"client": "shop", "from": "2036-01-01T00:00:00Z", "to": "2037-01-01T00:00:00Z"},
    "another client": {"client": "other"},
    "held": {"client": "shop", "status": "held"},
    "retrying": {"client": "shop", "status": ["retrying"]},
    "running": {"client": "shop", "status": ["running"]},
}


@pytest.mark.parametrize("kind", FILTERS)
def test_what_a_filter_names_is_counted_and_cancelled_and_nothing_else(db: Connection, kind: str) -> None:
    ids = each_of_a_kind(db)
    assert count(db, FILTERS[kind]) == (1, True)
    asked = call(db, "cancel_executions", filter=FILTERS[kind], note="taken back")
    assert carry_out(db, asked)[0] == 1
    assert progress(db, asked) == ("finished", 1, 0)
    assert {name for name, id in ids.items() if status(db, id) == "cancelled"} == {kind}
    assert value(db, "select reason from pgsched.history") == "taken back"


def test_a_job_names_its_runs_and_goes_on(db: Connection) -> None:
    job = schedule(db, every="1 hour", client="shop")
    run = planned(db, job)
    assert carry_out(db, call(db, "cancel_executions", filter={"job": str(job)}))[0] == 1
    assert status(db, run) == "cancelled"
    assert row(db, "select state::text, planned_revision from pgsched.jobs") == ("active", 0)


def test_what_runs_is_ended_by_its_worker(db: Connection, store_url: str) -> None:
    id = one(db)
    lease(db, id)
    asked = call(db, "cancel_executions", filter=MINE)
    with listening(store_url) as listener:
        carry_out(db, asked)
        assert f"stop {id}" in heard(listener, db)


@pytest.mark.parametrize("given", [{"fire_at": AT}, {"shift": "1 hour"}, {"shift": "-1 hour"}])
def test_what_waits_is_moved_and_what_runs_or_is_a_jobs_stays(db: Connection, given: dict[str, Any]) -> None:
    ids = each_of_a_kind(db)
    before: dict[Any, Any] = dict(
        db.execute("select id, coalesce(scheduled_for, fire_at) from pgsched.executions").fetchall()
    )
    asked = call(db, "reschedule_executions", filter=MINE, **given)
    assert carry_out(db, asked)[0] == 7
    assert progress(db, asked) == ("finished", 7, 2)
    later: dict[Any, Any] = dict(db.execute("select id, fire_at from pgsched.executions").fetchall())
    for name, id in ids.items():
        if name in ("running", "a job", "another client"):
            assert later[id] == before[id]
        elif "fire_at" in given:
            assert later[id] == AT
        else:
            assert abs((later[id] - before[id]).total_seconds()) == 3600


def test_what_waits_for_another_is_moved_and_waits_no_more(db: Connection) -> None:
    id = after(db, one(db), client="shop")
    carry_out(db, call(db, "reschedule_executions", filter={"client": "shop", "status": "held"}, fire_at=AT))
    assert value(db, "select fire_at from pgsched.executions where id = %s", [id]) == AT
    assert column(db, "select after_id from pgsched.dependencies") == []


def test_what_is_scheduled_later_is_not_meant(db: Connection) -> None:
    one(db)
    asked = call(db, "cancel_executions", filter=MINE)
    later = one(db)
    assert carry_out(db, asked)[0] == 1
    assert status(db, later) == "scheduled"


def test_a_filter_that_names_nothing_ends_at_once(db: Connection) -> None:
    one(db)
    for filter in ({"client": "nobody"}, {"queue": "nowhere"}, {"client": "shop", "status": []}):
        assert count(db, filter) == (0, True)
        asked = call(db, "cancel_executions", filter=filter)
        assert carry_out(db, asked)[1] <= value(db, "select 16 * count(*) from pgsched.queues")
        assert progress(db, asked) == ("finished", 0, 0)


def test_many_are_changed_once_each_in_small_chunks(db: Connection) -> None:
    db.execute("set pgsched.notify = off")
    db.execute(MANY, [5_000])
    assert count(db, {"labels": {"team": "mail"}}) == (500, True)
    some = call(db, "cancel_executions", filter={"labels": {"team": "mail"}}, rate=100_000)
    assert carry_out(db, some)[0] == 500
    asked = call(db, "reschedule_executions", filter=MINE, shift="1 hour", rate=100_000)
    changed, turns = carry_out(db, asked, most=250)
    assert (changed, turns <= 60) == (4_500, True)
    assert column(db, "select distinct fire_at = '2035-01-01 01:00Z' from pgsched.executions") == [True]
    assert column(db, "select count(*) from pgsched.history") == [500]


def test_no_more_is_done_than_the_rate_allows(db: Connection) -> None:
    db.execute(MANY, [100])
    asked = call(db, "cancel_executions", filter=MINE, rate=10)
    done = sum(advance(db, asked)[0] for _ in range(40))
    assert 20 <= done < 100
    assert progress(db, asked)[0] == "active"
    assert call(db, "cancel_bulk_change", id=asked, actor="ann") is True
    assert call(db, "cancel_bulk_change", id=asked) is False
    assert advance(db, asked) == (0, False, False)
    assert value(db, "select count(*) from pgsched.executions") == 100 - done


def test_what_somebody_has_locked_is_come_back_to(db: Connection, store_url: str) -> None:
    locked, free = one(db), one(db)
    asked = call(db, "cancel_executions", filter=MINE)
    with psycopg.connect(store_url) as other:
        other.execute("select from pgsched.executions where id = %s for update", [locked])
        for _ in range(20):
            advance(db, asked)
        assert (status(db, free), status(db, locked)) == ("cancelled", "scheduled")
        assert progress(db, asked) == ("active", 1, 0)
        assert "open" in value(db, "select reason from pgsched.bulk_changes")
        other.rollback()
    assert carry_out(db, asked)[0] == 1
    assert status(db, locked) == "cancelled"
    assert column(db, "select id from pgsched_internal.rows_to_come_back_to") == []


def test_what_is_claimed_meanwhile_is_not_moved_and_is_cancelled(db: Connection, store_url: str) -> None:
    id = one(db)
    moved = call(db, "reschedule_executions", filter=MINE, fire_at=AT)
    with psycopg.connect(store_url) as worker:
        lease(worker, id)
        for _ in range(20):
            advance(db, moved)
        assert progress(db, moved) == ("active", 0, 0)
        worker.commit()
    assert carry_out(db, moved)[0] == 0
    assert progress(db, moved) == ("finished", 0, 1)
    assert carry_out(db, call(db, "cancel_executions", filter=MINE))[0] == 1
    assert status(db, id) == "cancelled"


def test_what_the_filter_does_not_name_any_more_is_passed_over(db: Connection, store_url: str) -> None:
    id = one(db, labels={"team": "mail"})
    asked = call(db, "cancel_executions", filter={"labels": {"team": "mail"}})
    with psycopg.connect(store_url) as other:
        call(other, "edit", id=id, changes={"labels": {"team": "sales"}})
        for _ in range(20):
            advance(db, asked)
        assert progress(db, asked) == ("active", 0, 0)
        other.commit()
    carry_out(db, asked)
    assert (progress(db, asked), status(db, id)) == (("finished", 0, 1), "scheduled")


def test_one_that_cannot_be_moved_is_passed_over(db: Connection) -> None:
    far, near = one(db, fire_at="9999-06-01Z"), one(db)
    asked = call(db, "reschedule_executions", filter=MINE, shift="3653 days")
    assert carry_out(db, asked)[0] == 1
    assert progress(db, asked) == ("finished", 1, 1)
    assert value(db, "select fire_at = '9999-06-01Z' from pgsched.executions where id = %s", [far])
    assert value(db, "select fire_at > '2044-01-01Z' from pgsched.executions where id = %s", [near])


def test_a_change_tells_the_workers_and_the_audit_log(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener:
        id = call(db, "cancel_executions", filter=MINE, rate=2.5, note="moved", actor="ann")
        assert heard(listener, db) == ["bulk"]
    found = row(db, "select actor, action, subject, kind, detail from pgsched.audit_log")
    assert found == ("ann", "cancel executions", id, "bulk change", {"filter": MINE, "rate": 2.5, "note": "moved"})


@pytest.mark.parametrize(
    ("sqlstate", "filter"),
    [
        ("PS000", {}),
        ("PS000", {"status": "scheduled"}),
        ("PS000", {"labels": {}}),
        ("PS000", {"client": "shop", "status": "failed"}),
        ("PS000", {"client": "shop", "status": ["held", 5]}),
        ("PS000", {"client": "shop", "status": None}),
        ("PS000", {"client": None}),
        ("PS000", {"client": ""}),
        ("PS000", {"clinet": "shop"}),
        ("PS000", {"reason": "timeout"}),
        ("PS000", {"job": "42"}),
        ("PS000", {"labels": {"team": 5}}),
        ("PS000", {"host": "x" * 20_000}),
        ("PS000", []),
        ("PS000", "shop"),
        ("PS002", {"from": "yesterday"}),
        ("PS002", {"client": "shop", "to": "2030-01-01T00:00:00"}),
    ],
    ids=lambda given: str(given)[:40],
)
def test_a_filter_that_cannot_be_meant_is_refused(db: Connection, sqlstate: str, filter: Any) -> None:
    one(db)
    for verb, more in (("count", {}), ("cancel", {}), ("reschedule", {"fire_at": AT})):
        with refused(sqlstate):
            call(db, f"{verb}_executions", filter=Jsonb(filter), **more)
    assert column(db, "select id from pgsched.bulk_changes") == []


@pytest.mark.parametrize("rate", [0, -1, 1e9, float("nan"), None])
def test_a_rate_that_cannot_be_meant_is_refused(db: Connection, rate: float | None) -> None:
    with refused("PS002", hint="such as 10"):
        call(db, "cancel_executions", filter=MINE, rate=rate)


@pytest.mark.parametrize(
    "given", [{}, {"fire_at": AT, "shift": "1 hour"}, {"fire_at": "infinity"}, {"shift": "4000 days"}]
)
def test_when_they_shall_fire_is_said_once(db: Connection, given: dict[str, Any]) -> None:
    with refused("PS002", hint="give"):
        call(db, "reschedule_executions", filter=MINE, **given)


def test_no_more_than_a_hundred_are_under_way_for_the_same_clients(db: Connection, payments: Connection) -> None:
    ids = [call(payments, "cancel_executions", filter={"key": "k"}) for _ in range(100)]
    with refused("PS011", hint="wait until one"):
        call(payments, "reschedule_executions", filter={"key": "k"}, fire_at=AT)
    call(db, "cancel_executions", filter={"key": "k"})
    call(payments, "cancel_bulk_change", id=ids[0])
    call(payments, "replay_all", filter={"key": "k"})


def test_an_unknown_change_is_not_found(db: Connection) -> None:
    with refused("PS010"):
        call(db, "cancel_bulk_change", id=uuid4())


def test_a_client_counts_changes_and_stops_none_but_its_own(db: Connection, payments: Connection) -> None:
    mine, theirs = one(db, client="payments"), one(db)
    both = {"from": "2020-01-01T00:00:00Z"}
    assert count(payments, both) == (1, True)
    id = call(payments, "cancel_executions", filter=both)
    assert column(payments, "select id from pgsched.bulk_changes") == [id]
    carry_out(db, id)
    assert (status(db, mine), status(db, theirs)) == ("cancelled", "scheduled")
    with refused("PS012", hint="act as a role"):
        call(payments, "cancel_executions", filter=MINE)
    with refused("PS012", hint="act as a role"):
        call(payments, "reschedule_executions", filter=MINE, fire_at=AT)
    other = call(db, "cancel_executions", filter=MINE)
    assert column(payments, "select id from pgsched.bulk_changes") == [id]
    with refused("PS010"):
        call(payments, "cancel_bulk_change", id=other)


@pytest.mark.parametrize("verb", ["cancel_executions", "reschedule_executions", "replay_all"])
def test_a_login_of_no_client_asks_for_no_change(db: Connection, payments: Connection, verb: str) -> None:
    db.execute("update pgsched.clients set database_role = null")
    with refused("PS012", hint="database_role"):
        call(payments, verb, filter={"key": "k"}, **({"fire_at": AT} if verb == "reschedule_executions" else {}))


def test_counting_leaves_no_lock_on_what_was_looked_through(db: Connection, payments: Connection) -> None:
    one(db, client="payments", target=TARGET)
    payments.execute("begin")
    assert count(payments, {"client": "payments"}) == (1, True)
    held = value(
        db,
        "select count(*) from pg_locks l join pg_class c on c.oid = l.relation"
        " where l.pid = %s and c.relname like 'executions%%'",
        [payments.info.backend_pid],
    )
    payments.execute("rollback")
    assert held == 0
