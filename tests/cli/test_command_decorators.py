"""The answers of commands that query and change the database."""

import json
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.adversary.house import as_login
from tests.cli.conftest import Run
from tests.conftest import at

Db = psycopg.Connection[Any]
TARGET = "https://shop.example/settle"


@pytest.fixture
def ask(run: Run, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command with --json on the test's database and returns the decoded output."""
    monkeypatch.setenv("PGSCHED_DATABASE_URL", database_url)

    def asking(*words: str, **options: Any) -> dict[str, Any]:
        result = run(*words, "--json", **options)
        assert result.exit_code == 0, result.output
        found: dict[str, Any] = json.loads(result.stdout)
        return found

    return asking


def test_the_schedule_commands_flags_are_stored_in_the_execution(ask: Any, db: Db) -> None:
    answer = ask(
        "schedule", TARGET, "--fire-at", "2030-03-01T09:00:00+01:00", "--payload", '{"merchant": 42}',
        "--client", "payments", "--key", "k", "--option", "timeout=5s", "--option", "max_attempts=3",
    )  # fmt: skip
    row = db.execute(
        "select id, fire_at = '2030-03-01T08:00:00Z', payload, client_id, key, options from pgsched.status"
    ).fetchone()
    assert row is not None
    assert (str(row[0]), row[1:]) == (
        answer["id"],
        (True, {"merchant": 42}, "payments", "k", {"timeout": "5s", "max_attempts": 3}),
    )
    assert (answer["kind"], answer["outcome"]) == ("execution", "created")


def test_on_conflict_keep_preserves_the_waiting_execution(ask: Any, db: Db) -> None:
    first = ask("schedule", TARGET, "--key", "k", "--payload", "1", "--delay", "1h")
    assert ask("schedule", TARGET, "--key", "k", "--payload", "2", "--on-conflict", "keep") == first | {
        "outcome": "existing"
    }
    assert db.execute("select payload from pgsched.status").fetchone() == (1,)


def test_a_payload_is_read_from_standard_input(ask: Any, db: Db) -> None:
    ask("schedule", TARGET, "--payload", "-", input='{"from": "stdin"}')
    assert db.execute("select payload from pgsched.status").fetchone() == ({"from": "stdin"},)


def test_a_jobs_gap_and_overlap_rules_are_stored_as_given(ask: Any) -> None:
    cron = ["--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--gap", "skip", "--overlap", "both"]
    answer = ask("schedule", TARGET, *cron)
    assert answer["kind"] == "job"
    wanted = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "gap": "skip", "overlap": "both"}
    assert ask("jobs", "show", answer["id"])["schedule"] == wanted


def test_a_job_can_be_paused_resumed_triggered_and_cancelled(ask: Any) -> None:
    id = ask("schedule", TARGET, "--every", "15m")["id"]
    assert ask("jobs", "pause", id, "--note", "stocktaking") == {"id": id, "changed": True}
    paused = ask("jobs", "show", id)
    assert (paused["state"], paused["reason"]) == ("paused", "stocktaking")
    assert ask("jobs", "pause", id)["changed"] is False
    assert ask("jobs", "resume", id)["changed"] is True
    triggered = ask("jobs", "trigger", id)
    assert ask("executions", "show", triggered["id"])["job_id"] == id
    assert ask("jobs", "cancel", id)["changed"] is True
    assert ask("jobs", "show", id)["state"] == "cancelled"


def test_editing_a_job_updates_its_planned_execution(ask: Any, db: Db) -> None:
    id = ask("schedule", TARGET, "--cron", "@daily", "--label", "team=a")["id"]
    answer = ask(
        "jobs", "edit", id, "--every", "90m", "--target", "python:other", "--payload", '{"n": 1.50}',
        "--option", "timeout=5s", "--rule", "on_overlap=skip", "--clear", "labels", "--actor", "ann",
    )  # fmt: skip
    assert (answer["id"], answer["changed"]) == (id, True)
    shown = ask("jobs", "show", id)
    assert (shown["schedule"], shown["target"], shown["labels"]) == ({"every": "PT1H30M"}, "python:other", None)
    assert (shown["rules"], shown["options"]) == ({"on_overlap": "skip"}, {"timeout": "5s"})
    assert shown["fire_at"] == answer["fire_at"]
    found = db.execute("select target, payload::text from pgsched.executions").fetchall()
    assert found == [("python:other", '{"n": 1.50}')]
    [logged] = ask("admin", "audit", "--subject", id, "--action", "edit")["items"]
    assert (logged["actor"], logged["after"]["every"], logged["before"]["cron"]) == ("ann", "01:30:00", "@daily")
    assert ask("jobs", "edit", id, "--every", "90m")["changed"] is False


