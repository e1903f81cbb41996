"""Invalid input: exit status 2, and a message that says what to write."""

import json
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.conftest import Run
from tests.conftest import at

TARGET = "https://shop.example/x"
ID = "01a1fccb-9dd8-7215-939a-c6976cd72ab5"
CASES: list[tuple[list[str], str]] = [
    ([], "Usage"),
    (["shedule"], "there is no command 'shedule'"),
    (["status", "--verbose"], "--verbose"),
    (["status", "surplus"], "surplus"),
    (["schedule"], "TARGET"),
    (["schedule", ""], "target"),
    (["schedule", "ftp://shop.example/x"], "write one of https://host/path"),
    (["schedule", "https://user:secret@shop.example/x"], "user or password"),
    (["schedule", "python:"], "must name a handler"),
    (["schedule", TARGET, "--fire-at", "tomorrow"], "ISO 8601"),
    (["schedule", TARGET, "--fire-at", "2026-03-01T09:00:00"], "no offset"),
    (["schedule", TARGET, "--delay", "10"], "no unit"),
    (["schedule", TARGET, "--delay", "soon"], "write"),
    (["schedule", TARGET, "--delay=-5s"], "negative"),
    (["schedule", TARGET, "--every", "100ms"], "at least a second"),
    (["schedule", TARGET, "--every", "P1M"], "months"),
    (["schedule", TARGET, "--cron", "61 * * * *"], "61"),
    (["schedule", TARGET, "--cron", "* * *"], "write five"),
    (["schedule", TARGET, "--cron", "H(0-60) * * * *"], "within 0-59"),
    (["schedule", TARGET, "--cron", "0 0 31 2 *"], "never"),
    (["schedule", TARGET, "--cron", "0 9 * * *", "--timezone", "Mars/Base"], "Mars/Base"),
    (["schedule", TARGET, "--timezone", "Europe/Berlin"], '"timezone" needs "cron"'),
    (["schedule", TARGET, "--cron", "0 9 * * *", "--gap", "jump"], "shift"),
    (["schedule", TARGET, "--cron", "0 9 * * *", "--delay", "5s"], "cannot be combined"),
    (["schedule", TARGET, "--payload", "{merchant: 42}"], "not JSON"),
    (["schedule", TARGET, "--payload", "@missing.json"], "missing.json"),
    (["schedule", TARGET, "--option", "timeout"], "NAME=VALUE"),
    (["schedule", TARGET, "--option", "tiemout=5s"], "unknown option: tiemout"),
    (["schedule", TARGET, "--option", "max_attempts=0"], "1 to 1000"),
    (["schedule", TARGET, "--client", ""], "1 to 100"),
    (["schedule", TARGET, "--key", "k", "--on-conflict", "ignore"], "replace, keep, reject or debounce"),
    (["schedule", TARGET, "--on-conflict", "keep"], 'give "key"'),
    (["jobs", "list", "--state", "asleep"], "active"),
    (["jobs", "list", "--limit", "0"], "limit"),
    (["jobs", "list", "--label", "team"], "NAME=TEXT"),
    (["jobs", "pause"], "no job is given"),
    (["bulk", "resume"], "at least one"),
    (["bulk", "cancel-jobs", "--note", "all"], "at least one"),
    (["jobs", "edit"], "ID"),
    (["jobs", "edit", ID], "nothing to change"),
    (["jobs", "edit", ID, "--cron", "@daily", "--every", "1h"], "it replaces the other"),
    (["jobs", "edit", ID, "--every", "soon"], "write"),
    (["jobs", "edit", ID, "--rule", "jiter=5m"], "there is no rule"),
    (["jobs", "edit", ID, "--label", "team"], "NAME=TEXT"),
    (["jobs", "edit", ID, "--clear", "target"], "payload"),
    (["jobs", "edit", ID, "--clear", "labels", "--label", "a=b"], "leave one of them out"),
    (["jobs", "preview", ID, "--fire-at", "2030-01-01T00:00:00Z"], "--fire-at and a job cannot be combined"),
    (["jobs", "preview", "--cron", "@daily", "--rule", "max_runs=0"], "whole number from 1"),
    (["executions", "list", "--status", "done"], "succeeded"),
    (["executions", "list", "--from", "today"], "ISO 8601"),
    (["dead-letters", "list", "--state", "dead"], "replayed"),
    (["dead-letters", "list", "--status-code", "5"], "100"),
    (["dead-letters", "list", "--from", "today"], "ISO 8601"),
    (["dead-letters", "replay"], "no dead letter is given"),
    (["dead-letters", "replay", ID, "--payload", "{n}"], "not JSON"),
    (["bulk", "replay", "--client", "a", "--rate", "0"], "rate cannot be 0"),
    (["bulk", "replay", "--client", "a", "--rate", "fast"], "rate"),
    (["bulk", "replay", "--client", "a", "--new-target", "shop.example"], "write one of https://host/path"),
    (["dead-letters", "list", "--host", "127.0.0.1:9300"], "write 127.0.0.1, which finds targets on any port"),
    (["bulk", "show", "settle-42"], "write a UUID, as shown by the command list"),
    (["bulk", "replay", "--client", ""], "must be a string"),
    (["bulk", "discard"], "at least one"),
    (["jobs", "preview"], "cron"),
    (["jobs", "preview", "--cron", "* * * * *", "--count", "0"], "count"),
    (["jobs", "preview", "--cron", "H * * * *"], "identity"),
    (["jobs", "preview", "--cron", "* * * * *", "--from", "yesterday"], "ISO 8601"),
    (["worker", "--processes", "many"], "whole number"),
    (["worker", "--processes", "0"], "from 1 to 256"),
    (["worker", "--look-ahead", "2"], "look_ahead"),
    (["worker", "--app", "handlers"], "module:attribute"),
    (["worker", "--app", "no_such_module:app"], "no module"),
    (["worker", "--app", "json:dumps"], "not a pgsched.App"),
    (["worker", "--log-level", "loud"], "debug"),
    (["api", "--port", "70000"], "65535"),
    (["up", "--host", "not an address"], "does not resolve"),
    (["status", "--config", "missing.toml"], "missing.toml"),
    (["status", "--database-url", "mysql://host/db"], "postgresql://"),
]


