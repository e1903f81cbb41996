"""The forecast of rows due in the coming minutes, and what it costs."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from pgsched.store.core import connect
from pgsched.store.core.sql import statement
from pgsched.store.lookup.forecast import forecast
from tests.store.store_arrange import Connection, schedule

_MANY = """
insert into pgsched.executions (target, fire_at, partition)
select 'python:x', date_trunc('minute', now(), 'UTC') + interval '1 minute' * (1 + i % 200) + interval '1 second', 0
  from generate_series(1, 20000) i"""
_MOVE = "update pgsched.executions set fire_at = %s where id = %s"


def _this_minute(db: Connection) -> datetime:
    row = db.execute("select date_trunc('minute', now(), 'UTC')").fetchone()
    assert row is not None
    found: datetime = row[0]
    return found


def _put(db: Connection, *instants: datetime) -> None:
    for instant in instants:
        db.execute(_MOVE, [instant, schedule(db)])


async def test_the_forecast_is_empty_if_no_executions_are_waiting(planning: connect.Connection) -> None:
    assert await forecast(planning, minutes=60, per_minute=10) == []


async def test_a_minute_with_more_due_rows_than_the_bound_is_marked_hot(
    db: Connection, planning: connect.Connection
) -> None:
    start = _this_minute(db)
    seconds = [180, 239.999999, 240, 301, 302, 303, 304]
    _put(db, *(start + timedelta(seconds=after) for after in seconds))
    found = await forecast(planning, minutes=30, per_minute=2)
    assert [(one.due, one.hot) for one in found] == [(2, False), (1, False), (3, True)]
    assert [(one.minute - start).total_seconds() for one in found] == [180, 240, 300]


async def test_a_forecast_can_start_at_a_later_minute(db: Connection, planning: connect.Connection) -> None:
    start = _this_minute(db)
    _put(db, *(start + timedelta(minutes=after, seconds=1) for after in (2, 3, 4)))
    found = await forecast(planning, start=start + timedelta(minutes=3), minutes=1, per_minute=2)
    assert [one.minute for one in found] == [start + timedelta(minutes=3)]


async def test_overdue_held_and_distant_rows_are_not_forecast(db: Connection, planning: connect.Connection) -> None:
    start = _this_minute(db)
    _put(db, start - timedelta(minutes=5), start + timedelta(minutes=100))
    held = schedule(db)
    db.execute("update pgsched.executions set scheduled_for = fire_at, fire_at = 'infinity' where id = %s", [held])
    assert await forecast(planning, minutes=60, per_minute=10) == []


@pytest.mark.parametrize("per_minute", [1, 20])
def test_each_forecast_minute_is_read_only_up_to_the_bound(db: Connection, per_minute: int) -> None:
    db.execute(_MANY)
    db.execute("analyze pgsched.executions")
    explained = f"explain (analyze, format json) {statement('lookup/due_by_minute')}"
    row = db.execute(explained.encode(), {"start": None, "minutes": 10, "most": per_minute + 1}).fetchone()
    assert row is not None
    plan = row[0] if isinstance(row[0], list) else json.loads(row[0])
    scans = list(_scans(plan[0]["Plan"]))
    assert scans
    for scan in scans:
        assert "fire_at" in scan.get("Index Cond", ""), scan
        assert scan["Actual Rows"] <= per_minute + 1


def _scans(node: dict[str, Any]) -> list[dict[str, Any]]:
    found = [one for child in node.get("Plans", []) for one in _scans(child)]
    return [node, *found] if str(node.get("Relation Name", "")).startswith("executions") else found
