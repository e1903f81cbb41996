"""Dead letters by a filter: counted, replayed at a rate in chunks, cancelled, discarded."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.store.admin.test_roles import acting, login_role
from tests.store.ends.dead_letter_arrange import advance, dead_letter, fail, state
from tests.store.store_arrange import TARGET, Connection, call, column, heard, listening, refused, row, schedule, value

pytestmark = pytest.mark.oldest_postgresql

ALL = {"client": "default"}
MANY = """
insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, status, partition, attempt, client_id,
                             target, status_code, reason)
select now() - interval '1 hour', now(), now(), now(),
       pgsched_internal.new_id(), 'failed', n %% 16, 5, 'default', %s, 503, '503'
  from generate_series(1, %s) n
"""


@pytest.fixture
def payments(db: Connection, store_url: str) -> Iterator[Connection]:
    """A session of the login role that is the client payments."""
    role = login_role(db, "pgsched_client")
    db.execute("insert into pgsched.clients (client_id, database_role) values ('payments', %s)", [role])
    with acting(store_url, role) as session:
        yield session
    db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


def count(db: Connection, filter: dict[str, Any]) -> tuple[int, bool]:
    found = row(db, "select * from pgsched.count_dead_letters(%s)", [Jsonb(filter)])
    return found[0], found[1]


def progress(db: Connection, id: UUID) -> tuple[Any, ...]:
    return row(db, "select state, changed, passed_over from pgsched.bulk_changes where id = %s", [id])


def an_hour_later(db: Connection, id: UUID) -> None:
    db.execute("update pgsched.bulk_changes set paced_until = paced_until - interval '1 hour' where id = %s", [id])


@pytest.mark.parametrize(
    "filter",
    [
        {"client": "payments"},
        {"target": "https://moved.example/"},
        {"host": "MOVED.example"},
        {"key": "k"},
        {"status_code": 404},
        {"reason": "not FOUND"},
        {"from": "2020-01-01T00:00:00Z", "status_code": 404},
        {"to": "2090-01-01T00:00:00Z", "client": "payments", "key": "k"},
    ],
    ids=str,
)
def test_each_filter_names_what_it_says(db: Connection, filter: dict[str, Any]) -> None:
    id = dead_letter(
        db, client="payments", target="https://moved.example/a", key="k", status_code=404, reason="404 Not Found"
    )
    dead_letter(db)
    assert count(db, filter) == (1, True)
    many = call(db, "replay_all", filter=filter)
    assert advance(db, many) == (1, False, True)
    assert state(db, id) == "replayed"


def test_dead_letters_of_a_job_are_found_by_it(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    id = call(db, "trigger", job_id=job)
    fail(db, id)
    dead_letter(db)
    assert count(db, {"job": str(job)}) == (1, True)


@pytest.mark.parametrize("bound", [{"from": "2090-01-01T00:00:00Z"}, {"to": "2020-01-01T00:00:00Z"}])
def test_what_failed_out_of_the_range_is_not_named(db: Connection, bound: dict[str, str]) -> None:
    dead_letter(db)
    assert count(db, bound) == (0, True)


def test_a_replay_of_many_tells_the_workers_and_the_audit_log(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener:
        id = call(db, "replay_all", filter=ALL, rate=2.5, target="python:moved", note="moved", actor="ann")
        assert "bulk" in heard(listener, db)
    assert row(db, "select actor, action, subject, detail from pgsched.audit_log") == (
        "ann",
        "replay all",
        id,
        {"filter": ALL, "rate": 2.5, "target": "python:moved", "note": "moved"},
    )


def test_they_go_to_another_target_where_one_is_given(db: Connection) -> None:
    dead_letter(db)
    advance(db, call(db, "replay_all", filter=ALL, target="https://moved.example/settle"))
    assert column(db, "select target::text from pgsched.executions") == ["https://moved.example/settle"]


def test_rows_fire_apart_by_the_rate_and_no_further_ahead_than_two_seconds(db: Connection) -> None:
    db.execute(MANY, [TARGET, 10])
    id = call(db, "replay_all", filter=ALL, rate=2)
    assert advance(db, id) == (4, False, False)
    assert advance(db, id)[0] == 0
    steps = "select extract(epoch from fire_at - lag(fire_at) over (order by fire_at))::float8 from pgsched.executions"
    assert column(db, steps)[1:] == [0.5] * 3
    an_hour_later(db, id)
    assert advance(db, id)[0] == 4
    an_hour_later(db, id)
    assert advance(db, id) == (2, False, True)
    assert progress(db, id) == ("finished", 10, 0)


def test_a_slow_rate_replays_one_at_a_time(db: Connection) -> None:
    db.execute(MANY, [TARGET, 2])
    id = call(db, "replay_all", filter=ALL, rate=0.1)
    assert [advance(db, id)[0] for _ in range(2)] == [1, 0]


def test_twenty_thousand_are_replayed_once_each_in_small_chunks(db: Connection) -> None:
    db.execute("set pgsched.notify = off")
    db.execute("set enable_seqscan = off")  # as a worker's session has it
    db.execute(MANY, [TARGET, 20_000])
    id = call(db, "replay_all", filter=ALL, rate=5000)
    chunks, finished = list[int](), False
    while not finished:
        replayed, more, finished = advance(db, id)
        chunks.append(replayed)
        if not more:
            an_hour_later(db, id)
    assert max(chunks) == 50
    assert progress(db, id) == ("finished", 20_000, 0)
    found = row(db, "select count(*), count(distinct id) from pgsched.executions")
    assert found == (20_000, 20_000)
    linked = "select count(*) from pgsched.history h join pgsched.executions e on e.id = h.replayed_as"
    assert value(db, linked) == 20_000


def test_what_fails_again_is_not_replayed_again(db: Connection) -> None:
    dead_letter(db)
    id = call(db, "replay_all", filter=ALL, rate=100)
    [new] = column(db, "select id from pgsched.executions") if advance(db, id, most=1)[0] else []
    fail(db, new)
    while not advance(db, id)[2] and progress(db, id)[0] == "active":
        pass
    assert progress(db, id) == ("finished", 1, 0)
    assert state(db, new) == "open"


def test_what_is_under_way_already_is_passed_over(db: Connection) -> None:
    id = dead_letter(db, key="k", ago="25 hours")
    schedule(db, key="k")
    many = call(db, "replay_all", filter=ALL)
    assert advance(db, many) == (0, False, True)
    assert progress(db, many) == ("finished", 0, 1)
    assert state(db, id) == "open"


def test_one_that_cannot_be_scheduled_does_not_stop_the_others(db: Connection) -> None:
    db.execute(MANY, [TARGET, 3])
    db.execute(
        "update pgsched.history set partition = 999 where id = (select min(id::text)::uuid from pgsched.history)"
    )
    id = call(db, "replay_all", filter=ALL)
    assert advance(db, id) == (2, False, True)
    assert progress(db, id) == ("finished", 2, 1)


def test_cancelling_leaves_the_rest_dead(db: Connection) -> None:
    db.execute(MANY, [TARGET, 10])
    id = call(db, "replay_all", filter=ALL, rate=1)
    assert advance(db, id)[0] == 2
    assert [call(db, "cancel_bulk_change", id=id, actor="ann") for _ in range(2)] == [True, False]
    an_hour_later(db, id)
    assert advance(db, id) == (0, False, False)
    assert progress(db, id) == ("cancelled", 2, 0)
    assert count(db, ALL) == (8, True)
    assert column(db, "select action from pgsched.audit_log order by id") == ["replay all", "cancel bulk change"]


def test_many_are_discarded_so_many_at_a_time(db: Connection) -> None:
    db.execute(MANY, [TARGET, 2500])
    dead_letter(db, client="billing")
    query = "select * from pgsched.discard_all(%s, most => 2000, note => 'known', actor => 'ann')"
    assert [row(db, query, [Jsonb(ALL)]) for _ in range(3)] == [(2000, False), (500, True), (0, True)]
    assert count(db, {"client": "billing"}) == (1, True)
    assert column(db, "select detail -> 'discarded' from pgsched.audit_log") == [2000, 500]


def test_counting_stops_when_its_time_is_up(db: Connection) -> None:
    db.execute(MANY, [TARGET, 10_001])
    found = row(db, "select * from pgsched.count_dead_letters(%s, within => '0 s')", [Jsonb(ALL)])
    assert found == (10_000, False)
    assert count(db, ALL) == (10_001, True)


BAD = [
    ({}, "PS000", "at least one"),
    ([], "PS000", "write"),
    ({"clinet": "a"}, "PS000", "the filters are"),
    ({"client": 5}, "PS000", "write"),
    ({"client": ""}, "PS000", "write"),
    ({"host": None}, "PS000", "write"),
    ({"job": "42"}, "PS000", "pgsched.jobs"),
    ({"from": "yesterday"}, "PS002", "2026-03-01T09:00:00Z"),
    ({"to": "2026-03-01T09:00:00"}, "PS002", "2026-03-01T09:00:00Z"),
    ({"status_code": "503"}, "PS000", "503"),
    ({"status_code": 5.5}, "PS000", "503"),
    ({"status_code": 1000}, "PS000", "503"),
]


@pytest.mark.parametrize(("filter", "sqlstate", "hint"), BAD, ids=str)
def test_a_filter_that_cannot_be_meant_is_refused(db: Connection, filter: Any, sqlstate: str, hint: str) -> None:
    dead_letter(db)
    for function in ("count_dead_letters", "replay_all", "discard_all"):
        with refused(sqlstate, hint=hint):
            db.execute(f"select pgsched.{function}(%s)".encode(), [Jsonb(filter)])
    assert count(db, ALL) == (1, True)


@pytest.mark.parametrize("rate", [0, -1, 1e9, float("nan"), None])
def test_a_rate_that_cannot_be_meant_is_refused(db: Connection, rate: float | None) -> None:
    with refused("PS002", hint="such as 10"):
        call(db, "replay_all", filter=ALL, rate=rate)


def test_a_target_that_cannot_be_called_is_refused(db: Connection) -> None:
    with refused("PS001"):
        call(db, "replay_all", filter=ALL, target="moved.example")
    assert column(db, "select id from pgsched.bulk_changes") == []


@pytest.mark.parametrize("most", [0, None, 2_000_000])
def test_how_many_to_discard_is_bounded(db: Connection, most: int | None) -> None:
    with refused("PS000", hint="leave it out"):
        db.execute("select pgsched.discard_all(%s, most => %s)", [Jsonb(ALL), most])


def test_an_unknown_replay_is_not_found(db: Connection) -> None:
    with refused("PS010"):
        call(db, "cancel_bulk_change", id=uuid4())


def test_a_client_replays_and_discards_none_but_its_own(db: Connection, payments: Connection) -> None:
    mine, theirs = dead_letter(db, client="payments"), dead_letter(db, client="billing")
    id = call(payments, "replay_all", filter={"host": "shop.example"})
    assert column(payments, "select id from pgsched.bulk_changes") == [id]
    advance(db, id)
    assert (state(db, mine), state(db, theirs)) == ("replayed", "open")
    assert row(payments, "select * from pgsched.discard_all(%s)", [Jsonb({"host": "shop.example"})]) == (0, True)
    assert count(payments, {"host": "shop.example"}) == (0, True)
    assert call(payments, "cancel_bulk_change", id=id) is False


def test_a_client_reaches_no_replay_of_others(db: Connection, payments: Connection) -> None:
    dead_letter(db, client="billing")
    with refused("PS012", hint="act as a role"):
        call(payments, "replay_all", filter={"client": "billing"})
    id = call(db, "replay_all", filter={"client": "billing"})
    assert column(payments, "select id from pgsched.bulk_changes") == []
    with refused("PS010"):
        call(payments, "cancel_bulk_change", id=id)
    with refused("42501"):
        payments.execute("select pgsched_internal.advance_bulk_change(%s, 1)", [id])
