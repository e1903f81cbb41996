"""When an installation is held for recovery, and what the preview shows before it is released."""

import itertools
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from pgsched.store import verbs
from pgsched.store.admin import ending_recovery, installation_settings, recovery_preview
from tests.conftest import Connection
from tests.store.store_arrange import TARGET, schedule, value

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]

_RULE = """
select pgsched_internal.why_hold(
  row(true, 7, 1, 1, now() - interval '30 days', now() - %(away)s::interval, 9, 100)::pgsched_internal.fleet,
  row(true, %(server)s, %(database)s, %(timeline)s, now() - %(running)s::interval, now(), %(relation)s, 0)
    ::pgsched_internal.fleet,
  (select i from pgsched.installation i), %(in_order)s, %(followed)s, %(known)s) is not null"""
_SAME: dict[str, Any] = {"server": 7, "database": 1, "timeline": 1, "relation": 9, "running": "30 days"}
_SAME |= {"in_order": False, "followed": True, "known": None}


@pytest.mark.parametrize(
    ("found", "held"),
    [
        ({"away": "3 days"}, False),  # all workers stopped or killed over a weekend
        ({"away": "3 days", "running": "1 hour", "in_order": True}, False),  # the server too, after all workers stopped
        ({"away": "59 minutes", "running": "1 minute"}, False),  # a power failure
        ({"away": "61 minutes", "running": "1 minute"}, True),  # a copied disk
        ({"away": "9 minutes", "timeline": 2}, False),  # a promoted standby
        ({"away": "11 minutes", "timeline": 2, "in_order": True}, True),  # a point-in-time recovery
        ({"away": "1 second", "timeline": 2, "followed": False}, True),  # a quick recovery
        ({"away": "1 second", "timeline": 2, "followed": False, "known": 101}, True),
        ({"away": "1 second", "timeline": 2, "followed": False, "known": 100}, False),  # a restart in order to promote
        ({"away": "1 second", "timeline": 2, "known": 200}, False),  # a standby with replication lag
        ({"away": "1 second", "known": 102}, True),  # a started base backup
        ({"away": "1 second", "known": 101}, False),  # a crash with asynchronous commit
        ({"away": "1 second", "relation": 8}, True),  # a dump restored into the same database
        ({"away": "1 second", "server": 8}, True),  # a restored dump
        ({"away": "1 second", "database": 2}, True),  # a copy on the same server
        ({"away": "1 second", "server": None, "timeline": None}, False),  # a server that hides its identity
        ({"away": "-1 hours", "running": "1 minute"}, False),  # a clock set back, and a restart
        ({"away": "31 days"}, False),  # a clock that ran behind and was corrected
    ],
)
def test_only_a_copy_a_recovery_or_a_suspicious_gap_holds_the_installation(
    db: Connection, found: dict[str, Any], held: bool
) -> None:
    assert db.execute(_RULE, _SAME | found).fetchone() == (held,)


def test_the_hold_after_absence_setting_decides_which_gap_is_suspicious(db: Connection) -> None:
    db.execute('select pgsched.set_installation(\'{"hold_after_absence": "2d"}\')')
    found = [db.execute(_RULE, _SAME | {"away": f"{days} days"}).fetchone() for days in (1, 3)]
    db.execute("select pgsched.set_installation('{\"hold_after_absence\": null}')")
    assert found == [(False,), (True,)]


def _move(db: Connection) -> None:
    """Make the database look copied from another server."""
    db.execute("select why from pgsched_internal.check_same_server()")
    db.execute("update pgsched_internal.fleet set system_identifier = system_identifier - 1")


def test_a_copied_database_with_executions_is_held_until_resumed(db: Connection) -> None:
    _move(db)
    schedule(db, delay="1 hour")
    for _ in range(2):
        assert "this database is a copy" in value(db, "select why from pgsched_internal.check_same_server()")
    logged = db.execute(
        "select count(*) from pgsched.audit_log where action = 'pause' and kind = 'installation'"
    ).fetchone()
    assert logged == (1,)
    assert value(db, "select pgsched.resume('installation')")
    assert value(db, "select why from pgsched_internal.check_same_server()") is None


def test_a_copied_database_without_executions_is_adopted(db: Connection) -> None:
    _move(db)
    assert value(db, "select why from pgsched_internal.check_same_server()") is None
    schedule(db, delay="1 hour")
    assert value(db, "select why from pgsched_internal.check_same_server()") is None


