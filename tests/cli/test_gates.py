"""Sidelined targets and blocked ordering keys from the command line."""

import json
from typing import Any

import psycopg
import pytest

from tests.api.test_gates import BLOCK
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def _here(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", database_url)


def test_a_host_can_be_sidelined_listed_and_restored(run: Run) -> None:
    words = ("targets", "sideline", "shop.example", "--client", "payments", "--note", "moving", "--actor", "ann")
    assert run(*words).output == "sidelined\n"
    assert run(*words).output == "was already sidelined\n"
    assert "moving" in run("targets", "list").output
    [item] = json.loads(run("targets", "list", "--client", "payments", "--json").output)["items"]
    assert (item["host"], item["state"], item["until"]) == ("shop.example", "by hand", None)
    assert run("targets", "restore", "shop.example", "--client", "payments").output == "restored\n"
    assert run("targets", "restore", "shop.example", "--client", "payments").output == "was not sidelined\n"


def test_a_message_replaces_an_empty_list_of_hosts_or_ordering_keys(run: Run) -> None:
    assert run("targets", "list").output == "no hosts are sidelined\n"
    assert run("executions", "blocked").output == "no ordering key is blocked\n"


def test_a_blocked_ordering_key_can_be_listed_and_unblocked(run: Run, db: psycopg.Connection[Any]) -> None:
    db.execute(BLOCK.encode(), {"key": "account-42"})
    assert "account-42" in run("executions", "blocked").output
    page = json.loads(run("executions", "blocked", "--limit", "1", "--json").output)
    assert ([item["waiting"] for item in page["items"]], page["next"]) == ([1], None)
    last = page["items"][0]["execution_id"]
    assert json.loads(run("executions", "blocked", "--after", last, "--json").output)["items"] == []
    assert run("executions", "unblock", "payments", "account-42").output == "unblocked\n"
    assert run("executions", "unblock", "payments", "account-42").output == "was not blocked\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["targets", "sideline", "https://shop.example/"], "shop.example"),
        (["targets", "sideline", "shop.example", "--until", "2020-01-01T00:00:00Z"], "until"),
        (["targets", "sideline", "shop.example", "--until", "2040-01-01"], "offset"),
        (["targets", "sideline", "shop.example", "--client", ""], "payments"),
        (["targets", "restore", ""], "1 to 300"),
        (["executions", "blocked", "--after", "x"], "after"),
    ],
)
def test_invalid_gate_commands_are_refused(run: Run, words: list[str], message: str) -> None:
    result = run(*words)
    assert (result.exit_code, message in result.output) == (2, True), result.output
