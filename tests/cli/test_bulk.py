"""Executions cancelled and rescheduled many at once from the command line."""

import json
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.cli.conftest import Run
from tests.store.store_arrange import schedule

Db = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def _database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", database_url)


def answer(run: Run, *words: str) -> Any:
    result = run("bulk", *words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_many_are_counted_cancelled_shown_and_stopped(run: Run, db: Db) -> None:
    schedule(db, client="shop", labels={"team": "mail"})
    schedule(db, client="shop")
    assert run("bulk", "cancel", "--client", "shop", "--dry-run").output == "2 executions\n"
    words = ("--label", "team=mail", "--status", "scheduled", "--rate", "0.5", "--note", "taken back", "--actor", "ann")
    started = answer(run, "cancel", *words)
    assert (started["matched"], started["complete"]) == (1, True)
    [item] = answer(run, "list")["items"]
    assert (item["id"], item["verb"], item["rate"], item["actor"]) == (started["id"], "cancel", 0.5, "ann")
    assert item["filter"] == {"labels": {"team": "mail"}, "status": ["scheduled"]}
    assert answer(run, "show", started["id"]) == item
    assert run("bulk", "stop", started["id"]).output == "stopped\n"
    assert run("bulk", "stop", started["id"]).output == "had ended before\n"


def test_many_are_moved(run: Run, db: Db) -> None:
    schedule(db, client="shop")
    by = answer(run, "reschedule", "--client", "shop", "--by", "-15m")["id"]
    at = answer(run, "reschedule", "--client", "shop", "--at", "2031-03-01T09:00:00Z")["id"]
    assert (answer(run, "show", by)["shift"], answer(run, "show", at)["fire_at"]) == ("-PT900S", "2031-03-01T09:00:00Z")
    assert '{"client": "shop"}' in run("bulk", "list").output


@pytest.mark.parametrize(
    "words",
    [
        ["cancel"],
        ["cancel", "--status", "held"],
        ["cancel", "--client", "shop", "--status", "failed"],
        ["cancel", "--client", "shop", "--rate", "0"],
        ["cancel", "--label", "team"],
        ["reschedule", "--client", "shop"],
        ["reschedule", "--client", "shop", "--by", "soon"],
        ["reschedule", "--client", "shop", "--by", "1h", "--at", "2031-03-01T09:00:00Z"],
    ],
)
def test_what_cannot_be_meant_is_refused(run: Run, db: Db, words: list[str]) -> None:
    assert run("bulk", *words).exit_code == 2
    assert db.execute("select count(*) from pgsched.bulk_changes").fetchone() == (0,)


def test_what_is_not_there_is_not_found(run: Run) -> None:
    for verb in ("show", "stop"):
        assert run("bulk", verb, str(uuid4())).exit_code == 1
