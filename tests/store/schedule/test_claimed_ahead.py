"""An execution that a worker has claimed ahead of its instant can be changed like a waiting execution."""

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


def test_rescheduling_undoes_an_early_claim(db: Connection) -> None:
    change(db, "perform pgsched.edit(id, jsonb_build_object('fire_at', now() + interval '1 h'))")
    assert row(db, _LIVE) == (0, None, "old", True)


@pytest.mark.parametrize("ahead", ["0.02 s", "-1 s"])
def test_an_execution_about_to_begin_cannot_be_rescheduled(db: Connection, ahead: str) -> None:
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
def test_rescheduling_gives_up_the_turn_in_the_ordering_key(db: Connection, given: str) -> None:
    change(db, f"update pgsched.executions e set at_head = true where e.id = id; {given}", ", ordering_key => 'o'")
    assert column(db, "select at_head from pgsched.executions") == [None]


def test_editing_the_payload_undoes_an_early_claim(db: Connection) -> None:
    change(db, 'perform pgsched.edit(id, \'{"payload": "new"}\')')
    assert row(db, _LIVE) == (0, None, "new", False)


@pytest.mark.parametrize("key", ["null", "'another'"])
def test_scheduling_the_same_key_replaces_an_execution_claimed_early(db: Connection, key: str) -> None:
    change(db, f"perform pgsched.schedule('python:x', '\"new\"', delay => '1 h', key => 'k', ordering_key => {key})")
    assert row(db, _LIVE) == (0, None, "new", True)


def test_scheduling_with_on_conflict_keep_does_not_undo_an_early_claim(db: Connection) -> None:
    change(db, "perform pgsched.schedule('python:x', '1', key => 'k', options => '{}', on_conflict => 'keep')")
    assert row(db, _LIVE)[:3] == (1, 7, "old")


def test_cancelling_an_execution_claimed_early_records_no_attempt(db: Connection) -> None:
    change(db, "perform pgsched.cancel(id)")
    assert row(db, "select status::text, attempt from pgsched.history") == ("cancelled", 0)


def test_cancelling_an_execution_claimed_early_blocks_no_ordering_key(db: Connection) -> None:
    change(db, "perform pgsched.cancel(id)", given=", ordering_key => 'o'")
    assert column(db, "select ordering_key from pgsched.blocked_keys") == []
