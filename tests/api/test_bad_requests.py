"""Invalid requests: each gets a problem that says what to write, and changes nothing."""

import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")
_URL = "https://shop.example/settle"
_ID = "0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b47"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bad:
    """An invalid request, the expected status, and words that the detail contains."""

    name: str
    status: int
    says: str
    method: str = "POST"
    path: str = "/v1/jobs"
    body: bytes | None = None
    media_type: str = "application/json"


def job(name: str, status: int, says: str, **fields: Any) -> Bad:
    return Bad(name=name, status=status, says=says, body=json.dumps({"target": _URL} | fields).encode())


def raw(name: str, status: int, says: str, body: bytes, media_type: str = "application/json") -> Bad:
    return Bad(name=name, status=status, says=says, body=body, media_type=media_type)


def get(name: str, says: str, path: str, status: int = 400) -> Bad:
    return Bad(name=name, status=status, says=says, method="GET", path=path)


def timed(name: str, status: int, says: str, **schedule: Any) -> Bad:
    return job(name, status, says, schedule=schedule)


def of_payload(name: str, status: int, says: str, payload: bytes) -> Bad:
    return raw(name, status, says, b'{"target": "notify:a", "payload": ' + payload + b"}")


BAD = [
    raw("no body", 400, "send JSON", b""),
    raw("not JSON", 400, "not JSON", b"target=notify:a"),
    raw("truncated JSON", 400, "not JSON", b'{"target": "notify:a"'),
    raw("two documents", 400, "not JSON", b'{"target": "notify:a"} {}'),
    raw("a trailing comma", 400, "not JSON", b'{"target": "notify:a",}'),
    raw("a list", 400, "Expected object", b"[]"),
    raw("null", 400, "Expected object", b"null"),
    raw("not UTF-8", 400, "UTF-8", b'{"target": "notify:a", "payload": "\xff"}'),
    raw("UTF-16", 400, "UTF-8", '{"target": "notify:a"}'.encode("utf-16")),
    raw("a form", 415, "Content-Type to application/json", b"target=notify:a", "application/x-www-form-urlencoded"),
    raw("plain text", 415, "Content-Type to application/json", b'{"target": "notify:a"}', "text/plain"),
    raw("no media type", 415, "Content-Type to application/json", b'{"target": "notify:a"}', ""),
    raw("a body over the limit", 413, "2 MiB", b'{"target": "' + b"x" * (2 * 1024 * 1024) + b'"}'),
    raw("no target", 400, "target", b"{}"),
    raw("a null target", 400, "target", b'{"target": null}'),
    job("an empty target", 422, "such as https://", target=""),
    job("a target without a scheme", 422, "write one of", target="shop.example/settle"),
    job("an unknown scheme", 422, "write one of", target="ftp://shop.example/"),
    job("credentials in the URL", 422, "headers", target="https://user:secret@shop.example/"),
    job("a URL with a space", 422, "percent-encoded", target="https://shop.example/a b"),
    job("an invalid port", 422, "port", target="https://shop.example:99999/"),
    job("a target of 1 MB", 422, "2048", target="https://shop.example/" + "x" * 1_000_000),
    job("NUL in the target", 422, "NUL", target="notify:a\x00b"),
    job("NUL in the key", 422, "NUL", key="a\x00b"),
    job("NUL in the client", 422, "NUL", client="a\x00b"),
    raw("a lone surrogate in the key", 400, "not JSON", b'{"target": "notify:a", "key": "\\ud800"}'),
    job("an empty key", 400, "key", key=""),
    job("a key of 201 characters", 400, "<= 200", key="k" * 201),
    job("a number as key", 400, "key: Expected str", key=42),
    job("an empty client", 400, "client", client=""),
    job("an unknown queue", 404, "pgsched.queues", queue="nowhere"),
    job("an unknown field", 400, "the fields are target, schedule", tarqet=_URL),
    timed("an unknown field in the schedule", 400, "the fields are fire_at, delay, cron", crom="* * * * *"),
    job("a schedule that is text", 400, "schedule: Expected object", schedule="* * * * *"),
    timed("fire_at and cron", 422, "cannot be combined", fire_at="2031-03-01T09:00:00Z", cron="* * * * *"),
    timed("cron and every", 422, "cannot be combined", cron="* * * * *", every="1h"),
    timed(
        "a time zone without cron", 422, '"timezone" has no effect with "every"', timezone="Europe/Berlin", every="1h"
    ),
    timed("a gap without cron", 422, '"gap" needs "cron"', gap="skip", delay="1h"),
    timed("an instant without an offset", 422, "offset", fire_at="2031-03-01T09:00:00"),
    timed("an invalid instant", 422, "ISO 8601", fire_at="tomorrow"),
    timed("an infinite instant", 422, "ISO 8601", fire_at="infinity"),
    timed("an instant as a number", 400, "schedule.fire_at: Expected str", fire_at=1900000000),
    timed("the year 0", 422, "ISO 8601", fire_at="0000-01-01T00:00:00Z"),
    timed("the year 10000", 422, "ISO 8601", fire_at="10000-01-01T00:00:00Z"),
    timed("an instant after the year 9999 in UTC", 422, "year", fire_at="9999-12-31T23:59:59-10:00"),
    timed("February 30", 422, "ISO 8601", fire_at="2031-02-30T00:00:00Z"),
    timed("a delay without a unit", 422, "write 10s", delay="10"),
    timed("a negative delay", 422, "longer than zero", delay="-PT1H"),
    timed("a delay of a million years", 422, "ten years", delay="P365000000D"),
    timed("a delay in months", 422, "days", delay="P1M"),
    timed("an interval below a second", 422, "second", every="100ms"),
    timed("an interval of 11 years", 422, "ten years", every="P4015D"),
    timed("a cron expression of four fields", 422, "field", cron="* * * *"),
    timed("an invalid minute", 422, "0-59", cron="61 * * * *"),
    timed("a day that never comes", 422, "never", cron="0 0 31 2 *"),
    timed("an empty cron expression", 422, "field", cron=""),
    timed("an unknown time zone", 422, "zone", cron="* * * * *", timezone="Mars/Olympus"),
    timed("a path as time zone", 422, "zone", cron="* * * * *", timezone="../../etc/passwd"),
    timed("NUL in the time zone", 422, "NUL", cron="* * * * *", timezone="UTC\x00"),
    timed("an invalid gap", 422, "shift, skip", cron="* * * * *", gap="stretch"),
    timed("an invalid overlap", 422, "first, second, both", cron="* * * * *", overlap="third"),
    of_payload("NUL in the payload", 422, "\\u0000", b'"a\\u0000b"'),
    of_payload("a lone surrogate in the payload", 400, "not JSON", b'"\\ud800"'),
    of_payload("NaN in the payload", 400, "not JSON", b"NaN"),
    of_payload("infinity in the payload", 400, "not JSON", b"[-Infinity]"),
    of_payload("a number out of range for numeric", 422, "write a smaller number", b"1e400000"),
    of_payload(
        "exponents that expand to more than 1 MiB",
        422,
        "over the limit of 1 MiB",
        b"[1e131000" + b",1e131000" * 9000 + b"]",
    ),
    of_payload("many exponents that expand to more than 1 MiB", 422, "1 MiB", b"[1e300" + b",1e300" * 9000 + b"]"),
    Bad(
        name="expanding exponents with a key",
        status=422,
        says="1 MiB",
        body=b'{"target": "notify:a", "key": "k", "payload": [1e300' + b",1e300" * 9000 + b"]}",
    ),
    Bad(
        name="expanding exponents in a job",
        status=422,
        says="1 MiB",
        body=b'{"target": "notify:a", "schedule": {"every": "1h"}, "payload": [1e300' + b",1e300" * 9000 + b"]}",
    ),
    *(
        timed(f"null as {name}", 400, "Expected str, got null", **{name: None})
        for name in ("fire_at", "delay", "cron", "every")
    ),
    timed("an instant and null as cron", 400, "Expected str, got null", fire_at="2031-03-01T09:00:00Z", cron=None),
    of_payload("a deeply nested payload", 400, "nested", b"[" * 100_000 + b"]" * 100_000),
    of_payload("a payload over its limit", 422, "1 MiB", b'"' + secrets.token_hex(800_000).encode() + b'"'),
    job("a list as options", 400, "options: Expected object", options=[]),
    job("an unknown option", 422, "the options are", options={"retries": 3}),
    job("zero attempts", 422, "1 to 1000", options={"max_attempts": 0}),
    job("an invalid timeout", 422, "PT5S", options={"timeout": "soon"}),
    job("a number as a header", 422, "object of strings", options={"headers": {"X": 1}}),
    job("NUL in an option", 422, "\\u0000", options={"headers": {"X": "\x00"}}),
    raw(
        "an infinite option",
        400,
        "out of range",
        b'{"target": "notify:a", "options": {"max_attempts": 1e999}}',
    ),
    get("an unknown parameter", "the parameters are", "/v1/executions?statsu=failed"),
    get("a repeated parameter", "once", "/v1/jobs?client=a&client=b"),
    get("NUL in a parameter", "NUL", "/v1/jobs?client=%00", 422),
    get("a parameter without a value", "leave the", "/v1/dead-letters?client=shop&job="),
    get("a parameter with the value null", "leave the", "/v1/dead-letters?client=shop&job=null"),
    get("an unknown status", "write one of scheduled", "/v1/executions?status=done"),
    get("an unknown state", "write one of active", "/v1/jobs?state=done"),
    get("a limit of 0", ">= 1", "/v1/jobs?limit=0"),
    get("a limit over 500", "<= 500", "/v1/jobs?limit=501"),
    get("text as a limit", "int", "/v1/jobs?limit=many"),
    get("a limit of 30 digits", "limit", "/v1/jobs?limit=" + "9" * 30),
    get("an invalid cursor", "next from the previous page", "/v1/jobs?after=abc"),
    get("a cursor with unexpected characters", "next from the previous page", "/v1/executions?after=%C3%A4%20%2B"),
    get("a cursor of 5000 characters", "after", "/v1/executions?after=" + "A" * 5000),
    get("a bound without an offset", "offset", "/v1/executions?from=2031-03-01T09:00:00"),
    get("an invalid bound", "ISO 8601", "/v1/executions?to=yesterday"),
    get("an invalid job id", "write one such as", "/v1/executions?job=42"),
    get("an invalid id", "write one such as", "/v1/bulk/42"),
    get("an unknown execution", "no execution with the key 'zzz'", "/v1/executions/zzz", 404),
    get("an unknown route", "/schema/openapi.json", "/v2/jobs", 404),
    Bad(name="an unsupported method", status=405, says="PUT", method="PUT"),
    Bad(
        name="a body that the route does not take",
        status=400,
        says="send none",
        path=f"/v1/jobs/{_ID}/trigger",
        body=b'{"a": 1}',
    ),
    Bad(name="a note with NUL", status=422, says="NUL", path=f"/v1/jobs/{_ID}/pause", body=b'{"note": "\\u0000"}'),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
async def test_a_bad_request_is_refused_with_advice_and_stores_nothing(
    refusing: httpx.AsyncClient, witness: psycopg.Connection[Any], bad: Bad
) -> None:
    headers = {"Content-Type": bad.media_type} if bad.body is not None and bad.media_type else {}
    answer = await refusing.request(bad.method, bad.path, content=bad.body, headers=headers)
    assert answer.status_code == bad.status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert bad.says in problem["detail"]
    assert problem["status"] == bad.status
    assert problem["instance"] == bad.path.partition("?")[0]
    assert problem["type"] == "urn:pgsched:problem:" + problem["code"].removeprefix("pgsched.")
    assert problem["title"]
    assert _rows(witness) == 0


async def test_a_body_error_has_a_json_pointer(refusing: httpx.AsyncClient) -> None:
    answer = await refusing.post("/v1/jobs", json={"target": _URL, "schedule": {"fire_at": 5}})
    assert answer.json()["errors"] == [{"detail": "Expected str, got int", "pointer": "#/schedule/fire_at"}]


async def test_a_query_parameter_error_names_the_parameter(refusing: httpx.AsyncClient) -> None:
    answer = await refusing.get("/v1/executions?status=done")
    assert [fault["parameter"] for fault in answer.json()["errors"]] == ["status"]


async def test_a_streamed_body_over_the_size_limit_is_refused(refusing: httpx.AsyncClient) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(300):
            yield b"x" * 10_000

    answer = await refusing.post("/v1/jobs", content=chunks(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "pgsched.invalid_payload")


def _rows(witness: psycopg.Connection[Any]) -> int:
    counts = (
        "select (select count(*) from pgsched.executions) + (select count(*) from pgsched.jobs)"
        " + (select count(*) from pgsched.history) + (select count(*) from pgsched.audit_log)"
    )
    row = witness.execute(counts).fetchone()
    assert row is not None
    return int(row[0])
