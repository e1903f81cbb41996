"""Bulk operations from the command line."""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from pgsched.cli import bulk
from pgsched.cli.bulk import watch_to_its_end
from pgsched.cli.reply import Reply
from pgsched.errors import Conflict
from pgsched.store.bulk.operation_types import BulkOperation
from pgsched.store.lookup.bulk_pages import get_operation
from tests.cli.conftest import Run
from tests.store.ends.dead_letter_arrange import dead_letter
from tests.store.store_arrange import schedule

Db = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def _database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", database_url)


def answer(run: Run, *words: str) -> Any:
    result = run("bulk", *words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_a_bulk_cancel_can_be_counted_started_shown_and_stopped(run: Run, db: Db) -> None:
    schedule(db, client="shop", labels={"team": "mail"})
    schedule(db, client="shop")
    assert run("bulk", "cancel", "--client", "shop", "--dry-run").output == "2\n"
    words = ("--label", "team=mail", "--status", "scheduled", "--rate", "0.5", "--note", "taken back", "--actor", "ann")
    started = answer(run, "cancel", *words)
    assert (started["matched"], started["complete"]) == (1, True)
    [item] = answer(run, "list")["items"]
    assert (item["id"], item["action"], item["rate"], item["actor"]) == (started["id"], "cancel", 0.5, "ann")
    assert item["filter"] == {"labels": {"team": "mail"}, "status": ["scheduled"]}
    assert answer(run, "show", started["id"]) == item | {"runs": None}
    assert run("bulk", "stop", started["id"]).output == "stopped\n"
    assert run("bulk", "stop", started["id"]).output == "had already ended\n"


def test_a_bulk_reschedule_accepts_a_shift_or_an_instant(run: Run, db: Db) -> None:
    schedule(db, client="shop")
    by = answer(run, "reschedule", "--client", "shop", "--by", "-15m")["id"]
    at = answer(run, "reschedule", "--client", "shop", "--fire-at", "2031-03-01T09:00:00Z")["id"]
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
        ["reschedule", "--client", "shop", "--by", "1h", "--fire-at", "2031-03-01T09:00:00Z"],
    ],
)
def test_invalid_bulk_commands_are_refused(run: Run, db: Db, words: list[str]) -> None:
    assert run("bulk", *words).exit_code == 2
    assert db.execute("select count(*) from pgsched.bulk_operations").fetchone() == (0,)


def test_dead_letters_are_replayed_and_discarded_in_bulk(run: Run, db: Db) -> None:
    dead_letter(db, client="shop")
    words = ("--client", "shop", "--reason", "503", "--rate", "0.5", "--new-target", "python:repaired")
    started = answer(run, "replay", *words)
    assert started["matched"] == 1
    shown = answer(run, "show", started["id"])
    assert (shown["total"], shown["rate"], shown["target"]) == (1, 0.5, "python:repaired")
    answer(run, "discard", "--client", "shop")
    assert [item["rate"] for item in answer(run, "list", "--action", "discard")["items"]] == [1000]


def test_pausing_resuming_or_cancelling_jobs_in_bulk_finishes_immediately(run: Run, db: Db) -> None:
    schedule(db, client="shop", every="1 hour", labels={"team": "mail"})
    for action, state in (("pause", "paused"), ("resume", "active"), ("cancel-jobs", "cancelled")):
        found = run("bulk", action, "--label", "team=mail", "--watch")
        assert (found.exit_code, found.stderr.endswith(": 1 done, 0 skipped, 0 failed\n")) == (0, True), found.output
        assert db.execute("select state::text from pgsched.jobs").fetchone() == (state,)


def test_a_backfill_can_be_counted_started_listed_and_watched(
    run: Run, db: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule(db, client="shop", key="hourly", cron="0 * * * *")
    day = ("--job", "hourly", "--from", "2026-03-01T00:00:00Z", "--to", "2026-03-02T00:00:00Z")
    assert run("bulk", "backfill", *day, "--dry-run").output == "24\n"
    started = answer(run, "backfill", *day, "--rate", "0.5")
    [item] = answer(run, "list", "--job", "hourly")["items"]
    assert (item["id"], item["rate"], item["action"]) == (started["id"], 0.5, "backfill")
    db.execute("update pgsched.bulk_operations set state = 'finished', total = 24, done = 24")
    text = "backfill: 24 done, 0 skipped, 0 failed; 24 runs have finished, of which 0 failed\n"
    assert run("bulk", "show", started["id"], "--watch").stderr == text
    for wrong in (day[2:], (*day[:5], "8999-03-02T00:00:00Z"), (*day, "--rate", "0")):
        assert run("bulk", "backfill", *wrong).exit_code == 2, wrong


def test_an_unknown_bulk_operation_is_not_found(run: Run) -> None:
    for verb in ("show", "stop"):
        assert run("bulk", verb, str(uuid4())).exit_code == 1


def test_watching_an_ended_operation_returns_immediately(run: Run, db: Db) -> None:
    schedule(db, client="shop")
    started = answer(run, "cancel", "--client", "shop")["id"]
    db.execute("update pgsched.bulk_operations set state = 'finished', done = 1")
    found = run("bulk", "show", started, "--watch", "--json")
    assert (found.exit_code, json.loads(found.stdout)["id"]) == (0, started)
    assert found.stderr == "cancel: 1 done, 0 skipped, 0 failed\n"
    db.execute("update pgsched.bulk_operations set state = 'stopped'")
    found = run("bulk", "show", started, "--watch")
    assert (found.exit_code, "ended early: it was stopped" in found.stderr) == (1, True)


def test_the_watch_flag_follows_a_new_operation_to_its_end(run: Run, db: Db, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule(db, client="shop")
    end = "update pgsched.bulk_operations set state = 'finished', done = 1"
    monkeypatch.setattr(bulk, "_LOOKS_APART", 0)

    async def ended(connection: Any, id: Any) -> BulkOperation:
        found = await get_operation(connection, id)
        db.execute(end)
        return found

    monkeypatch.setattr("pgsched.store.lookup.bulk_pages.get_operation", ended)
    for words in (["cancel"], ["reschedule", "--by", "1h"]):
        found = run("bulk", *words, "--client", "shop", "--watch")
        assert found.stdout.endswith("1\n")
        assert found.stderr.endswith(f"{words[0]}: 1 done, 0 skipped, 0 failed\n")
    assert run("bulk", "cancel", "--client", "shop", "--dry-run", "--watch").output == "1\n"


def _seen(*states: tuple[str, int]) -> Iterator[SimpleNamespace]:
    for state, done in states:
        reason = "a lock" if done == 5 else None
        counts = {"done": done, "skipped": 1, "failed": 0, "total": 10, "runs": None}
        yield SimpleNamespace(id="the-id", action="cancel", state=state, reason=reason, **counts)


def test_the_watch_flag_prints_a_line_whenever_the_progress_changes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "_LINES_APART", 0)
    monkeypatch.setattr(bulk, "_LOOKS_APART", 0)
    looks: Any = _seen(("active", 0), ("active", 0), ("active", 5), ("finished", 9))
    watch_to_its_end(lambda: next(looks), Reply(as_json=False))
    assert capsys.readouterr().err.splitlines() == [
        "cancel: 0 done, 1 skipped, 0 failed, 10%",
        "cancel: 5 done, 1 skipped, 0 failed, 60%, a lock",
        "cancel: 9 done, 1 skipped, 0 failed",
    ]
    looks = _seen(("active", 0), ("cancelled", 5))
    with pytest.raises(Conflict, match="the-id ended early: a lock"):
        watch_to_its_end(lambda: next(looks), Reply(as_json=False))
