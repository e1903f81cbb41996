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


def test_dead_letters_are_listed_with_their_reason(run: Run, db: Db) -> None:
    id = dead_letter(db, client="payments")
    dead_letter(db, client="billing")
    shown = run("dead-letters", "list", "--client", "payments", "--host", "shop.example").output
    assert str(id) in shown
    assert "503 Service Unavailable" in shown
    assert [item["id"] for item in answer(run, "list", "--client", "payments")["items"]] == [str(id)]
    assert run("dead-letters", "list", "--state", "discarded").output == "no dead letters\n"
    newest = answer(run, "list")["items"]
    assert answer(run, "list", "--sort", "oldest")["items"] == newest[::-1]


def test_a_dead_letter_is_shown_with_its_attempts(run: Run, db: Db) -> None:
    id = dead_letter(db)
    assert "503 Service Unavailable" in run("dead-letters", "show", str(id)).output
    assert [attempt["attempt"] for attempt in answer(run, "show", str(id))["attempts"]] == [5]


def test_a_dead_letter_can_be_replayed_with_changes(run: Run, db: Db) -> None:
    id = str(dead_letter(db, payload={"n": 1}))
    words = ["--new-target", "python:repaired", "--payload", '{"n": 2}', "--option", "timeout=9s", "--note", "moved"]
    new = answer(run, "replay", id, *words)
    assert run("dead-letters", "replay", id).output == f"{new['id']}\n"
    found = db.execute("select id::text, target::text, payload, options from pgsched.executions").fetchall()
    assert found == [(new["id"], "python:repaired", {"n": 2}, {"timeout": "9s"})]


def test_a_dead_letter_can_be_discarded(run: Run, db: Db) -> None:
    one, _ = (str(dead_letter(db)) for _ in range(2))
    assert run("dead-letters", "discard", one, "--note", "known", "--actor", "ann").output == "discarded\n"
    assert run("dead-letters", "discard", one).output == "was already discarded\n"
    assert [item["id"] for item in answer(run, "list", "--state", "discarded")["items"]] == [one]


def test_an_unknown_dead_letter_is_not_found(run: Run) -> None:
    unknown = str(uuid4())
    for verb in ("show", "replay", "discard"):
        assert run("dead-letters", verb, unknown).exit_code == 1
