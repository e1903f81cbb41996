"""Importing Cloud Scheduler jobs as equivalent declarations."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from pgsched.domain.body import body_of
from tests.cli.conftest import Run
from tests.cli.import_arrange import declared


def _job(**changes: Any) -> dict[str, Any]:
    call = {"uri": "https://shop.example/rates", "httpMethod": "PUT", "headers": {"User-Agent": "G", "X-Shop": "7"},
            "body": base64.b64encode(b'{"shop": "caf\xc3\xa9"}').decode()}  # fmt: skip
    known = {"name": "projects/p/locations/l/jobs/rates", "schedule": "0 * * * *", "timeZone": "Europe/Berlin"}
    return known | {"state": "ENABLED", "attemptDeadline": "30s", "httpTarget": call, "etag": "x"} | changes


def test_cloud_scheduler_jobs_become_declarations(run: Run) -> None:
    jobs, left = declared(run, "cloud-scheduler", given=json.dumps([_job(retryConfig={"retryCount": 3})]))
    body = {"format": "text", "type": "application/octet-stream"}
    options = {"method": "PUT", "timeout": "30s", "max_attempts": 4, "backoff": ["PT5S", "PT10S", "PT20S"],
               "retry_on": [*range(400, 500)], "headers": {"X-Shop": "7"}, "body": body}  # fmt: skip
    assert jobs == [{"key": "rates", "target": "https://shop.example/rates", "cron": "0 * * * *",
                     "timezone": "Europe/Berlin", "payload": '{"shop": "café"}', "options": options}]  # fmt: skip
    assert left == []


@pytest.mark.parametrize(
    ("retries", "attempts", "waits", "age"),
    [
        ({}, 1, None, None),
        ({"retryCount": 0, "maxRetryDuration": "0s", "maxDoublings": 5}, 1, None, None),
        (
            {"retryCount": 5, "minBackoffDuration": "10s", "maxBackoffDuration": "300s", "maxDoublings": 3},
            6,
            ["PT10S", "PT20S", "PT40S", "PT1M20S", "PT2M40S"],
            None,
        ),
        ({"retryCount": 5, "maxDoublings": 0}, 6, ["PT5S", "PT10S", "PT15S", "PT20S", "PT25S"], None),
        ({"retryCount": 4, "maxBackoffDuration": "6s"}, 5, ["PT5S", "PT6S"], None),
        ({"maxRetryDuration": "60s"}, 4, ["PT5S", "PT10S", "PT20S"], "PT1M"),
        ({"maxRetryDuration": "1.5s"}, 1, None, None),
        (
            {"maxRetryDuration": "3600s", "maxBackoffDuration": "60s"},
            63,
            ["PT5S", "PT10S", "PT20S", "PT40S", "PT1M"],
            "PT1H",
        ),
        (
            {"retryCount": 3, "maxRetryDuration": "20s"},
            4,
            ["PT5S", "PT10S", "PT20S"],
            None,
        ),  # the count allows more attempts than the duration
        (
            {"retryCount": 1, "maxRetryDuration": "60s"},
            4,
            ["PT5S", "PT10S", "PT20S"],
            "PT1M",
        ),  # the duration allows more attempts than the count
    ],
)
def test_imported_retry_options_match_cloud_schedulers_retry_settings(
    run: Run, retries: dict[str, Any], attempts: int, waits: list[str] | None, age: str | None
) -> None:
    [job], left = declared(run, "cloud-scheduler", given=json.dumps([_job(retryConfig=retries)]))
    assert left == []
    options = job["options"]
    assert (options["max_attempts"], options.get("backoff"), options.get("max_retry_age")) == (attempts, waits, age)


def test_a_description_becomes_a_label(run: Run) -> None:
    given = [_job(description='Rates of "café"\n, every hour'), _job(name="a/b", description="")]
    jobs, left = declared(run, "cloud-scheduler", given=json.dumps(given))
    assert left == []
    assert [job.get("labels") for job in jobs] == [{"description": 'Rates of "café"\n, every hour'}, None]


@pytest.mark.parametrize(
    "sent",
    [
        b'{"a":1,  "a": 1.10}\n',
        b"a=1&b=2",
        "café".encode(),
        b"null",
        b"\xff\x00",
        b"a\x00b",
        b"\xef\xbb\xbf{}",
        b'"\\ud800"',
        b"1e400",
    ],
)
@pytest.mark.parametrize("kind", [None, "application/json; charset=utf-8"])
def test_a_request_body_is_preserved_byte_for_byte(run: Run, sent: bytes, kind: str | None) -> None:
    call = {
        "uri": "https://a.example",
        "headers": {"content-TYPE": kind} if kind else {},
        "body": base64.b64encode(sent).decode(),
    }
    [job], left = declared(run, "cloud-scheduler", given=json.dumps([_job(httpTarget=call)]))
    assert left == []
    body = body_of(job["options"]["body"])
    assert (body.of(json.dumps(job["payload"]).encode()), body.type) == (sent, kind or "application/octet-stream")


def test_a_job_name_in_two_locations_is_reported(run: Run) -> None:
    given = json.dumps([_job(), _job(name="projects/p/locations/other/jobs/rates")])
    jobs, [left] = declared(run, "cloud-scheduler", given=given)
    assert len(jobs) == 1
    assert "locations/other" in left


@pytest.mark.parametrize(("changes", "why"), [
    ({"httpTarget": None, "pubsubTarget": {}}, "Pub/Sub"),
    ({"state": "PAUSED"}, "it is paused"),
    ({"httpTarget": {"uri": "https://a.example", "oidcToken": {"audience": "x"}}}, "secret"),
    ({"httpTarget": {"uri": "https://a.example", "oauthToken": {}}}, "secret"),
    ({"httpTarget": {"uri": "https://a.example", "body": "*"}}, "base64"),
    ({"httpTarget": {"uri": "https://a.example", "body": "e30=", "httpMethod": "DELETE"}}, "a body with DELETE"),
    ({"httpTarget": {"uri": "https://a.example", "httpMethod": "OPTIONS"}}, "OPTIONS"),
    ({"httpTarget": {"uri": "https://a.example", "headers": {"Content-Type": "text/plain"}}}, "Content-Type"),
    ({"httpTarget": {"uri": "https://a.example", "headers": {"traceparent": "x"}}}, "traceparent"),
    ({"httpTarget": {"uri": "https://a.example", "headers": {"X-A": "caf\u00e9"}}}, "X-A"),
    ({"retryConfig": {"retryCount": 3, "maxRetryDuration": "60s"}}, "retryCount or maxRetryDuration"),
    ({"retryConfig": {"maxRetryDuration": "86400s", "maxBackoffDuration": "5s"}}, "shorten"),
    ({"retryConfig": {"retryCount": -1}}, "retryConfig"),
    ({"retryConfig": {"retryCount": 1, "minBackoffDuration": "0s"}}, "1 ms"),
    ({"retryConfig": {"retryCount": 1, "minBackoffDuration": "5m"}}, "minBackoffDuration"),
    ({"attemptDeadline": "0s"}, "attemptDeadline must be"),
    ({"description": "x" * 201}, "200 characters"),
    ({"httpTarget": {"uri": "ftp://a.example"}}, "ftp"),
    ({"schedule": "every 5 minutes"}, "cron"),
])  # fmt: skip
def test_a_job_without_an_equivalent_is_omitted_with_a_reason(run: Run, changes: dict[str, Any], why: str) -> None:
    jobs, left = declared(run, "cloud-scheduler", given=json.dumps([_job(**changes)]))
    assert jobs == []
    assert len(left) == 1
    assert why in left[0]


@pytest.mark.parametrize(
    "given", ["", "{}", "[1]", '[{"name": 1}]', '[{"name": "a", "schedule": "* * * * *", "httpTarget": {}}]']
)
def test_input_that_is_not_a_list_of_jobs_is_refused(run: Run, given: str) -> None:
    Path("there").write_text(given)
    answer = run("jobs", "import", "cloud-scheduler", "there")
    assert answer.exit_code == 2
    assert "gcloud scheduler jobs list --format json" in answer.stderr
