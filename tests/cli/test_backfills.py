"""Backfills from the command line."""

import json
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from pgsched.store.jobs import backfills
from tests.cli.conftest import Run

Db = psycopg.Connection[Any]
DAY = ["--from", "2026-03-01T00:00:00Z", "--to", "2026-03-02T00:00:00Z"]


@pytest.fixture
def job(run: Run, database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", database_url)
    return run("schedule", "notify:a", "--cron", "0 * * * *").output.strip()


def test_a_dry_run_counts(run: Run, job: str, db: Db) -> None:
    assert run("jobs", "backfill", job, *DAY, "--dry-run").output == "24 instants, 0 have succeeded, 24 to run\n"
    assert db.execute("select count(*) from pgsched.backfills").fetchone() == (0,)


def test_a_backfill_is_started_listed_and_cancelled(run: Run, job: str, db: Db) -> None:
    started = json.loads(run("jobs", "backfill", job, *DAY, "--rate", "0.5", "--json").output)
    assert (started["instants"], started["to_run"], started["job_id"]) == (24, 24, job)
    [item] = json.loads(run("jobs", "backfills", job, "--json").output)["items"]
    assert (item["id"], item["rate"], item["state"]) == (started["id"], 0.5, "active")
    assert "[..........] 0 %" in run("jobs", "backfills", job).output
    assert run("jobs", "cancel-backfill", item["id"], "--actor", "ann").output == "cancelled\n"
    assert run("jobs", "cancel-backfill", item["id"]).output == "had ended before\n"
    log = db.execute(
        "select actor = current_user, actor, action from pgsched.audit_log where action <> 'insert' order by id"
    ).fetchall()
    assert [(found[0], found[2]) for found in log] == [(True, "backfill"), (False, "cancel backfill")]
    assert log[1][1] == "ann"


def test_a_backfill_is_followed(run: Run, job: str, db: Db, monkeypatch: pytest.MonkeyPatch) -> None:
    get = backfills.get

    async def finished(connection: Any, id: UUID) -> backfills.Backfill:
        db.execute("update pgsched.backfills set state = 'finished', planned = 24")
        return await get(connection, id)

    monkeypatch.setattr(backfills, "get", finished)
    found = run("jobs", "backfill", job, *DAY, "--watch")
    assert found.stdout.endswith("\n24 instants, 0 have succeeded, 24 to run\n")
    assert found.stderr == "backfill: 24 planned, 0 passed over, 24 finished, 0 failed\n"
    assert run("jobs", "backfill", job, *DAY, "--dry-run", "--watch").stderr == ""


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--from", "2026-03-01T00:00:00Z"], 2, "--to"),
        ([*DAY, "--rate", "0"], 2, "rate cannot be 0"),
        (["--from", "2026-03-01", "--to", "2026-03-02T00:00:00Z"], 2, "has no offset"),
        (["--from", "2026-03-01T00:00:00Z", "--to", "8999-03-02T00:00:00Z"], 2, "cannot end in the future"),
    ],
)
def test_what_cannot_be_meant_is_refused(run: Run, job: str, words: list[str], status: int, message: str) -> None:
    result = run("jobs", "backfill", job, *words)
    assert (result.exit_code, message in result.output) == (status, True), result.output


def test_unknown_jobs_and_backfills_are_not_found(run: Run, job: str) -> None:
    unknown = str(uuid4())
    for words in (["backfill", unknown, *DAY], ["backfills", unknown], ["cancel-backfill", unknown]):
        assert run("jobs", *words).exit_code == 1
