"""What other schedulers have becomes declarations that `pgsched apply` reads."""

import base64
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pgsched.domain.declaration import declared_in
from tests.cli.conftest import Run
from tests.docs.fences import ROOT, blocks_of

CRONTAB = """
# m h dom mon dow command
MAILTO=ops@shop.example
CRON_TZ="Europe/Berlin"
30 2 * * *    curl -fsS https://shop.example/close-day > /dev/null 2>&1
*/5 * * * *   wget -qO- 'https://shop.example/rates?a=1&b=2' >/dev/null
0 3 * * MON   /opt/shop/report.sh --weekly
CRON_TZ=
@daily        /opt/shop/report.sh
"""


def _declared(run: Run, *words: str, given: str) -> tuple[list[dict[str, Any]], list[str]]:
    Path("there").write_text(given, encoding="utf-8")
    answer = run("import", *words, "there")
    assert answer.exit_code == 0, answer.stderr
    tables: list[dict[str, Any]] = tomllib.loads(answer.stdout)["jobs"]
    declared_in(tables, "there")
    return tables, answer.stderr.splitlines()


def test_a_crontab_becomes_declarations(run: Run) -> None:
    jobs, left = _declared(run, "crontab", "--target", "https://shop.example/cron/{key}", given=CRONTAB)
    berlin = {"timezone": "Europe/Berlin"}
    called = {"options": {"method": "GET"}, **berlin}
    rates = "https://shop.example/rates?a=1&b=2"
    assert jobs == [
        {"key": "close-day", "target": "https://shop.example/close-day", "cron": "30 2 * * *", **called},
        {"key": "rates", "target": rates, "cron": "*/5 * * * *", **called},
        {"key": "report", "target": "https://shop.example/cron/report", "cron": "0 3 * * MON", **berlin},
    ]
    assert left == ["left out: line 9: cron runs it by the clock of its machine: name that clock by --timezone"]


def test_entries_with_a_user_and_a_client(run: Run) -> None:
    given = "0 3 * * * root /opt/report.sh\n0 4 * * * root /opt/report.sh\n"
    words = ("crontab", "--system", "--timezone", "UTC", "--target", "python:{key}", "--client", "shop")
    jobs, left = _declared(run, *words, given=given)
    assert [(job["key"], job["target"], job["client"]) for job in jobs] == [
        ("report", "python:report", "shop"), ("report-2", "python:report-2", "shop")]  # fmt: skip
    assert left == []


@pytest.mark.parametrize(("line", "why"), [
    ("0 3 * * * /opt/report.sh", "pgsched runs no commands"),
    ("0 3 * * * curl https://a.example && rm -r /", "declare that call by hand"),
    ("0 3 * * * curl https://a.example?x=1&reboot", "declare that call by hand"),
    ("0 3 * * * curl -d x=1 https://a.example", "declare that call by hand"),
    ("0 3 * * * curl https://a.example/$(date +\\%F)", "declare that call by hand"),
    ("0 3 * * * curl -o /etc/hosts https://a.example", "declare that call by hand"),
    ("0 3 * * * curl 'https://a.example", "pgsched runs no commands"),
    ("@reboot curl https://a.example", "@reboot"),
    ("0 0 31 2 * curl https://a.example", "never"),
    ("~ 3 * * * curl https://a.example", "~"),
    ("nothing at all", "this is no entry"),
])  # fmt: skip
def test_what_cannot_be_called_is_named_with_the_reason(run: Run, line: str, why: str) -> None:
    jobs, left = _declared(run, "crontab", "--timezone", "UTC", given=f"{line}\n")
    assert jobs == []
    assert len(left) == 1
    assert left[0].startswith("left out: line 1: ")
    assert why in left[0]


def test_a_call_that_is_not_understood_is_no_command_that_a_target_could_stand_for(run: Run) -> None:
    given = "0 4 * * 0 curl -X POST -d '{}' https://shop.example/close\n"
    jobs, [left] = _declared(run, "crontab", "--timezone", "UTC", "--target", "python:{key}", given=given)
    assert jobs == []
    assert "declare that call by hand" in left


