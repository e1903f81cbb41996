"""Open dead letters outlive their day of history, until they expire."""

import pytest

from tests.store.bulk.bulk_arrange import advance, bulk
from tests.store.ends.dead_letter_arrange import dead_letter, keep_days, replay, state
from tests.store.store_arrange import Connection, call, column, finish, row, schedule, status, value

pytestmark = pytest.mark.oldest_postgresql

KEPT = "select id from pgsched_internal.kept_dead_letters"


@pytest.fixture(autouse=True)
def _day(db: Connection) -> None:
    """A day of history and attempts, forty days ago."""
    for parent in ("history", "attempts"):
        db.execute(_make_day(parent))


def _make_day(parent: str) -> bytes:
    return f"""
do $$
declare
  day constant date := (now() at time zone 'UTC')::date - 40;
begin
  set local role pgsched_owner;
  execute format('create table if not exists pgsched_internal.%I partition of pgsched.{parent}'
    ' for values from (%L) to (%L)', '{parent}_' || to_char(day, 'YYYYMMDD'), day || ' 00:00+00',
    day + 1 || ' 00:00+00');
end $$""".encode()


def days(db: Connection) -> list[str]:
    return column(
        db,
        "select inhrelid::regclass::text from pg_inherits where inhparent = 'pgsched.history'::regclass"
        " and inhrelid::regclass::text ~ '_[0-9]{8}$'",
    )


def test_open_dead_letters_and_attempts_survive_dropping_a_day_partition(db: Connection) -> None:
    id = dead_letter(db, ago="40 days", payload={"n": 1}, key="k")
    keep_days(db, 30)
    assert days(db) == []
    assert column(db, KEPT) == [id]
    assert row(db, "select state, payload, key, reason, attempt from pgsched.dead_letters") == (
        "open", {"n": 1}, "k", "503 Service Unavailable", 5,
    )  # fmt: skip
    assert (
        value(db, "select tries #>> '{0,error}' from pgsched_internal.kept_dead_letters") == "503 Service Unavailable"
    )
    assert status(db, id) == "failed"


def test_an_open_dead_letter_in_the_default_partition_is_kept(db: Connection) -> None:
    id = dead_letter(db, ago="50 days")
    keep_days(db, 30)
    assert column(db, "select id from pgsched_internal.history_default") == []
    assert column(db, KEPT) == [id]


def test_successes_and_discarded_dead_letters_go_with_their_day_partition(db: Connection) -> None:
    finish(db, schedule(db), ago="40 days")
    call(db, "discard", id=dead_letter(db, ago="40 days"))
    keep_days(db, 30)
    assert (days(db), column(db, KEPT)) == ([], [])


def test_a_day_partition_with_unmoved_open_dead_letters_is_not_dropped(db: Connection) -> None:
    id = dead_letter(db, ago="40 days")
    db.execute("select pgsched_internal.drop_day(name) from pgsched_internal.days_to_drop(30) name")
    assert len(days(db)) == 1
    assert state(db, id) == "open"


def test_expired_dead_letters_are_dropped_with_their_day_partition(db: Connection) -> None:
    dead_letter(db, ago="40 days")
    db.execute("update pgsched.clients set dead_letters_for = '35 days'")
    keep_days(db, 30)
    assert (days(db), column(db, KEPT)) == ([], [])


def test_kept_dead_letters_expire_in_batches(db: Connection) -> None:
    for _ in range(3):
        dead_letter(db, ago="40 days")
    keep_days(db, 30)
    assert value(db, "select pgsched_internal.expire_dead_letters(10)") == 0
    db.execute("update pgsched.clients set dead_letters_for = '35 days'")
    assert [value(db, "select pgsched_internal.expire_dead_letters(2)") for _ in range(3)] == [2, 1, 0]


def test_kept_dead_letters_can_be_replayed_and_discarded(db: Connection) -> None:
    replayed, discarded = dead_letter(db, ago="40 days", payload={"n": 1}), dead_letter(db, ago="40 days")
    keep_days(db, 30)
    new = replay(db, replayed)
    assert value(db, "select payload from pgsched.executions where id = %s", [new]) == {"n": 1}
    assert replay(db, replayed) == new
    assert call(db, "discard", id=discarded) is True
    assert (state(db, replayed), state(db, discarded)) == ("replayed", "discarded")


def test_a_bulk_replay_includes_kept_dead_letters(db: Connection) -> None:
    kept = dead_letter(db, ago="40 days")
    keep_days(db, 30)
    recent = dead_letter(db)
    many = bulk(db, "replay", {"client": "default"})
    assert advance(db, many)[0] == 2
    assert (state(db, kept), state(db, recent)) == ("replayed", "replayed")


def test_dead_letters_are_kept_for_a_year_by_default(db: Connection) -> None:
    id = dead_letter(db, ago="40 days", client="nobody")
    dead_letter(db, ago="366 days", client="nobody")
    keep_days(db, 30)
    assert column(db, "select id from pgsched.dead_letters") == [id]
