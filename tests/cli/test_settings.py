"""Clients, queues and limits from the command line."""

import json
from typing import Any

import psycopg
import pytest

from pgsched.sealing import new_key
from tests.cli.conftest import Run

Db = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def _here(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", database_url)
    monkeypatch.setenv("PGSCHED_SECRET_KEYS", new_key())


@pytest.fixture
def ask(run: Run) -> Any:
    def asked(*words: str) -> Any:
        result = run(*words, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.output)

    return asked


def test_a_dead_letter_target_can_be_set_and_cleared(ask: Any) -> None:
    ask("clients", "set", "shop", "--dead-letter-target", "python:dead", "--dead-letters-for", "90d")
    shown = ask("clients", "show", "shop")
    assert (shown["dead_letter_target"], shown["dead_letters_for"]) == ("python:dead", "P90D")
    ask("clients", "set", "shop", "--clear", "dead-letter-target", "--clear", "dead-letters-for")
    shown = ask("clients", "show", "shop")
    assert (shown["dead_letter_target"], shown["dead_letters_for"]) == (None, "P365D")


def test_client_settings_can_be_changed_and_shown(run: Run, ask: Any, db: Db) -> None:
    words = (
        "clients",
        "set",
        "shop",
        "--option",
        "timeout=5s",
        "--weight",
        "5",
        "--keep",
        "failures",
        "--actor",
        "ann",
    )
    assert ask(*words) == {"client": "shop", "changed": True}
    assert run(*words).output == "unchanged\n"
    assert ask("clients", "set", "shop", "--clear", "weight", "--channel", "http")["changed"] is True
    assert ask("clients", "show", "shop")["channels"] == ["http"]
    assert ask("clients", "set", "shop", "--clear", "channels")["changed"] is True
    shown = ask("clients", "show", "shop")
    assert (shown["options"], shown["weight"], shown["keep"], shown["state"]) == (
        {"timeout": "5s"},
        1,
        "failures",
        "active",
    )
    assert "failures" in run("clients", "show", "shop").output
    assert [item["client"] for item in ask("clients", "list")["items"]] == ["default", "shop"]
    assert "shop" in run("clients", "list").output
    assert db.execute("select actor from pgsched.audit_log where id = 1").fetchone() == ("ann",)


def test_a_client_can_be_held_released_and_dropped(run: Run) -> None:
    assert run("clients", "hold", "shop", "--note", "unpaid").output == "held\n"
    assert "unpaid" in run("clients", "list").output
    assert run("clients", "hold", "shop").output == "was already held\n"
    assert run("clients", "release", "shop").output == "released\n"
    assert run("clients", "release", "shop").output == "was not held\n"
    assert run("clients", "drop", "shop").output == "dropped\n"
    assert run("clients", "drop", "shop").output == "had no settings\n"


def test_a_signing_secret_can_be_rotated_shown_in_part_and_dropped(run: Run, ask: Any) -> None:
    secret = run("clients", "rotate-signing-secret", "shop").output.strip()
    given = "whsec_" + "A" * 32
    assert (
        run("clients", "rotate-signing-secret", "shop", "--secret", "-", "--keep-for", "0s", input=given).output.strip()
        == given
    )
    shown = run("clients", "show", "shop").output
    assert "AAAA" in shown
    assert secret[-4:] not in shown
    assert run("clients", "drop-signing-secret", "shop").output == "dropped\n"
    assert run("clients", "drop-signing-secret", "shop").output == "did not exist\n"


def test_a_queue_can_be_created_set_paused_and_dropped(run: Run, ask: Any) -> None:
    assert ask("queues", "create", "orders", "--max-waiting", "10", "--option", "timeout=5s") == {"name": "orders"}
    assert run("queues", "set", "orders", "--weight", "3", "--clear", "options").output == "set\n"
    shown = ask("queues", "show", "orders")
    assert (shown["max_waiting"], shown["weight"], shown["options"], shown["waiting"]) == (10, 3, None, 0)
    assert run("queues", "pause", "orders", "--note", "later").output == "paused\n"
    assert "later" in run("queues", "list").output
    assert run("queues", "resume", "orders").output == "resumed\n"
    assert run("queues", "drop", "orders").output == "dropped\n"
    assert [item["name"] for item in ask("queues", "list")["items"]] == ["default"]


def test_executions_can_be_listed_by_queue(ask: Any) -> None:
    ask("queues", "create", "orders")
    id = ask("schedule", "python:x", "--queue", "orders", "--delay", "1h")["id"]
    assert [item["id"] for item in ask("executions", "list", "--queue", "orders")["items"]] == [id]
    assert ask("queues", "show", "orders")["waiting"] == 1


def test_a_limit_can_be_set_listed_and_dropped(run: Run, ask: Any) -> None:
    words = ("limits", "set", "host", "shop.example", "--rate", "100", "--per", "1m", "--burst", "10")
    assert ask(*words) == {"kind": "host", "name": "shop.example", "changed": True}
    assert run(*words).output == "unchanged\n"
    [item] = ask("limits", "list", "--kind", "host")["items"]
    assert (item["rate"], item["per"], item["burst"], item["concurrency"]) == (100, "PT60S", 10, None)
    assert "shop.example" in run("limits", "list").output
    assert run("limits", "drop", "host", "shop.example").output == "dropped\n"
    assert run("limits", "drop", "host", "shop.example").output == "did not exist\n"
    assert run("limits", "list").output == "no limits\n"


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["clients", "show", "nobody"], 1, "has no settings"),
        (["clients", "set", "shop", "--weight", "101"], 2, "1 to 100"),
        (["clients", "set", "shop", "--weight", "heavy"], 2, "--weight"),
        (["clients", "set", "shop", "--dead-letter-target", "dead"], 2, "https://"),
        (["clients", "set", "shop", "--dead-letters-for", "1m"], 2, "90d"),
        (["clients", "set", "shop", "--keep", "some"], 2, "all, failures or nothing"),
        (["clients", "set", "shop", "--option", "timeout=soon"], 2, "PT5S"),
        (["clients", "set", "shop", "--option", "on_success=python:x"], 2, "each execution"),
        (["clients", "set", "shop", "--weight", "5", "--clear", "weight"], 2, "leave one of them out"),
        (["clients", "set", "", "--weight", "5"], 2, "1 to 100 characters"),
        (["clients", "drop", "default"], 1, "cannot be dropped"),
        (["clients", "rotate-signing-secret", "shop", "--secret", "secret"], 2, "standard input"),
        (["clients", "rotate-signing-secret", "shop", "--keep-for", "soon"], 2, "write"),
        (["queues", "create", "Orders"], 2, "for example orders"),
        (["queues", "create", "default"], 1, "already"),
        (["queues", "create", "orders", "--max-waiting", "0"], 2, "max_waiting"),
        (["queues", "set", "default"], 2, "there is nothing to change"),
        (["queues", "set", "nowhere", "--weight", "2"], 1, "there is no queue"),
        (["queues", "show", "nowhere"], 1, "there is no queue"),
        (["queues", "pause", "nowhere"], 1, "there is no queue"),
        (["queues", "drop", "default"], 1, "cannot be dropped"),
        (["limits", "set", "client", "shop"], 2, "concurrency"),
        (["limits", "set", "circuit", "shop", "--rate", "1"], 2, "client"),
        (["limits", "set", "client", "shop", "--rate", "0"], 2, "1 to 1000000"),
        (["limits", "set", "client", "shop", "--rate", "1", "--per", "soon"], 2, "write"),
        (["limits", "set", "queue", "nowhere", "--rate", "1"], 1, "there is no queue"),
    ],
)
def test_invalid_settings_are_refused(run: Run, words: list[str], status: int, message: str) -> None:
    result = run(*words)
    assert (result.exit_code, message in result.output) == (status, True), result.output
