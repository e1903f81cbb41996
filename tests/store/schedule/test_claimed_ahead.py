"""An execution that a worker has claimed ahead of its instant can be changed like one that waits."""

import pytest

from tests.store.store_arrange import Connection, column, refused, row

pytestmark = pytest.mark.oldest_postgresql

_CLAIMED = """
do $do$
declare
  id uuid := pgsched.schedule('python:x', '"old"', delay => '1 h', key => 'k'{given});
begin
  update pgsched.executions e set fire_at = clock_timestamp() + interval '{ahead}', lease_owner = 1, lease_token = 7,
         lease_expires_at = now() + interval '30 s', attempt = 1 where e.id = id;
  {change};
end $do$"""
_LIVE = "select attempt, lease_token, payload, fire_at > now() + interval '50 min' from pgsched.executions"


def change(db: Connection, text: str, given: str = "", ahead: str = "0.9 s") -> None:
    """Make a change just after an execution has been claimed ahead of its instant."""
    db.execute(_CLAIMED.format(given=given, change=text, ahead=ahead).replace("e.id = id", "e.key = 'k'").encode())


def test_rescheduling_takes_an_execution_back_from_its_worker(db: Connection) -> None:
    change(db, "perform pgsched.edit(id, jsonb_build_object('fire_at', now() + interval '1 h'))")
    assert row(db, _LIVE) == (0, None, "old", True)


@pytest.mark.parametrize("ahead", ["0.02 s", "-1 s"])
def test_an_execution_about_to_begin_counts_as_running(db: Connection, ahead: str) -> None:
    with refused("PS011"):
        change(db, "perform pgsched.edit(id, jsonb_build_object('fire_at', now() + interval '1 h'))", ahead=ahead)


@pytest.mark.parametrize(
    "given",
    [
        "perform pgsched.edit(id, jsonb_build_object('fire_at', now() + interval '1 h'))",
        """perform pgsched.edit(id, '{"fire_at": "2100-01-01T00:00:00Z"}')""",
        "perform pgsched.schedule('python:x', delay => '1 h', key => 'k', ordering_key => 'o')",
    ],
)
def test_a_moved_execution_gives_up_its_turn_in_the_ordering_key(db: Connection, given: str) -> None:
    change(db, f"update pgsched.executions e set at_head = true where e.id = id; {given}", ", ordering_key => 'o'")
    assert column(db, "select at_head from pgsched.executions") == [None]


def test_an_edit_takes_an_execution_back_with_the_new_payload(db: Connection) -> None:
    change(db, 'perform pgsched.edit(id, \'{"payload": "new"}\')')
    assert row(db, _LIVE) == (0, None, "new", False)


@pytest.mark.parametrize("key", ["null", "'another'"])
def test_scheduling_under_its_key_replaces_an_execution(db: Connection, key: str) -> None:
    change(db, f"perform pgsched.schedule('python:x', '\"new\"', delay => '1 h', key => 'k', ordering_key => {key})")
    assert row(db, _LIVE) == (0, None, "new", True)


def test_keep_leaves_an_execution_with_its_worker(db: Connection) -> None:
    change(db, "perform pgsched.schedule('python:x', '1', key => 'k', options => '{}', on_conflict => 'keep')")
    assert row(db, _LIVE)[:3] == (1, 7, "old")


def test_a_cancelled_execution_has_had_no_attempt(db: Connection) -> None:
    change(db, "perform pgsched.cancel(id)")
    assert row(db, "select status::text, attempt from pgsched.history") == ("cancelled", 0)


def test_a_cancelled_execution_blocks_no_ordering_key(db: Connection) -> None:
    change(db, "perform pgsched.cancel(id)", given=", ordering_key => 'o'")
    assert column(db, "select ordering_key from pgsched.blocked_keys") == []
