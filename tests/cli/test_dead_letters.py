"""Dead letters from the command line."""

import json
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.cli.conftest import Run
from tests.store.ends.dead_letter_arrange import dead_letter

Db = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def _database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", database_url)


def answer(run: Run, *words: str) -> Any:
    result = run("dead-letters", *words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_they_are_listed_with_why(run: Run, db: Db) -> None:
    id = dead_letter(db, client="payments")
    dead_letter(db, client="billing")
    shown = run("dead-letters", "list", "--client", "payments", "--host", "shop.example").output
    assert str(id) in shown
    assert "503 Service Unavailable" in shown
    assert [item["id"] for item in answer(run, "list", "--client", "payments")["items"]] == [str(id)]
    assert run("dead-letters", "list", "--state", "discarded").output == "no dead letters\n"
    newest = answer(run, "list")["items"]
    assert answer(run, "list", "--sort", "oldest")["items"] == newest[::-1]


def test_one_is_shown_with_its_tries(run: Run, db: Db) -> None:
    id = dead_letter(db)
    assert "503 Service Unavailable" in run("dead-letters", "show", str(id)).output
    assert [attempt["attempt"] for attempt in answer(run, "show", str(id))["attempts"]] == [5]


def test_one_is_replayed_with_other_values(run: Run, db: Db) -> None:
    id = str(dead_letter(db, payload={"n": 1}))
    words = ["--new-target", "python:repaired", "--payload", '{"n": 2}', "--option", "timeout=9s", "--note", "moved"]
    new = answer(run, "replay", id, *words)
    assert run("dead-letters", "replay", id).output == f"{new['id']}\n"
    found = db.execute("select id::text, target::text, payload, options from pgsched.executions").fetchall()
    assert found == [(new["id"], "python:repaired", {"n": 2}, {"timeout": "9s"})]


def test_many_are_counted_replayed_listed_and_cancelled(run: Run, db: Db) -> None:
    dead_letter(db)
    assert run("dead-letters", "replay", "--client", "default", "--dry-run").output == "1 dead letters\n"
    started = answer(
        run, "replay", "--client", "default", "--rate", "0.5", "--new-target", "python:a", "--actor", "ann"
    )
    assert (started["matched"], started["complete"]) == (1, True)
    [item] = answer(run, "replays")["items"]
    assert (item["id"], item["rate"], item["target"], item["actor"]) == (started["id"], 0.5, "python:a", "ann")
    assert '{"client": "default"}' in run("dead-letters", "replays").output
    assert run("dead-letters", "cancel-replay", item["id"]).output == "cancelled\n"
    assert run("dead-letters", "cancel-replay", item["id"]).output == "had ended before\n"


def test_they_are_discarded_one_by_one_and_by_a_filter(run: Run, db: Db) -> None:
    one, _, _ = (str(dead_letter(db)) for _ in range(3))
    assert run("dead-letters", "discard", one, "--note", "known", "--actor", "ann").output == "discarded\n"
    assert run("dead-letters", "discard", one).output == "was discarded already\n"
    assert answer(run, "discard", "--reason", "service unavailable") == {"discarded": 2}
    assert len(answer(run, "list", "--state", "discarded")["items"]) == 3


def test_what_is_not_there_is_not_found(run: Run) -> None:
    unknown = str(uuid4())
    for verb in ("show", "replay", "discard", "cancel-replay"):
        assert run("dead-letters", verb, unknown).exit_code == 1
