"""Findings on late queues, missed objectives, unplanned jobs, stuck operations, missing days and unreadable secrets."""

import pytest

from pgsched.sealing import KeyRing, new_key
from tests.conftest import Connection
from tests.store.bulk.bulk_arrange import backfill, bulk
from tests.store.doctor.doctor_arrange import make_days, register, seen
from tests.store.store_arrange import KEY, rotate, schedule


@pytest.mark.parametrize(("ago", "severity"), [("2 minutes", "warning"), ("1 hour", "error")])
async def test_a_late_queue_that_has_a_worker_is_reported(
    db: Connection, database_url: str, ago: str, severity: str
) -> None:
    await register(database_url)
    db.execute("select pgsched.schedule('python:note', fire_at => now() - %s::interval)", [ago])
    [(found, text)] = await seen(database_url, "late")
    assert found == severity
    assert "queue default" in text


async def test_a_late_pull_queue_is_reported(db: Connection, database_url: str) -> None:
    db.execute("select pgsched.create_queue('pull', '{\"pulled\": true}')")
    db.execute("select pgsched.schedule('queue:', fire_at => now() - interval '2 minutes', queue => 'pull')")
    assert [severity for severity, _ in await seen(database_url, "late")] == ["warning"]


async def test_a_queue_without_a_worker_is_not_reported_as_late(db: Connection, database_url: str) -> None:
    db.execute("select pgsched.schedule('python:note', fire_at => now() - interval '1 hour')")
    assert await seen(database_url, "late") == []


async def test_an_objective_missed_in_the_last_hour_is_reported(db: Connection, database_url: str) -> None:
    objective = """select pgsched.set_client(%s, '{"late_after": "1s", "on_time_share": 0.9}')"""
    put = """insert into pgsched.rollups (minute, client_id, queue, attempts, lateness)
             values (now() - %s::interval, %s, 'default', %s,
                     array_fill(0, array[9]) || array[%s, 0, %s] || array_fill(0, array[6]))"""
    for client, ago, on_time, late in (
        ("shop", "5 minutes", 160, 40),
        ("well", "5 minutes", 190, 10),
        ("few", "5 minutes", 1, 4),
        ("earlier", "2 hours", 1, 400),
    ):
        db.execute(objective, [client])
        db.execute(put, [ago, client, on_time + late, on_time, late])
    told = (
        "20.00% of the attempts of the client shop in the last hour started more than 1 s late; "
        "its objective allows 10.00%"
    )
    assert await seen(database_url, "objectives") == [("warning", told)]


async def test_unplanned_and_invalid_jobs_are_reported_with_their_count(db: Connection, database_url: str) -> None:
    db.execute("select pgsched.schedule('python:note', every => '1 hour') from generate_series(1, 2)")
    assert await seen(database_url, "jobs") == []
    db.execute("update pgsched.jobs set updated_at = now() - interval '2 minutes', planned_revision = 0")
    assert await seen(database_url, "jobs") == [("error", "2 jobs have not been planned for longer than 60 seconds")]
    db.execute("update pgsched.jobs set state = 'invalid'")
    assert await seen(database_url, "jobs") == [("warning", "2 jobs have become invalid")]


async def test_a_bulk_operation_without_progress_is_reported(db: Connection, database_url: str) -> None:
    bulk(db, "cancel", {"client": "shop"})
    backfill(db, schedule(db, cron="@hourly"))
    assert await seen(database_url, "changes") == []
    db.execute("update pgsched.bulk_operations set created_at = now() - interval '1 day', updated_at = '2026-01-01Z'")
    found = [text for _, text in await seen(database_url, "changes")]
    whats = [text.split(" is making no progress")[0].rsplit(" ", 1)[0] for text in found]
    assert whats == ["the bulk cancel", "the bulk backfill"]
    db.execute(
        "update pgsched.bulk_operations"
        " set updated_at = now(), reason = 'waits: the queue of the next execution is full'"
    )
    text = (await seen(database_url, "changes"))[0][1]
    assert text.endswith("is making no progress (waits: the queue of the next execution is full)")


async def test_too_few_day_partitions_ahead_are_reported_as_a_warning(database_url: str) -> None:
    assert [severity for severity, _ in await seen(database_url, "days")] == ["warning"]
    await make_days(database_url, ahead=5)
    [(_, text)] = await seen(database_url, "days")
    assert "has partitions for 6 days" in text
    await make_days(database_url)
    assert await seen(database_url, "days") == []


async def test_secrets_that_no_key_can_open_are_reported_as_an_error(db: Connection, database_url: str) -> None:
    assert await seen(database_url, "secrets") == []
    rotate(db)
    assert [severity for severity, _ in await seen(database_url, "secrets")] == ["note"]
    other = KeyRing.parse(new_key())
    assert await seen(database_url, "secrets", ring=other) == [
        ("error", "1 secret cannot be opened: the key is not in secret_keys")
    ]
    assert await seen(database_url, "secrets", ring=KeyRing.parse(f"{new_key()},{KEY}")) == []
