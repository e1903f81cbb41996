"""``pgsched admin recover``: preview what a restored database would fire, and release it."""

import json
from typing import Any

import psycopg
import pytest

from tests.cli.conftest import Run

_DUE = """
insert into pgsched.executions (client_id, target, fire_at)
select client, 'https://shop.example/settle', now() - due::interval
  from (values ('shop', '2 days'), ('shop', '10 minutes'), ('bank', '3 hours'), ('bank', '-1 day')) v(client, due)"""


@pytest.fixture(autouse=True)
def _here(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", database_url)


@pytest.fixture
def copied(db: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """A database with due executions, copied from another server."""
    db.execute("select why from pgsched_internal.check_same_server()")
    db.execute("update pgsched_internal.fleet set system_identifier = system_identifier - 1")
    db.execute(_DUE)
    return db


def test_previewing_a_copys_recovery_leaves_the_copy_held(run: Run, copied: psycopg.Connection[Any]) -> None:
    result = run("admin", "recover")
    assert "this database is a copy" in result.output
    assert "shop.example" in result.output
    assert "pgsched admin recover --release" in result.stderr
    found = json.loads(run("admin", "recover", "--json").stdout)
    assert {(one["client"], one["executions"]) for one in found["overdue"]} == {("shop", 2), ("bank", 1)}
    assert (found["released"], len(found["oldest"])) == (False, 3)
    assert "held for recovery" in run("status").output
    [finding] = [one for one in json.loads(run("doctor", "--json").output)["findings"] if one["check"] == "recovery"]
    assert (finding["severity"], "pgsched admin recover" in finding["do"]) == ("error", True)
    assert copied.execute("select count(*) from pgsched.executions where fire_at <= now()").fetchone() == (3,)


def test_a_release_can_skip_and_spread_executions_and_hold_clients(run: Run, copied: psycopg.Connection[Any]) -> None:
    words = ("--skip-older-than", "1h", "--rate", "5", "--hold-client", "bank", "--note", "restored", "--actor", "ann")
    found = json.loads(run("admin", "recover", "--release", *words, "--json").stdout)
    assert (found["released"], found["skipped"], found["spread"]) == (True, 2, 1)
    assert (
        copied.execute("select status::text, reason from pgsched.history").fetchall() == [("cancelled", "restored")] * 2
    )
    assert copied.execute("select held_since from pgsched.installation").fetchone() == (None,)
    assert copied.execute("select client_id from pgsched.clients where state = 'held'").fetchall() == [("bank",)]
    assert copied.execute("select why from pgsched_internal.check_same_server()").fetchone() == (None,)
    actions = copied.execute("select action from pgsched.audit_log where actor = 'ann' order by id").fetchall()
    assert [action for (action,) in actions] == ["pause", "bulk cancel", "resume"]


def test_an_installation_can_be_held_manually(run: Run, copied: psycopg.Connection[Any]) -> None:
    assert run("admin", "recover", "--release").output.startswith("released")
    assert run("admin", "recover").output.startswith("not held")
    assert "held since" in run("admin", "recover", "--hold", "--note", "a copy for staging").output
    assert copied.execute("select reason from pgsched.installation").fetchone() == ("a copy for staging",)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rate", "5"], "need --release"),
        (["--hold", "--release"], "cannot be combined"),
        (["--release", "--rate", "0"], "--rate"),
        (["--release", "--skip-older-than", "soon"], "--skip-older-than"),
    ],
)
def test_invalid_recovery_flags_are_refused(run: Run, words: list[str], message: str) -> None:
    result = run("admin", "recover", *words)
    assert (result.exit_code, message in result.output) == (2, True), result.output


def test_installation_settings_can_be_changed_and_shown(run: Run) -> None:
    words = (
        "admin",
        "installation",
        "set",
        "--history-days",
        "60",
        "--hold-after-absence",
        "2d",
        "--clear",
        "hold-after-restart",
    )
    assert run(*words).output == "set\n"
    assert run(*words).output == "unchanged\n"
    found = json.loads(run("admin", "installation", "show", "--json").output)
    assert (found["history_days"], found["hold_after_restart"]) == (60, None)
