"""Files and variables that an operator writes: settings, declared jobs, and other schedulers' files. Each is parsed, or
refused with an error that says what to write."""

import json
import tomllib
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from pgsched.cli.apply import jobs_of
from pgsched.cli.cloud_scheduler import declared_from, jobs_in
from pgsched.cli.crontab import CrontabEntry, lines_of
from pgsched.cli.crontab_shell_words import address_of, name_of, words_of
from pgsched.cli.main import cli
from pgsched.cli.settings_sources import load, unread
from pgsched.errors import InvalidInput, InvalidSettings
from pgsched.settings import Settings
from tests.parsers.drawn import JSON, garbled, objects, thoroughly

_TOML = """\
port = 8080
poll_interval = 0.5
oidc = {"https://login.example" = {audience = "pgsched"}}
[[jobs]]
key = "report"
target = "https://shop.example/report"
every = "15m"
payload = {a = [1, 2.5, true, 2026-03-01T09:00:00Z, 07:32:00]}
[[jobs]]
key = "other"
target = "notify:a"
cron = "0 9 * * *"
[jobs.options]
timeout = "5s"
"""
_YAML = """\
jobs:
- &first
  key: report
  target: https://shop.example/report
  every: 15m
  payload: {a: [1, 0x1F, 2.5e3, true, ~, 2026-03-01, "no"]}
- <<: *first
  key: other
  options:
    timeout: !!str 5s
- !!int 5
"""
_CRONTAB = """\
CRON_TZ=Europe/Berlin
# a comment
0 0 1 1 * curl http://[
*/5 * * * * curl -fsS https://shop.example/report >/dev/null 2>&1
@daily /opt/shop/close-day.sh "a b" # more
0 9 * * MON root wget -q -O - 'http://[::1]/x?a=b\\%c'
"""
_CLOUD_JOB: dict[str, Any] = {
    "name": "projects/shop/locations/x/jobs/report",
    "schedule": "0 9 * * *",
    "timeZone": "Europe/Berlin",
    "state": "ENABLED",
    "httpTarget": {"uri": "https://shop.example/report", "httpMethod": "POST", "body": "e30=", "headers": {"A": "b"}},
    "attemptDeadline": "180s",
    "retryConfig": {"retryCount": 3, "minBackoffDuration": "5s", "maxBackoffDuration": "3600s"},
}
_ENVIRONMENT = {
    "PGSCHED_DATABASE_URL": "postgresql://user:p%40ss@host:5432/database?sslmode=require",
    "PGSCHED_PORT": "8080",
    "PGSCHED_POLL_INTERVAL": "0.5",
    "PGSCHED_QUEUES": "default, mails",
    "PGSCHED_OIDC": '{"https://login.example": {"audience": "pgsched"}}',
    "PGSCHED_KAFKA_CONFIG": '{"linger.ms": 5}',
    "PGSCHED_METRICS": "127.0.0.1:9464",
    "PGSCHED_TRACING": "yes",
    "PGSCHED_LOG_LEVEL": "info",
    "PGSCHED_API_PORT_8080_TCP_ADDR": "10.0.0.7",
}


@pytest.mark.parametrize(("name", "example"), [("pgsched.toml", _TOML), ("jobs.yaml", _YAML)])
def test_a_job_file_is_parsed_or_refused(tmp_path: Path, name: str, example: str) -> None:
    file = tmp_path / name

    @thoroughly
    @given(garbled(example, *example.splitlines(keepends=True)))
    def reads(text: str) -> None:
        file.write_text(text, encoding="utf-8", errors="surrogatepass")
        with suppress(InvalidInput, InvalidSettings):
            jobs_of(file)
        with suppress(InvalidSettings):
            load(flags={}, environment={}, file=file)

    reads()


def test_a_deeply_nested_or_wrongly_tagged_file_is_refused(tmp_path: Path) -> None:
    for name, text in (
        ("pgsched.toml", "jobs = " + "[" * 5000),
        ("pgsched.toml", "oidc = " + "{a = " * 5000),
        ("jobs.yaml", "jobs: " + "[" * 600),
        ("jobs.yaml", "jobs: [!!binary aGVsbG8=]"),
        ("jobs.yaml", "jobs: [!!bool perhaps]"),
        ("jobs.yaml", "jobs: [!!int five]"),
        ("jobs.yaml", f"jobs: [{'9' * 5000}]"),
    ):
        file = tmp_path / name
        file.write_text(text)
        with pytest.raises((InvalidInput, InvalidSettings)):
            jobs_of(file)


@thoroughly
@given(
    st.dictionaries(st.sampled_from([*_ENVIRONMENT]) | garbled(*_ENVIRONMENT), st.text(max_size=5), max_size=3),
    st.data(),
)
def test_environment_variables_are_read_as_settings_or_refused(
    environment: Mapping[str, str], data: st.DataObject
) -> None:
    given = {
        name: data.draw(garbled(_ENVIRONMENT[name])) if name in _ENVIRONMENT else text
        for name, text in environment.items()
    }
    with suppress(InvalidSettings):
        assert isinstance(load(flags={}, environment=given), Settings)
    assert all(name in given for name in unread(given))


@thoroughly
@given(garbled(_CRONTAB, *_CRONTAB.splitlines(keepends=True)), st.booleans())
def test_each_crontab_line_becomes_an_entry_or_is_reported(text: str, with_user: bool) -> None:
    try:
        lines = list(lines_of(text, with_user=with_user))
    except InvalidInput:  # a file in the other format
        return
    numbers = [line.number for line in lines]
    assert numbers == sorted(set(numbers))
    for line in lines:
        if isinstance(line, CrontabEntry) and (words := words_of(line.command)):
            address = address_of(words)
            assert name_of(words, address)
            assert address is None or address.startswith(("http:", "https:"))


@thoroughly
@given(
    st.lists(objects(_CLOUD_JOB).map(lambda job: _CLOUD_JOB | job), max_size=2).map(json.dumps) | JSON.map(json.dumps)
)
def test_another_schedulers_job_is_imported_or_refused(text: str) -> None:
    with suppress(InvalidInput):
        for job in jobs_in(text):
            with suppress(InvalidInput):
                declared_from(job)


@thoroughly
@example([{}], {"😀": "a\x7f\x80\U000e0001"})
@example([{}], {"a": "\ud800"})
@given(st.lists(objects(_CLOUD_JOB["httpTarget"]), min_size=1, max_size=2), JSON)
def test_imported_jobs_are_the_same_when_printed_as_toml_or_json(targets: list[dict[str, Any]], payload: Any) -> None:
    jobs = [_CLOUD_JOB | {"httpTarget": _CLOUD_JOB["httpTarget"] | target} for target in targets]
    jobs[0]["httpTarget"]["body"] = b64encode(json.dumps(payload).encode()).decode()
    text = json.dumps(jobs)
    done = CliRunner().invoke(cli, ["jobs", "import", "cloud-scheduler", "--json", "-"], input=text)
    shown = CliRunner().invoke(cli, ["jobs", "import", "cloud-scheduler", "-"], input=text)
    assert done.exit_code == shown.exit_code
    assert done.exit_code in (0, 2)
    if done.exit_code == 0:
        assert tomllib.loads(shown.stdout) == {"jobs": json.loads(done.stdout)["jobs"]}
