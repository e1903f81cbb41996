"""Archiving days of history, and dropping only archived days if the installation requires it."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.cli.conftest import Run

_DAY = "select (pgsched.now() at time zone 'UTC')::date - 40"
_OLD = """
select pgsched_internal.make_day('history', (pgsched.now() at time zone 'UTC')::date - 40),
       pgsched_internal.attach_day('history', (pgsched.now() at time zone 'UTC')::date - 40)"""
_SOON = """
select pgsched_internal.make_day(d.parent, d.day), pgsched_internal.attach_day(d.parent, d.day)
  from pgsched_internal.days_to_make(1) d"""
_ENDED = """
insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, status, partition, attempt, client_id,
                             target, payload)
select f, f, f, f, pgsched_internal.new_id(), 'succeeded', 0, 1, 'shop',
       'python:settle', to_jsonb('a "quoted", line' || chr(10) || n)
  from generate_series(1, 3) n, lateral (select pgsched.now() - %s::interval - n * interval '1 second') t(f)"""
_DROPPED = "select count(*)::int from pgsched_internal.days_to_drop(30)"


@pytest.fixture(autouse=True)
def _here(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", database_url)


def _droppable(db: psycopg.Connection[Any]) -> tuple[int, int]:
    """Returns the numbers of droppable day tables and of droppable rows without a day table."""
    [tables] = db.execute(_DROPPED).fetchone() or (0,)
    with db.transaction(force_rollback=True):
        [rows] = db.execute("select pgsched_internal.trim_default_days(30, 100)").fetchone() or (0,)
    return tables, rows


def test_a_day_of_history_is_dropped_only_after_it_is_archived(
    run: Run, db: psycopg.Connection[Any], tmp_path: Path
) -> None:
    db.execute(_OLD)
    db.execute(_ENDED, ["40 days"])
    db.execute(_ENDED, ["50 days"])  # a day without a table
    assert _droppable(db) == (1, 3)
    assert run("admin", "installation", "set", "--archive-history").output == "set\n"
    assert _droppable(db) == (0, 0)
    [found] = [one for one in json.loads(run("doctor", "--json").stdout)["findings"] if "archived" in one["seen"]]
    assert (found["check"], found["severity"]) == ("days", "warning")
    items = json.loads(
        run("admin", "history", "archive", str(tmp_path / "put away"), "--actor", "ann", "--json").stdout
    )["items"]
    assert {Path(one["file"]).name.partition("_")[0] for one in items} == {"history", "attempts"}
    day = (db.execute(_DAY).fetchone() or (None,))[0]
    with gzip.open(tmp_path / "put away" / f"history_{day:%Y%m%d}.csv.gz", "rt", newline="") as file:
        found = list(csv.DictReader(file))
    assert [(one["client_id"], one["status"]) for one in found] == [("shop", "succeeded")] * 3
    assert {json.loads(one["payload"]) for one in found} == {f'a "quoted", line\n{n}' for n in (1, 2, 3)}
    assert _droppable(db) == (1, 3)
    assert run("admin", "history", "archive", str(tmp_path / "put away")).output == "no days to archive\n"
    assert list((tmp_path / "put away").glob("*.partial")) == []


def test_day_partitions_archived_elsewhere_can_be_marked_as_archived(run: Run) -> None:
    assert run("admin", "history", "mark", "2020-01-30", "2020-02-02").output == "4 marked\n"
    assert json.loads(run("admin", "history", "mark", "2020-02-02", "--json").stdout) == {"marked": []}
    assert run("admin", "history", "mark", "2020-02-02", "2020-02-01").exit_code == 2


def test_a_day_that_is_not_over_cannot_be_marked_as_archived(run: Run) -> None:
    refused = run("admin", "history", "mark", "2999-01-01")
    assert (refused.exit_code, "is not a past day" in refused.stderr) == (2, True)


def test_rows_without_a_day_partition_are_reported_and_adopted(run: Run, db: psycopg.Connection[Any]) -> None:
    db.execute(_ENDED, ["20 days"])
    db.execute("select pg_stat_force_next_flush()")
    told = [one["seen"] for one in json.loads(run("doctor", "--json").stdout)["findings"] if one["check"] == "days"]
    assert "3 rows of history without a partition for their day" in told
    assert json.loads(run("admin", "history", "adopt", "--json").stdout)["items"][0] == {
        "table": "history",
        "outcome": "apart",
    }
    db.execute(_SOON)
    assert "created the missing tables" in run("admin", "history", "adopt").output
    assert json.loads(run("admin", "history", "adopt", "--json").stdout)["items"][0] == {
        "table": "history",
        "outcome": "none",
    }
    assert db.execute("select count(*) from only pgsched_internal.history_default").fetchone() == (0,)
    assert db.execute("select count(*) from pgsched.history").fetchone() == (3,)