def test_consumers_claim_nothing_while_the_installation_is_held(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as db:
        db.execute("select pgsched.create_queue('orders', '{\"pulled\": true}')")
        db.execute("select pgsched.schedule('queue:', queue => 'orders')")
        claim = "select count(*) from pgsched.claim('orders', 'svc')"
        assert value(db, "select pgsched.pause('installation', note => 'looking')")
        assert not value(db, "select pgsched.pause('installation', note => 'looking')")
        assert value(db, claim) == 0
        stalls = value(db, "select pgsched_internal.stalls()")
        assert set(stalls.values()) == {"waits: the installation is held for recovery"}
        assert value(db, "select pgsched.resume('installation')")
        assert value(db, claim) == 1


@pytest.mark.parametrize("column", ["system_identifier", "database", "timeline", "relation"])
def test_consumers_claim_nothing_from_an_unchecked_copy(database_url: str, column: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as db:
        db.execute("select pgsched.create_queue('orders', '{\"pulled\": true}')")
        db.execute("select pgsched.schedule('queue:', queue => 'orders') from generate_series(1, 3)")
        claim = "select count(*) from pgsched.claim('orders', 'svc')"
        assert value(db, claim) == 1
        db.execute("select pgsched_internal.check_same_server()")
        assert value(db, claim) == 1
        db.execute(f"update pgsched_internal.fleet set {column} = {column}::bigint - 1".encode())
        assert value(db, claim) == 0
        db.execute("select pgsched_internal.check_same_server()")
        assert value(db, "select pgsched.resume('installation')")
        assert value(db, claim) == 1


async def test_the_preview_counts_overdue_executions_by_client_and_queue(
    db: Connection, planning: psycopg.AsyncConnection[Any]
) -> None:
    for client, fire_at in (("shop", "2 days"), ("shop", "2 hours"), ("bank", "1 minute"), ("bank", "-5 days")):
        db.execute(
            "insert into pgsched.executions (client_id, target, fire_at) values (%s, %s, now() - %s::interval)",
            [client, TARGET, fire_at],
        )
    found = await recovery_preview.preview(planning)
    counted = [(one.client, one.queue, one.executions, one.an_hour_late, one.a_day_late) for one in found.overdue]
    assert counted == [("shop", "default", 2, 2, 1), ("bank", "default", 1, 0, 0)]
    assert [one.client for one in found.oldest] == ["shop", "shop", "bank"]
    assert [one.executions for one in found.calls] == [3]


async def test_spreading_moves_only_due_executions_and_keeps_their_order(
    db: Connection, planning: psycopg.AsyncConnection[Any]
) -> None:
    db.execute(
        "insert into pgsched.executions (partition, target, payload, fire_at)"
        " select n %% 2, %s, to_jsonb(n), now() - n * interval '1 minute' from generate_series(1, 20) n",
        [TARGET],
    )
    later = schedule(db, delay="1 hour")
    begun = value(db, "select clock_timestamp()")
    assert await ending_recovery.spread(lambda: nullcontext(planning), 10) == (20, True)
    fired = db.execute(
        "select partition, (payload #>> '{}')::int, fire_at, fire_at > %(begun)s, scheduled_for < %(begun)s"
        " from pgsched.executions where id <> %(later)s order by partition, fire_at",
        {"begun": begun, "later": later},
    ).fetchall()
    by_partition = [[n for partition, n, *_ in fired if partition == home] for home in (0, 1)]
    assert by_partition == [sorted(numbers, reverse=True) for numbers in by_partition]
    assert all(ahead and kept for *_, ahead, kept in fired)
    instants = sorted(instant for _, _, instant, *_ in fired)
    assert {b - a for a, b in itertools.pairwise(instants)} == {timedelta(seconds=0.1)}


async def test_set_installation_sets_and_resets_settings(
    db: Connection, planning: psycopg.AsyncConnection[Any]
) -> None:
    assert await verbs.set_installation(planning, {"history_days": 60, "hold_after_restart": None}, actor="ann")
    found = await installation_settings.get_installation(planning)
    assert (found.history_days, found.hold_after_restart, found.hold_after_promotion) == (
        60,
        None,
        timedelta(minutes=10),
    )
    back = {"history_days": None, "hold_after_restart": "1h"}
    assert await verbs.set_installation(planning, back, actor="ann")
    assert not await verbs.set_installation(planning, back, actor="ann")


@pytest.mark.parametrize(
    "changes",
    [
        '{"history_days": 0}',
        '{"audit_days": -1}',
        '{"hold_after_absence": "0s"}',
        '{"hold_after_restart": 60}',
        '{"held_since": "2020-01-01"}',
        "[]",
    ],
)
def test_set_installation_refuses_invalid_settings(db: Connection, changes: str) -> None:
    with pytest.raises(psycopg.Error) as refused:
        db.execute("select pgsched.set_installation(%s)", [changes])
    assert refused.value.sqlstate == "PS000"