def _job(**changes: Any) -> dict[str, Any]:
    call = {"uri": "https://shop.example/rates", "httpMethod": "PUT", "headers": {"User-Agent": "G", "X-Shop": "7"},
            "body": base64.b64encode(b'{"shop": "caf\xc3\xa9"}').decode()}  # fmt: skip
    known = {"name": "projects/p/locations/l/jobs/rates", "schedule": "0 * * * *", "timeZone": "Europe/Berlin"}
    return known | {"state": "ENABLED", "attemptDeadline": "30s", "httpTarget": call, "etag": "x"} | changes


def test_jobs_of_cloud_scheduler_become_declarations(run: Run) -> None:
    jobs, left = _declared(run, "cloud-scheduler", given=json.dumps([_job(retryConfig={"retryCount": 3})]))
    backoff = {"initial": "5s", "maximum": "3600s"}
    options = {"method": "PUT", "timeout": "30s", "max_attempts": 4, "backoff": backoff, "headers": {"X-Shop": "7"}}
    assert jobs == [{"key": "rates", "target": "https://shop.example/rates", "cron": "0 * * * *",
                     "timezone": "Europe/Berlin", "payload": {"shop": "café"}, "options": options}]  # fmt: skip
    assert left == []


@pytest.mark.parametrize(("changes", "why"), [
    ({"httpTarget": None, "pubsubTarget": {}}, "Pub/Sub"),
    ({"state": "PAUSED"}, "it is paused"),
    ({"httpTarget": {"uri": "https://a.example", "oidcToken": {"audience": "x"}}}, "secret"),
    ({"httpTarget": {"uri": "https://a.example", "body": "AAAA"}}, "not JSON"),
    ({"httpTarget": {"uri": "https://a.example", "body": base64.b64encode(b'{"a": null}').decode()}}, "null"),
    ({"httpTarget": {"uri": "ftp://a.example"}}, "ftp"),
    ({"schedule": "every 5 minutes"}, "cron"),
])  # fmt: skip
def test_what_has_no_like_is_named_with_the_reason(run: Run, changes: dict[str, Any], why: str) -> None:
    jobs, left = _declared(run, "cloud-scheduler", given=json.dumps([_job(**changes)]))
    assert jobs == []
    assert len(left) == 1
    assert why in left[0]


@pytest.mark.parametrize(
    "given", ["", "{}", "[1]", '[{"name": 1}]', '[{"name": "a", "schedule": "* * * * *", "httpTarget": {}}]']
)
def test_what_is_no_list_of_jobs_is_refused(run: Run, given: str) -> None:
    Path("there").write_text(given)
    answer = run("import", "cloud-scheduler", "there")
    assert answer.exit_code == 2
    assert "gcloud scheduler jobs list --format json" in answer.stderr


def test_bytes_that_are_no_text_are_refused(run: Run) -> None:
    Path("there").write_bytes(b"\xff\xfe\x00")
    assert run("import", "crontab", "there").exit_code == 2


def test_a_file_that_is_not_there_is_named(run: Run) -> None:
    answer = run("import", "crontab", "nowhere")
    assert answer.exit_code == 1
    assert "nowhere" in answer.stderr


def test_the_answer_in_json_has_both(run: Run) -> None:
    Path("there").write_text("@daily curl https://shop.example/a\n@daily ls\n")
    answer = json.loads(run("import", "crontab", "--timezone", "UTC", "there", "--json").stdout)
    assert [job["key"] for job in answer["jobs"]] == ["a"]
    assert [one["where"] for one in answer["left"]] == ["line 2"]


def test_the_how_to_shows_what_is_printed(run: Run) -> None:
    blocks = blocks_of(ROOT / "docs" / "how-to" / "migrate.md")
    given, printed = (
        next(block.text for block in blocks if block.language == language) for language in ("text", "toml")
    )
    jobs, left = _declared(run, "crontab", "--timezone", "Europe/Berlin", given=given)
    assert jobs == tomllib.loads(printed)["jobs"]
    assert left[0] in [line for block in blocks for line in block.text.splitlines()]
