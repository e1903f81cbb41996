"""`pgsched executions why`, and the reasons in listings."""

import json
import re
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from pgsched.cli.why import Around, reasons
from pgsched.store.lookup.row_types import Attempt, Execution
from tests.cli.conftest import Run

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
AT_NOON = Around(now=NOON)
ID = UUID("0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b47")
Db = psycopg.Connection[Any]


def _execution(**given: Any) -> Execution:
    row: dict[str, Any] = dict.fromkeys(field.name for field in fields(Execution))
    row |= {"id": ID, "client": "payments", "queue": "orders", "status": "scheduled", "fire_at": NOON, "attempt": 0}
    return Execution(**row | given)


def _attempt(error: str) -> Attempt:
    return Attempt(attempt=1, finished_at=NOON, duration=None, worker=1, status_code=None, error=error, traceback=None)


def test_the_why_command_shows_when_a_scheduled_execution_is_due() -> None:
    assert reasons(_execution(), Around(now=NOON - timedelta(minutes=5))) == [
        "It is due at 2026-03-01 12:00:00+00:00, in 0:05:00."
    ]


def test_the_why_command_shows_a_retrying_executions_error_and_due_time() -> None:
    row = _execution(status="retrying", attempt=1, reason="503")
    said = reasons(row, Around(now=NOON - timedelta(seconds=30)), attempts=[_attempt("timed out"), _attempt("503")])
    assert said == [
        "Attempt 1 failed at 2026-03-01 12:00:00+00:00: 503",
        "It is due at 2026-03-01 12:00:00+00:00, in 0:00:30.",
    ]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"reason": "waits: the queue is paused"},
            "Its queue orders is paused; resume it with pgsched queues resume orders",
        ),
        ({"reason": "waits: no worker serves the queue"}, "No running worker serves its queue orders"),
        ({"reason": "waits: an open transaction holds a lock"}, "postponed (an open transaction holds a lock)"),
        ({}, "nothing on record holds it back"),
    ],
)
def test_the_why_command_shows_what_a_due_execution_waits_for(given: dict[str, Any], sentence: str) -> None:
    [said] = reasons(_execution(**given), AT_NOON)
    assert sentence in said


def test_the_why_command_shows_that_a_message_waits_for_a_consumer() -> None:
    [said] = reasons(_execution(), Around(now=NOON, is_pulled=True))
    assert "no consumer has yet claimed it from its queue orders" in said


@pytest.mark.parametrize(
    ("held_by", "sentence"),
    [
        ("client:payments", "client payments has reached its limit"),
        ("host:shop.example", "Its host shop.example has reached its limit"),
        ("queue:orders", "Its queue orders has reached its limit"),
        ("key:account-42", "Its key account-42 has reached its limit"),
        ("circuit:shop.example payments", "target host shop.example for the client payments is failing"),
        ("order", "ordering key k comes first, or blocks the key: see pgsched executions blocked --client payments"),
        ("worker:python:settle", "none has python:settle"),
        ("error", "parked (it has a broken row)"),
    ],
)
def test_the_why_command_names_the_gate_that_holds_an_execution(held_by: str, sentence: str) -> None:
    row = _execution(status="held", held_by=held_by, ordering_key="k", reason="it has a broken row", fire_at=None)
    [said] = reasons(row, AT_NOON)
    assert sentence in said


def test_the_why_command_explains_a_held_execution_without_a_gate() -> None:
    held = {"status": "held", "fire_at": None}
    assert reasons(_execution(**held), AT_NOON, waits_for=[ID]) == [f"It waits for {ID} to end."]
    assert "its job's previous run" in reasons(_execution(**held, job_id=ID), AT_NOON)[0]
    assert "infinity" in reasons(_execution(**held), AT_NOON)[0]


def test_the_why_command_names_a_running_executions_lease_holder() -> None:
    running = {"status": "running", "lease_expires_at": NOON}
    assert reasons(_execution(**running, worker=7), AT_NOON)[0].startswith("Worker 7 has it")
    assert reasons(_execution(**running), AT_NOON)[0].startswith("A consumer has it, or its target responded with 202")


def test_the_why_command_shows_how_to_release_a_held_client(
    run: Run, ask: Callable[..., dict[str, Any]], db: Db
) -> None:
    db.execute("select pgsched.schedule('https://x.example/', client => 'shop')")
    db.execute("update pgsched.executions set gate = 'client:shop', fire_at = 'infinity'")
    [row] = ask("list")["items"]
    [limited] = ask("why", row["id"])["why"]
    db.execute("select pgsched.pause('client', 'shop', note => 'unpaid')")
    [held] = ask("why", row["id"])["why"]
    assert "client shop has reached its limit" in limited
    assert held == "Its client shop is held (unpaid); release it with pgsched clients release shop."


@pytest.mark.parametrize("status", ["succeeded", "failed", "expired", "skipped", "cancelled"])
def test_the_why_command_shows_how_an_execution_ended(status: str) -> None:
    [said] = reasons(_execution(status=status, finished_at=NOON, reason="sold out"), AT_NOON)
    assert status in said
    assert ("(sold out)" in said) == (status != "succeeded")


@pytest.fixture
def ask(run: Run, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", database_url)

    def asking(*words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(run("executions", *words, "--json").stdout)
        return found

    return asking


def _timeless(line: str) -> str:
    """Replaces the remaining time, which shrinks between two calls."""
    return re.sub(r"in \d+:\d\d:\d\d", "soon", line)


def test_the_why_command_gives_the_reasons_as_text_and_json(
    run: Run, ask: Callable[..., dict[str, Any]], db: Db
) -> None:
    db.execute("select pgsched.schedule('https://x.example/', delay => '1 hour')")
    db.execute("update pgsched.queues set paused_at = now()")
    [row] = ask("list")["items"]
    found = ask("why", row["id"])
    assert (found["id"], found["status"], len(found["why"])) == (row["id"], "scheduled", 2)
    shown = run("executions", "why", row["id"]).output.splitlines()
    assert [_timeless(line) for line in shown] == [_timeless(line) for line in found["why"]]
    assert ask("why", str(ID))["error"]["code"] == "pgsched.not_found"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ("attempt = 1", "waits: the queue is paused"),
        ("fire_at = 'infinity', scheduled_for = fire_at, gate = 'error'", "503"),
        ("lease_owner = 1, lease_token = 1, lease_expires_at = now() + '1 hour'", None),
    ],
)
def test_the_list_and_show_commands_report_the_same_reason(
    changed: str, reason: str | None, ask: Callable[..., dict[str, Any]], db: Db
) -> None:
    db.execute("select pgsched.schedule('https://x.example/')")
    db.execute("update pgsched.queues set paused_at = now()")
    db.execute(f"update pgsched.executions set reason = '503', {changed}".encode())
    [listed] = ask("list")["items"]
    assert listed["reason"] == reason == ask("show", listed["id"])["reason"]
    assert listed["held_by"] == ask("show", listed["id"])["held_by"]
