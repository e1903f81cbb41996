"""Counts of all executions: exact for few, bounded for many."""

import pytest

from pgsched.store.core import connect
from pgsched.store.lookup import overview
from tests.store.store_arrange import Connection, finish, lease, schedule


async def test_executions_are_counted_by_status(db: Connection, planning: connect.Connection) -> None:
    schedule(db, delay="1 hour")
    lease(db, schedule(db))
    held = schedule(db)
    db.execute("update pgsched.executions set scheduled_for = fire_at, fire_at = 'infinity' where id = %s", [held])
    retrying = schedule(db)
    db.execute("update pgsched.executions set attempt = 1 where id = %s", [retrying])
    for ended in ("succeeded", "succeeded", "failed"):
        finish(db, schedule(db), ended=ended)
    found = await overview.count(planning)
    assert found.at_least == []
    assert found.executions == {
        **dict.fromkeys(("scheduled", "retrying", "held", "running"), 1),
        "succeeded": 2,
        "failed": 1,
    }


async def test_a_count_that_reaches_its_bound_is_marked_as_a_minimum(
    db: Connection, planning: connect.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "MOST_COUNTED", 3)
    for _ in range(5):
        schedule(db, delay="1 hour")
    finish(db, schedule(db))
    found = await overview.count(planning)
    assert found.executions == {"scheduled": 3, "succeeded": 1}
    assert found.at_least == ["scheduled"]


async def test_the_age_of_the_oldest_due_row_ignores_leased_and_future_rows(
    db: Connection, planning: connect.Connection
) -> None:
    assert await overview.oldest_due(planning) == 0
    schedule(db, delay="1 hour")
    assert await overview.oldest_due(planning) == 0
    lease(db, schedule(db, fire_at="2020-01-01Z"))
    db.execute("update pgsched.executions set fire_at = now() - interval '1 minute' where id = %s", [schedule(db)])
    assert 60 <= await overview.oldest_due(planning) < 3600
