"""Rollups: what is counted for each minute, how many clients have rows, and which rows each role sees."""

from collections import Counter

import pytest

from pgsched.domain.histogram import BUCKETS, nothing, quantile
from pgsched.store import internal_verbs
from pgsched.store.core import connect
from pgsched.store.live import rollups
from pgsched.store.live.rollups import EVERYBODY, Counted
from tests.store.store_arrange import Connection, column, finish, schedule, value

MINUTE = 60_000_000
FIRST = 800_000_000_000_000 // MINUTE * MINUTE


def counted(client: str, *, minute: int = FIRST, queue: int = 0, succeeded: int = 1, bucket: int = 0) -> Counted:
    made = Counted(minute, queue, client, attempts=succeeded, succeeded=succeeded)
    made.lateness[bucket] = made.duration[bucket] = succeeded
    return made


async def add(session: connect.Connection, *given: Counted) -> None:
    await rollups.add(session, given, {0: "default"})


def minutes(db: Connection) -> set[tuple[object, ...]]:
    return set(db.execute("select client_id, queue, succeeded, attempts from pgsched.minutes"))


async def test_rollup_counts_from_several_flushes_add_up(db: Connection, worker: connect.Connection) -> None:
    await add(worker, counted("shop", bucket=3), counted(EVERYBODY, succeeded=2))
    await add(
        worker,
        counted("shop", bucket=len(BUCKETS), succeeded=2),
        counted("shop", queue=1),
        counted(EVERYBODY, succeeded=2),
    )
    assert minutes(db) == {("shop", "default", 3, 3), ("shop", "1", 1, 1), (None, "default", 4, 4)}
    bounds = db.execute(
        "select lateness_p50, lateness_p99 from pgsched.minutes where client_id = 'shop' and queue = 'default'"
    )
    assert bounds.fetchone() == (BUCKETS[-1], BUCKETS[-1])  # a value beyond all buckets reads as the last bound


async def test_the_database_and_python_agree_on_buckets_and_quantiles(db: Connection) -> None:
    assert tuple(value(db, "select pgsched_internal.buckets()")) == BUCKETS
    some = nothing()
    some[2], some[9], some[-1] = 5, 3, 1
    for share in (0.0, 0.2, 0.5, 0.75, 0.99, 1.0):
        assert value(db, "select pgsched_internal.quantile(%s, %s)", [some, share]) == pytest.approx(
            quantile(some, share)
        )
    assert value(db, "select pgsched_internal.quantile(%s, 0.5)", [nothing()]) is quantile(nothing(), 0.5) is None


async def test_each_committed_end_is_rolled_up_once(db: Connection, worker: connect.Connection) -> None:
    for client in ("shop", "shop", "bank"):
        db.execute("select pgsched.cancel(%s)", [schedule(db, client=client)])
    finish(db, schedule(db, client="shop"), ended="failed")
    with db.transaction(force_rollback=True):
        db.execute("select pgsched.cancel(%s)", [schedule(db, client="shop")])
    assert await internal_verbs.roll_up_notes(worker, most=10_000) == 4
    assert await internal_verbs.roll_up_notes(worker, most=10_000) == 0
    found = Counter[object]()
    for client, cancelled, failed in db.execute("select client_id, cancelled, failed from pgsched.minutes"):
        found[client, "cancelled"] += cancelled
        found[client, "failed"] += failed
    cancelled, failed = {"shop": 2, "bank": 1, None: 3}, {"shop": 1, None: 1}
    assert +found == {
        **{(client, "cancelled"): count for client, count in cancelled.items()},
        **{(client, "failed"): count for client, count in failed.items()},
    }


async def test_a_skipped_range_counts_every_instant_it_contains(db: Connection, worker: connect.Connection) -> None:
    db.execute(
        "insert into pgsched.jobs (key, every, target, planned_revision) values ('often', '1 minute', 'python:do', 1)"
    )
    db.execute(
        "select pgsched_internal.skip_range(j, now() - interval '1 hour', now(), 60, 'paused') from pgsched.jobs j"
    )
    await internal_verbs.roll_up_notes(worker, most=10_000)
    assert set(column(db, "select skipped from pgsched.minutes where client_id is null")) == {60}


async def test_only_a_limited_number_of_unknown_clients_get_rollup_rows(
    db: Connection, worker: connect.Connection
) -> None:
    db.execute("insert into pgsched.clients (client_id) values ('known'), ('late')")
    strangers = [counted(f"stranger {n}", succeeded=1000 - n) for n in range(700)]
    await add(worker, *strangers, counted("known"), counted(EVERYBODY, succeeded=5000))
    assert value(db, "select count(*) from pgsched.rollups where client_id like 'stranger%'") in (499, 500)
    assert (
        value(db, "select max(succeeded) from pgsched.rollups where client_id like 'stranger%'") == 1000
    )  # the busiest
    await add(worker, counted("late"), counted("stranger 0"), counted("stranger 699"), counted(EVERYBODY))
    assert value(db, "select count(*) from pgsched.rollups where client_id in ('known', 'late')") == 2
    assert value(db, "select succeeded from pgsched.rollups where client_id = 'stranger 0'") == 1001
    assert value(db, "select count(*) from pgsched.rollups where client_id = 'stranger 699'") == 0
    assert value(db, "select succeeded from pgsched.rollups where client_id = ''") == 5001
    await add(worker, counted("stranger 699", minute=FIRST + MINUTE))
    assert value(db, "select count(*) from pgsched.rollups where client_id = 'stranger 699'") == 1


async def test_a_client_sees_only_its_own_rollups(db: Connection, worker: connect.Connection) -> None:
    role = "pgsched_test_rollups"
    db.execute(
        f"do $$ begin create role {role} in role pgsched_client; exception when duplicate_object then null; end $$"
    )
    db.execute("insert into pgsched.clients (client_id, database_role) values ('shop', %s)", [role])
    await add(worker, counted("shop"), counted("bank"), counted(EVERYBODY, succeeded=2))
    with db.transaction(force_rollback=True):
        db.execute(f"set local role {role}")
        assert minutes(db) == {("shop", "default", 1, 1)}
    with db.transaction(force_rollback=True):
        db.execute("set local role pgsched_reader")
        assert len(minutes(db)) == 3


async def test_rollup_day_partitions_are_created_and_dropped(db: Connection, worker: connect.Connection) -> None:
    day = value(db, "select (now() at time zone 'UTC')::date - pgsched_internal.rollup_days() - 1")
    db.execute(f"drop table if exists pgsched_internal.rollups_{day:%Y%m%d}")
    for verb in ("make_day", "attach_day"):
        assert value(db, f"select pgsched_internal.{verb}('rollups', %s)", [day])
    db.execute("insert into pgsched.rollups (minute, client_id, queue) values (%s, '', 'default')", [f"{day} 12:00+00"])
    assert value(db, f"select count(*) from pgsched_internal.rollups_{day:%Y%m%d}") == 1
    assert f"rollups_{day:%Y%m%d}" in column(db, "select pgsched_internal.days_to_drop(365)")
    assert value(db, f"select pgsched_internal.drop_day('rollups_{day:%Y%m%d}')")
    db.execute("insert into pgsched.rollups (minute, client_id, queue) values (%s, '', 'default')", [f"{day} 12:00+00"])
    assert value(db, "select pgsched_internal.trim_default_days(365, 10)") == 1
    assert column(db, "select pgsched_internal.trim_default_days(365, 10)") == [0]
