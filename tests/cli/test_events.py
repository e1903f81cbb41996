"""``pgsched events``."""

import json
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.conftest import Connection
from tests.store.store_arrange import call, schedule


@pytest.fixture(autouse=True)
def _database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", database_url)


def _end(db: Connection, **given: Any) -> str:
    id = schedule(db, **given)
    call(db, "cancel", id=id, note="not wanted")
    return str(id)


def _shown(run: Run, *words: str) -> dict[str, Any]:
    result = run("events", *words, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_ended_executions_are_listed_page_by_page(db: Connection, run: Run) -> None:
    ids = [_end(db, client=client) for client in ("shop", "orders", "shop")]
    first = _shown(run, "--limit", "2")
    assert [event["id"] for event in first["items"]] == ids[:2]
    rest = _shown(run, "--after", first["next"])
    assert [event["id"] for event in rest["items"]] == ids[2:]
    assert _shown(run, "--after", rest["next"])["items"] == []
    of_shop = _shown(run, "--client", "shop", "--status", "cancelled", "--limit", "1")
    assert [event["id"] for event in of_shop["items"]] == ids[:1]
    assert _shown(run, "--status", "failed")["items"] == []


def test_older_events_are_listed_only_with_the_since_flag(db: Connection, run: Run) -> None:
    _end(db)
    db.execute("update pgsched.history set finished_at = now() - interval '2 hours'")
    last = _end(db)
    assert [event["id"] for event in _shown(run)["items"]] == [last]
    assert len(_shown(run, "--since", "3h")["items"]) == 2


def test_without_the_json_flag_events_are_printed_as_a_table(db: Connection, run: Run) -> None:
    id = _end(db, client="shop")
    shown = run("events").stdout
    assert id in shown
    assert "not wanted" in shown
    assert "no executions have ended" in run("events", "--client", "orders").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--after", "x"], "not the id of an event"), (["--since", "soon"], "duration"), (["--status", "held"], "held")],
)
def test_invalid_flag_values_are_refused(run: Run, words: list[str], said: str) -> None:
    result = run("events", *words, "--json")
    assert result.exit_code == 2
    assert said in result.output