def test_editing_the_anchor_moves_previewed_and_saved_fire_times(ask: Any) -> None:
    id = ask("schedule", TARGET, "--every", "24h")["id"]
    moved = ("--anchor", "2026-01-01T03:00:00+01:00")
    asked = ask("jobs", "preview", id, "--from", "2030-03-01T00:00:00Z", "--count", "1", *moved)
    assert [row["fire_at"] for row in asked["after"]] == ["2030-03-01T02:00:00Z"]
    assert ask("jobs", "edit", id, *moved)["fire_at"].endswith("T02:00:00Z")
    assert not ask("jobs", "edit", id, "--clear", "anchor")["fire_at"].endswith("T02:00:00Z")


def test_an_execution_can_be_cancelled_with_a_note_and_an_actor(ask: Any, db: Db) -> None:
    id = ask("schedule", TARGET, "--delay", "1h")["id"]
    assert ask("executions", "cancel", id, "--note", "sold out", "--actor", "ann") == {"id": id, "changed": True}
    assert ask("executions", "show", id)["reason"] == "sold out"
    logged = db.execute("select actor, detail ->> 'note' from pgsched.audit_log where action <> 'insert'").fetchall()
    assert logged == [("ann", "sold out")]


def test_a_client_roles_edit_leaves_replanning_to_a_worker(
    ask: Any, db: Db, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = ask("schedule", TARGET, "--every", "1h")["id"]
    monkeypatch.setenv("PGSCHED_DATABASE_URL", f"{database_url}?options=-crole%3Dpgsched_client")
    db.execute("insert into pgsched.clients (client_id, database_role) values ('default', 'pgsched_client')"
               " on conflict (client_id) do update set database_role = 'pgsched_client'")  # fmt: skip
    assert ask("jobs", "edit", id, "--every", "2h")["changed"] is True
    assert db.execute("select planned_revision < revision from pgsched.jobs").fetchone() == (True,)


def test_jobs_can_be_paused_resumed_and_cancelled_by_client_and_label(ask: Any) -> None:
    ids = [ask("schedule", TARGET, "--every", "1h", "--label", "team=a", "--client", c)["id"] for c in ("a", "b")]
    ask("schedule", TARGET, "--every", "1h")
    assert [row["id"] for row in ask("jobs", "list", "--label", "team=a")["items"]] == ids[::-1]
    assert ask("bulk", "pause", "--label", "team=a", "--note", "stocktaking")["matched"] == 2
    assert ask("bulk", "resume", "--label", "team=a", "--client", "a")["matched"] == 1
    assert ask("bulk", "cancel-jobs", "--client", "b")["matched"] == 1


def test_executions_can_be_listed_by_labels(ask: Any) -> None:
    id = ask("schedule", TARGET, "--delay", "1h", "--label", "team=mail", "--label", "formula=x=y")["id"]
    ask("schedule", TARGET, "--delay", "1h", "--label", "team=mail")
    [found] = ask("executions", "list", "--label", "formula=x=y", "--label", "team=mail")["items"]
    assert (found["id"], found["labels"]) == (id, {"team": "mail", "formula": "x=y"})
    assert ask("dead-letters", "list", "--label", "team=mail")["items"] == []


def test_an_execution_can_be_edited_by_id_and_by_key(ask: Any) -> None:
    id = ask("schedule", TARGET, "--delay", "1h", "--key", "k", "--label", "team=a")["id"]
    asked = (
        "--payload",
        '{"n": 1.50}',
        "--option",
        "timeout=5s",
        "--fire-at",
        "2031-03-01T09:00:00Z",
        "--clear",
        "labels",
    )
    changed = {"id": id, "changed": True, "fire_at": "2031-03-01T09:00:00Z"}
    assert ask("executions", "edit", id, *asked, "--note", "see 42") == changed
    assert ask("executions", "edit", id, *asked) == changed | {"changed": False}
    assert ask("executions", "edit", "--key", "k", "--target", "python:other")["id"] == id
    shown = ask("executions", "show", id)
    assert (shown["target"], shown["payload"], shown["labels"]) == ("python:other", {"n": 1.5}, None)


def test_the_state_filter_finds_finished_jobs(ask: Any, db: Db) -> None:
    id = ask("schedule", TARGET, "--every", "1h", "--rule", "max_runs=3")["id"]
    db.execute("update pgsched.jobs set state = 'finished', runs = 3")
    [found] = ask("jobs", "list", "--state", "finished")["items"]
    assert (found["id"], found["runs"], found["paused_at"]) == (id, 3, None)


def test_previewing_an_edit_shows_old_and_new_fire_times(ask: Any, db: Db) -> None:
    id = ask("schedule", TARGET, "--cron", "30 2 * * *", "--timezone", "Europe/Berlin")["id"]
    asked = ("jobs", "preview", id, "--from", "2026-10-24T12:00:00Z", "--count", "1")
    found = ask(*asked, "--cron", "30 4 * * *")
    assert [row["local"] for row in found["before"]] == ["2026-10-25T02:30:00+02:00"]
    assert [row["local"] for row in found["after"]] == ["2026-10-25T04:30:00+01:00"]
    assert found["before"][0]["note"] == "first of two 02:30: the clocks go back"
    assert ask(*asked)["after"] == found["before"]
    assert db.execute("select cron from pgsched.jobs").fetchone() == ("30 2 * * *",)


def test_a_schedule_preview_applies_the_given_rules(ask: Any) -> None:
    found = ask(
        "jobs", "preview", "--cron", "0 9 * * *", "--rule", 'exclude=["2026-03-02"]', "--rule", "max_runs=2",
        "--from", "2026-03-01T00:00:00Z",
    )  # fmt: skip
    assert [row["fire_at"] for row in found["next"]] == ["2026-03-01T09:00:00Z", "2026-03-03T09:00:00Z"]


def test_cancelling_an_execution_twice_changes_it_once(ask: Any) -> None:
    id = ask("schedule", TARGET, "--delay", "1h")["id"]
    assert ask("executions", "cancel", id)["changed"] is True
    assert ask("executions", "cancel", id)["changed"] is False
    assert ask("executions", "show", id)["status"] == "cancelled"


def test_executions_and_jobs_are_listed_page_by_page(ask: Any) -> None:
    ids = [ask("schedule", TARGET, "--delay", "1h")["id"] for _ in range(3)]
    first = ask("executions", "list", "--limit", "2")
    second = ask("executions", "list", "--limit", "2", "--after", first["next"])
    assert [row["id"] for row in first["items"] + second["items"]] == ids[::-1]
    assert second["next"] is None
    assert [row["id"] for row in ask("executions", "list", "--sort", "oldest")["items"]] == ids
    assert ask("jobs", "list", "--sort", "oldest")["items"] == []


def test_executions_and_jobs_can_be_filtered(ask: Any) -> None:
    ask("schedule", TARGET, "--delay", "1h", "--client", "a")
    wanted = ask("schedule", TARGET, "--delay", "1h", "--client", "b", "--key", "k")["id"]
    job = ask("schedule", TARGET, "--every", "1h", "--client", "b")["id"]
    found = ask("executions", "list", "--client", "b", "--key", "k", "--status", "scheduled", "--status", "failed")
    assert [row["id"] for row in found["items"]] == [wanted]
    assert ask("executions", "list", "--host", "nowhere.example")["items"] == []
    [listed] = ask("jobs", "list", "--client", "b", "--last-outcomes", "3")["items"]
    assert (listed["id"], listed["last_outcomes"]) == (job, [])
    assert ask("jobs", "list", "--state", "paused")["items"] == []


def test_the_status_command_shows_counts_and_the_longest_time_overdue(ask: Any, db: Db) -> None:
    db.execute("select pgsched.schedule('https://x.example/', fire_at => now() - interval '1 minute')")
    ask("schedule", TARGET, "--delay", "1h")
    db.execute("insert into pgsched_internal.facts (name, value) values ('tzdata', '2026a')")
    found = ask("status")
    assert found["executions"] == {"scheduled": 2}
    assert found["tzdata"] == "2026a"
    assert 60 <= found["oldest_due_seconds"] < 120
    assert found["workers"] == []


def test_the_forecast_command_marks_minutes_over_the_limit(ask: Any, run: Any) -> None:
    assert ask("executions", "forecast") == {"minutes": [], "per_minute": 10_000, "busiest": None, "advice": None}
    ask("schedule", TARGET, "--delay", "10m")
    [minute] = ask("executions", "forecast", "--per-minute", "1")["minutes"]
    assert (minute["due"], minute["hot"]) == (1, False)
    for _ in range(6):  # so that at least two are in one minute, even at a minute change
        ask("schedule", TARGET, "--delay", "10m")
    found = ask("executions", "forecast", "--per-minute", "1")
    assert [one["due"] for one in found["minutes"] if one["hot"]]
    assert "jitter" in found["advice"]
    assert "2+" in run("executions", "forecast", "--per-minute", "1").output
    assert "nothing falls due" in run("executions", "forecast", "--minutes", "2").output
    for words in (["--minutes", "0"], ["--minutes", "241"], ["--per-minute", "0"], ["--per-minute", "100001"]):
        assert run("executions", "forecast", *words).exit_code == 2


def test_the_status_shows_attempts_and_the_forecast_uses_the_peak_rate(ask: Any, run: Any, db: Db) -> None:
    db.execute(
        "insert into pgsched.rollups (minute, client_id, queue, attempts, failed_attempts, succeeded, failed, lateness)"
        " select date_trunc('minute', now() - n * interval '1 minute', 'UTC'), '', 'default', n, 1, n - 1, 1,"
        "        array[n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] from generate_series(2, 3) n"
    )
    [done] = ask("status")["last_hour"]
    assert (done["queue"], done["ended"], done["attempts"], done["failed_attempts"]) == ("default", 5, 5, 2)
    assert done["lateness"] == {"p50": 0.0005, "p99": 0.00099}
    assert "late p99" in run("status").output
    for _ in range(8):  # so that at least four are in one minute, even at a minute change
        ask("schedule", TARGET, "--delay", "10m")
    found = ask("executions", "forecast")
    assert (found["per_minute"], found["busiest"]) == (3, 3)
    assert any(one["hot"] for one in found["minutes"])
    assert "in the busiest minute of the last 7 days, workers made 3 attempts" in run("executions", "forecast").output


@pytest.mark.parametrize(
    ("bucket", "said"), [(0, "0.00099 s"), (24, "299 s"), (29, "1,794 s"), (31, "3,591 s"), (32, "3,600 s or more")]
)
@pytest.mark.usefixtures("ask")
def test_the_status_command_shows_the_p99_duration(run: Any, db: Db, bucket: int, said: str) -> None:
    db.execute(
        "insert into pgsched.rollups (minute, client_id, queue, attempts, duration)"
        " values (date_trunc('minute', now() - interval '2 minutes', 'UTC'), '', 'default', 1,"
        "         array_fill(0, array[%s]) || array[1])",
        [bucket],
    )
    assert run("status").output.split("took p99\n")[1].partition("\n")[0].endswith(f"  {said}")


def test_the_status_command_shows_whether_objectives_are_met(ask: Any, run: Any, db: Db) -> None:
    assert ask("status")["objectives"] == []
    ask("clients", "set", "shop", "--late-after", "250ms", "--on-time-share", "0.9")
    ask("clients", "set", "bank", "--late-after", "1s")
    db.execute(
        "insert into pgsched.rollups (minute, client_id, queue, attempts, lateness)"
        " values (now() - interval '5 minutes', 'shop', 'default', 8,"
        "         array[6, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0])"
    )
    bank, shop = ask("status")["objectives"]
    assert (bank["client"], bank["attempts"], bank["on_time"], bank["burn"]) == ("bank", 0, None, None)
    assert (shop["late_after"], shop["on_time_share"], shop["attempts"]) == ("PT0.25S", 0.9, 8)
    assert (shop["on_time"], shop["burn"]) == (0.75, pytest.approx(2.5))
    assert "missed" in run("status").output
    ask("clients", "set", "shop", "--clear", "late-after")
    assert [one["client"] for one in ask("status")["objectives"]] == ["bank"]


def test_a_preview_shows_local_times_around_a_clock_change(ask: Any) -> None:
    found = ask(
        "jobs",
        "preview",
        "--cron",
        "30 2 * * *",
        "--timezone",
        "Europe/Berlin",
        "--from",
        "2026-10-24T00:00:00Z",
        "--count",
        "3",
    )
    assert [row["local"] for row in found["next"]] == [
        "2026-10-24T02:30:00+02:00",
        "2026-10-25T02:30:00+02:00",
        "2026-10-26T02:30:00+01:00",
    ]
    assert [row["fire_at"] for row in found["next"]][:1] == ["2026-10-24T00:30:00Z"]


def test_a_preview_resolves_a_hashed_schedule_by_identity(ask: Any) -> None:
    asked = ("jobs", "preview", "--cron", "H H * * *", "--from", "2026-03-01T00:00:00Z", "--count", "1", "--identity")
    first = ask(*asked, "default/nightly")
    assert ask(*asked, "default/nightly") == first
    assert ask(*asked, "default/weekly") != first


def test_an_interval_preview_counts_from_the_given_start(ask: Any) -> None:
    found = ask("jobs", "preview", "--every", "90s", "--from", "2026-03-01T00:00:00Z", "--count", "2")
    assert [row["fire_at"] for row in found["next"]] == ["2026-03-01T00:01:30Z", "2026-03-01T00:03:00Z"]


def test_the_migrate_command_is_idempotent(run: Run, empty_database_url: str) -> None:
    first, second = (run("migrate", "--json", env=at(empty_database_url)) for _ in range(2))
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert json.loads(first.stdout) == json.loads(second.stdout)
    assert json.loads(first.stdout)["missing_roles"] == []


def test_migrating_another_owners_tables_fails_and_names_the_right_role(run: Run, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as db:
        db.execute("create role migrates login password 'x' in role pgsched_owner; create role another")
        try:
            db.execute("alter table pgsched.history owner to another")
            result = run("migrate", "--replace", env=at(as_login(database_url, "migrates")))
        finally:
            db.execute("drop owned by another cascade; drop role another, migrates")
    assert (result.exit_code, "pgsched_owner, if it exists" in result.stderr) == (1, True)


def test_the_migrate_command_prints_sql_without_a_database(run: Run) -> None:
    result = run("migrate", "--sql", "--json")
    assert "create table pgsched.executions" in json.loads(result.stdout)["sql"]


@pytest.mark.parametrize("words", [["jobs", "list"], ["executions", "list"], ["status"], ["schedule", TARGET]])
def test_output_without_the_json_flag_is_text(words: list[str], run: Run, database_url: str) -> None:
    result = run(*words, env=at(database_url))
    assert result.exit_code == 0
    assert result.stdout.strip()
    assert not result.stdout.startswith("{")
    assert UUID(result.stdout.strip()) if words[0] == "schedule" else True


def test_the_entry_point_imports_no_heavy_library() -> None:
    import subprocess
    import sys

    code = (
        "import sys; import pgsched.cli.main; "
        "print([name for name in ('psycopg', 'sqlalchemy', 'litestar', 'aiohttp', 'croniter') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_commands_database_backend_does_not_import_sqlalchemy() -> None:
    import subprocess
    import sys

    code = "import sys; import pgsched.cli.database_backend; print('sqlalchemy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_an_execution_shows_the_executions_it_waits_for(ask: Any, run: Run) -> None:
    first = ask("schedule", TARGET, "--delay", "1h")["id"]
    second = ask("schedule", TARGET, "--delay", "1h", "--key", "extract")["id"]
    last = ask("schedule", TARGET, "--after", first, "--after", "extract", "--after-outcome", "any")["id"]
    assert set(ask("executions", "show", last)["waits_for"]) == {first, second}
    assert first in run("executions", "show", last).output
    assert ask("executions", "show", first)["waits_for"] == []


def test_a_job_cannot_have_dependencies(run: Run, ask: Any, database_url: str) -> None:
    ask("schedule", TARGET, "--delay", "1h", "--key", "extract")
    result = run("schedule", TARGET, "--every", "1h", "--after", "extract", "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["code"] == "pgsched.invalid_schedule"


def test_the_status_command_shows_prepared_transactions(ask: Any, db: Db, database_url: str, run: Run) -> None:
    id = ask("schedule", TARGET, "--delay", "1h")["id"]
    with psycopg.connect(database_url) as session:
        session.execute("select from pgsched.executions where id = %s for update", [id])
        session.execute("prepare transaction 'left behind'")
    try:
        [left] = ask("status")["prepared"]
        assert left["gid"] == "left behind"
        assert "left behind" in run("status").output
    finally:
        db.rollback()
        db.autocommit = True
        db.execute("rollback prepared 'left behind'")
    assert ask("status")["prepared"] == []