def _refused(result: Result, hint: str) -> None:
    assert result.exit_code == 2, result.output
    assert hint.lower() in result.output.lower()
    assert "Traceback" not in result.output


@pytest.mark.parametrize(("words", "hint"), CASES, ids=[" ".join(words) or "nothing" for words, _ in CASES])
def test_bad_input_is_refused_with_a_hint(
    words: list[str], hint: str, run: Run, module_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", module_url)
    plain = run(*words)
    _refused(plain, hint)
    assert plain.stdout == ""
    if words:
        in_json = run(*words, "--json")
        _refused(in_json, json.dumps(hint)[1:-1])
        assert list(json.loads(in_json.stdout)["error"]) == ["code", "message"]


def test_an_unknown_setting_in_the_settings_file_is_refused(run: Run) -> None:
    Path("pgsched.toml").write_text("proceses = 2\n")
    _refused(run("status"), "there is no setting 'proceses'")


def test_a_misspelled_environment_variable_is_refused(run: Run) -> None:
    _refused(run("status", env={"PGSCHED_PROCESES": "2"}), "PGSCHED_PROCESES")


def test_the_error_for_a_failing_handler_module_shows_its_exception(run: Run, module_url: str) -> None:
    Path("broken_shop.py").write_text("raise RuntimeError('no key')\n")
    _refused(run("worker", "--app", "broken_shop:app", env=at(module_url)), "RuntimeError: no key")


def test_an_unreachable_database_is_an_error_without_a_traceback(run: Run) -> None:
    result = run("status", "--json", "--database-url", "postgresql://nobody@127.0.0.1:1/nothing")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"]["code"] == "pgsched.unavailable"


def test_the_error_for_an_unmigrated_database_names_pgsched_migrate(run: Run, empty_database_url: str) -> None:
    for words in (["status"], ["schedule", TARGET], ["worker"], ["worker", "--processes", "2"], ["jobs", "list"]):
        result = run(*words, "--json", env=at(empty_database_url))
        assert result.exit_code == 1
        error = json.loads(result.stdout)["error"]
        assert (error["code"], "run pgsched migrate" in error["message"]) == ("pgsched.schema_mismatch", True)


@pytest.mark.parametrize(
    "words",
    [
        *(["jobs", verb, ID] for verb in ("show", "pause", "resume", "trigger", "cancel")),
        ["jobs", "edit", ID, "--every", "1h"],
        ["jobs", "preview", ID],
    ],
    ids=" ".join,
)
def test_an_unknown_job_is_not_found(words: list[str], run: Run, module_url: str) -> None:
    result = run(*words, "--json", env=at(module_url))
    assert (result.exit_code, json.loads(result.stdout)["error"]["code"]) == (1, "pgsched.not_found")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--proxy", "socks5://proxy"), "proxy must have the form http://host:port"),
        (("--tls-authorities", "/nowhere.pem"), "tls_authorities: /nowhere.pem cannot be used"),
        (("--tls-certificates", '{"bank.example": "/nowhere.pem"}'), "/nowhere.pem for bank.example cannot be used"),
    ],
)
@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_worker_with_invalid_tls_or_proxy_settings_does_not_start(
    words: tuple[str, ...], said: str, processes: str, run: Run
) -> None:
    url = "postgresql://nobody@127.0.0.1:1/nothing"
    _refused(run("worker", "--processes", processes, *words, env=at(url)), said)
