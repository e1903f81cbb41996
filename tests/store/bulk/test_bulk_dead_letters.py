"""Dead letters in bulk: counted by a filter, replayed in chunks at a rate, stopped, discarded."""

from typing import Any

import pytest

from tests.store.bulk.bulk_arrange import advance, an_hour_later, bulk, carry_out, count, progress
from tests.store.ends.dead_letter_arrange import dead_letter, fail, state
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
def test_each_filter_selects_only_matching_dead_letters(db: Connection, filter: dict[str, Any]) -> None:
    id = dead_letter(
        db, client="payments", target="https://moved.example/a", key="k", status_code=404, reason="404 Not Found"
    )
    dead_letter(db)
    assert count(db, "replay", filter) == (1, True)
    many = bulk(db, "replay", filter)
    assert advance(db, many) == (1, False, True)
    assert state(db, id) == "replayed"


def test_the_job_filter_selects_only_the_jobs_dead_letters(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    id = call(db, "trigger", job_id=job)
    fail(db, id)
    dead_letter(db)
    assert count(db, "replay", {"job": str(job)}) == (1, True)


@pytest.mark.parametrize("bound", [{"from": "2090-01-01T00:00:00Z"}, {"to": "2020-01-01T00:00:00Z"}])
def test_a_time_range_excludes_earlier_and_later_failures(db: Connection, bound: dict[str, str]) -> None:
    dead_letter(db)
    assert count(db, "replay", bound) == (0, True)


def test_a_bulk_replay_notifies_workers_and_is_logged(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener:
        id = bulk(db, "replay", ALL, rate=2.5, target="python:moved", note="moved", actor="ann")
        assert "bulk" in heard(listener, db)
    assert row(db, "select actor, action, subject, detail from pgsched.audit_log") == (
        "ann",
        "bulk replay",
        id,
        {"filter": ALL, "rate": 2.5, "target": "python:moved", "note": "moved"},
    )


def test_a_bulk_replay_can_replace_the_target(db: Connection) -> None:
    dead_letter(db)
    advance(db, bulk(db, "replay", ALL, target="https://moved.example/settle"))
    assert column(db, "select target::text from pgsched.executions") == ["https://moved.example/settle"]


def test_bulk_replays_are_spaced_by_the_rate_up_to_two_seconds_ahead(db: Connection) -> None:
    db.execute(MANY, [TARGET, 10])
    id = bulk(db, "replay", ALL, rate=2)
    assert advance(db, id) == (4, False, False)
    assert advance(db, id)[0] == 0
    steps = "select extract(epoch from fire_at - lag(fire_at) over (order by fire_at))::float8 from pgsched.executions"
    assert column(db, steps)[1:] == [0.5] * 3
    an_hour_later(db, id)
    assert advance(db, id)[0] == 4
    an_hour_later(db, id)
    assert advance(db, id) == (2, False, True)
    assert progress(db, id) == ("finished", 10, 0, 0)


def test_a_rate_below_one_replays_one_dead_letter_at_a_time(db: Connection) -> None:
    db.execute(MANY, [TARGET, 2])
    id = bulk(db, "replay", ALL, rate=0.1)
    assert [advance(db, id)[0] for _ in range(2)] == [1, 0]


def test_two_thousand_dead_letters_are_replayed_once_in_small_chunks(db: Connection) -> None:
    db.execute("set pgsched.notify = off")
    db.execute("set enable_seqscan = off")  # as in a worker's session
    db.execute(MANY, [TARGET, 2_000])
    id = bulk(db, "replay", ALL, rate=500)
    chunks, finished = list[int](), False
    while not finished:
        replayed, more, finished = advance(db, id)
        chunks.append(replayed)
        if not more:
            an_hour_later(db, id)
    assert max(chunks) == 50
    assert progress(db, id) == ("finished", 2_000, 0, 0)
    found = row(db, "select count(*), count(distinct id) from pgsched.executions")
    assert found == (2_000, 2_000)
    linked = "select count(*) from pgsched.history h join pgsched.executions e on e.id = h.replayed_as"
    assert value(db, linked) == 2_000


def test_a_bulk_replay_does_not_replay_its_own_failures(db: Connection) -> None:
    dead_letter(db)
    id = bulk(db, "replay", ALL, rate=100)
    [new] = column(db, "select id from pgsched.executions") if advance(db, id, most=1)[0] else []
    fail(db, new)
    while not advance(db, id)[2] and progress(db, id)[0] == "active":
        pass
    assert progress(db, id) == ("finished", 1, 0, 0)
    assert state(db, new) == "open"


def test_a_bulk_replay_skips_a_dead_letter_whose_key_is_taken(db: Connection) -> None:
    id = dead_letter(db, key="k", ago="25 hours")
    schedule(db, key="k")
    many = bulk(db, "replay", ALL)
    assert advance(db, many) == (0, False, True)
    assert progress(db, many) == ("finished", 0, 1, 0)
    assert state(db, id) == "open"


def test_an_unschedulable_dead_letter_does_not_stop_a_bulk_replay(db: Connection) -> None:
    db.execute(MANY, [TARGET, 3])
    db.execute(
        "update pgsched.history set partition = 999 where id = (select min(id::text)::uuid from pgsched.history)"
    )
    id = bulk(db, "replay", ALL)
    assert advance(db, id) == (2, False, True)
    assert progress(db, id) == ("finished", 2, 0, 1)


def test_stopping_a_bulk_replay_leaves_remaining_dead_letters_open(db: Connection) -> None:
    db.execute(MANY, [TARGET, 10])
    id = bulk(db, "replay", ALL, rate=1)
    assert advance(db, id)[0] == 2
    assert [call(db, "stop_bulk", id=id, actor="ann") for _ in range(2)] == [True, False]
    an_hour_later(db, id)
    assert advance(db, id) == (0, False, False)
    assert progress(db, id) == ("stopped", 2, 0, 0)
    assert count(db, "replay", ALL) == (8, True)
    assert column(db, "select action from pgsched.audit_log order by id") == ["bulk replay", "stop bulk"]


def test_a_bulk_discard_discards_each_dead_letter_once(db: Connection) -> None:
    db.execute(MANY, [TARGET, 250])
    dead_letter(db, client="billing")
    id = bulk(db, "discard", ALL, note="known", actor="ann")
    assert carry_out(db, id) == (250, 6)
    assert progress(db, id) == ("finished", 250, 0, 0)
    assert column(db, "select state from pgsched.dead_letters group by 1 order by 1") == ["discarded", "open"]
    assert (count(db, "discard", ALL), count(db, "discard", {"client": "billing"})) == ((0, True), (1, True))
    assert column(db, "select distinct dealt_with_by from pgsched.history where dealt_with_at is not null") == ["ann"]
    assert column(db, "select action from pgsched.audit_log where detail ->> 'note' = 'known'") == ["bulk discard"]


def test_counting_dead_letters_stops_at_the_time_limit(db: Connection) -> None:
    db.execute(MANY, [TARGET, 10_001])
    assert count(db, "replay", ALL, within="0 s") == (10_000, False)
    assert count(db, "replay", ALL) == (10_001, True)


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
def test_an_invalid_filter_is_refused(db: Connection, filter: Any, sqlstate: str, hint: str) -> None:
    dead_letter(db)
    for action, is_dry in (("replay", True), ("replay", False), ("discard", False)):
        with refused(sqlstate, hint=hint):
            bulk(db, action, filter, dry_run=is_dry)
    assert count(db, "replay", ALL) == (1, True)


def test_a_bulk_replay_to_an_invalid_target_is_refused(db: Connection) -> None:
    with refused("PS001"):
        bulk(db, "replay", ALL, target="moved.example")
    assert column(db, "select id from pgsched.bulk_operations") == []


def test_a_client_replays_and_discards_only_its_own_dead_letters(db: Connection, payments: Connection) -> None:
    mine, theirs = dead_letter(db, client="payments"), dead_letter(db, client="billing")
    id = bulk(payments, "replay", {"host": "shop.example"})
    assert column(payments, "select id from pgsched.bulk_operations") == [id]
    advance(db, id)
    assert (state(db, mine), state(db, theirs)) == ("replayed", "open")
    assert carry_out(db, bulk(payments, "discard", {"host": "shop.example"}))[0] == 0
    assert state(db, theirs) == "open"
    assert count(payments, "replay", {"host": "shop.example"}) == (0, True)
    assert call(payments, "stop_bulk", id=id) is False


def test_a_client_cannot_start_see_or_stop_another_clients_replays(db: Connection, payments: Connection) -> None:
    dead_letter(db, client="billing")
    with refused("PS012", hint="use SET ROLE"):
        bulk(payments, "replay", {"client": "billing"})
    id = bulk(db, "replay", {"client": "billing"})
    assert column(payments, "select id from pgsched.bulk_operations") == []
    with refused("PS010"):
        call(payments, "stop_bulk", id=id)
    with refused("42501"):
        payments.execute("select pgsched_internal.advance_bulk(%s, 1)", [id])
