"""Invalid requests: each is answered with a problem that says what to write, and leaves nothing behind."""

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
    """A request, the status it deserves, and a word that its detail must have."""

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
    raw("half of JSON", 400, "not JSON", b'{"target": "notify:a"'),
    raw("two documents", 400, "not JSON", b'{"target": "notify:a"} {}'),
    raw("a comma too many", 400, "not JSON", b'{"target": "notify:a",}'),
    raw("a list", 400, "Expected object", b"[]"),
    raw("null", 400, "Expected object", b"null"),
    raw("not UTF-8", 400, "UTF-8", b'{"target": "notify:a", "payload": "\xff"}'),
    raw("UTF-16", 400, "UTF-8", '{"target": "notify:a"}'.encode("utf-16")),
    raw("a form", 415, "Content-Type: application/json", b"target=notify:a", "application/x-www-form-urlencoded"),
    raw("plain text", 415, "Content-Type: application/json", b'{"target": "notify:a"}', "text/plain"),
    raw("no media type", 415, "Content-Type: application/json", b'{"target": "notify:a"}', ""),
    raw("over the limit", 413, "2 MiB", b'{"target": "' + b"x" * (2 * 1024 * 1024) + b'"}'),
    raw("no target", 400, "target", b"{}"),
    raw("a target of null", 400, "target", b'{"target": null}'),
    job("an empty target", 422, "such as https://", target=""),
    job("a target without a scheme", 422, "write one of", target="shop.example/settle"),
    job("a scheme nobody knows", 422, "write one of", target="ftp://shop.example/"),
    job("credentials in the URL", 422, "headers", target="https://user:secret@shop.example/"),
    job("a URL with a space", 422, "percent-encoded", target="https://shop.example/a b"),
    job("a port that is none", 422, "port", target="https://shop.example:99999/"),
    job("a target of a megabyte", 422, "2048", target="https://shop.example/" + "x" * 1_000_000),
    job("NUL in the target", 422, "NUL", target="notify:a\x00b"),
    job("NUL in the key", 422, "NUL", key="a\x00b"),
    job("NUL in the client", 422, "NUL", client="a\x00b"),
    raw("half a character in the key", 400, "not JSON", b'{"target": "notify:a", "key": "\\ud800"}'),
    job("an empty key", 400, "key", key=""),
    job("a key of 201 characters", 400, "<= 200", key="k" * 201),
    job("a number for a key", 400, "key: Expected str", key=42),
    job("an empty client", 400, "client", client=""),
    job("a queue nobody has", 404, "pgsched.queues", queue="nowhere"),
    job("a field nobody knows", 400, "the fields are target, schedule", tarqet=_URL),
    timed("a field of the schedule nobody knows", 400, "the fields are fire_at, delay, cron", crom="* * * * *"),
    job("a schedule that is text", 400, "schedule: Expected object", schedule="* * * * *"),
    timed("fire_at and cron", 422, "exclude each other", fire_at="2031-03-01T09:00:00Z", cron="* * * * *"),
    timed("cron and every", 422, "exclude each other", cron="* * * * *", every="1h"),
    timed("a zone without cron", 422, "goes with cron", timezone="Europe/Berlin", every="1h"),
    timed("a gap without cron", 422, "goes with cron", gap="skip", delay="1h"),
    timed("an instant without an offset", 422, "offset", fire_at="2031-03-01T09:00:00"),
    timed("an instant that is none", 422, "ISO 8601", fire_at="tomorrow"),
    timed("an infinite instant", 422, "ISO 8601", fire_at="infinity"),
    timed("an instant as a number", 400, "schedule.fire_at: Expected str", fire_at=1900000000),
    timed("the year 0", 422, "ISO 8601", fire_at="0000-01-01T00:00:00Z"),
    timed("the year 10000", 422, "ISO 8601", fire_at="10000-01-01T00:00:00Z"),
    timed("an instant that ends after the year 9999", 422, "year", fire_at="9999-12-31T23:59:59-10:00"),
    timed("a 30th of February", 422, "ISO 8601", fire_at="2031-02-30T00:00:00Z"),
    timed("a delay with no unit", 422, "write 10s", delay="10"),
    timed("a negative delay", 422, "longer than zero", delay="-PT1H"),
    timed("a delay of a million years", 422, "ten years", delay="P365000000D"),
    timed("a delay in months", 422, "days", delay="P1M"),
    timed("an interval below a second", 422, "second", every="100ms"),
    timed("an interval of eleven years", 422, "ten years", every="P4015D"),
    timed("a cron of four fields", 422, "field", cron="* * * *"),
    timed("a minute that is none", 422, "0-59", cron="61 * * * *"),
    timed("a day that never comes", 422, "never", cron="0 0 31 2 *"),
    timed("an empty cron", 422, "field", cron=""),
    timed("a zone nobody knows", 422, "zone", cron="* * * * *", timezone="Mars/Olympus"),
    timed("a zone that is a path", 422, "zone", cron="* * * * *", timezone="../../etc/passwd"),
    timed("NUL in the zone", 422, "NUL", cron="* * * * *", timezone="UTC\x00"),
    timed("a gap that is none", 422, "shift, skip", cron="* * * * *", gap="stretch"),
    timed("an overlap that is none", 422, "first, second, both", cron="* * * * *", overlap="third"),
    of_payload("NUL in the payload", 422, "\\u0000", b'"a\\u0000b"'),
    of_payload("half a character in the payload", 400, "not JSON", b'"\\ud800"'),
    of_payload("NaN in the payload", 400, "not JSON", b"NaN"),
    of_payload("infinity in the payload", 400, "not JSON", b"[-Infinity]"),
    of_payload("a number that no numeric holds", 422, "write a smaller number", b"1e400000"),
    of_payload(
        "numbers that are long when written out",
        422,
        "over the limit of 1 MiB",
        b"[1e131000" + b",1e131000" * 9000 + b"]",
    ),
    of_payload("numbers that are long together", 422, "1 MiB", b"[1e300" + b",1e300" * 9000 + b"]"),
    Bad(
        name="numbers that are long together under a key",
        status=422,
        says="1 MiB",
        body=b'{"target": "notify:a", "key": "k", "payload": [1e300' + b",1e300" * 9000 + b"]}",
    ),
    Bad(
        name="numbers that are long together in a job",
        status=422,
        says="1 MiB",
        body=b'{"target": "notify:a", "schedule": {"every": "1h"}, "payload": [1e300' + b",1e300" * 9000 + b"]}",
    ),
    *(
        timed(f"nothing as {name}", 400, "Expected str, got null", **{name: None})
        for name in ("fire_at", "delay", "cron", "every")
    ),
    timed("an instant and nothing as cron", 400, "Expected str, got null", fire_at="2031-03-01T09:00:00Z", cron=None),
    of_payload("a payload nested too deeply", 400, "nested", b"[" * 100_000 + b"]" * 100_000),
    of_payload("a payload over its limit", 422, "1 MiB", b'"' + secrets.token_hex(800_000).encode() + b'"'),
    job("options that are a list", 400, "options: Expected object", options=[]),
    job("an option nobody knows", 422, "the options are", options={"retries": 3}),
    job("no attempts at all", 422, "1 to 1000", options={"max_attempts": 0}),
    job("a timeout that is none", 422, "PT5S", options={"timeout": "soon"}),
    job("headers that are no text", 422, "object of strings", options={"headers": {"X": 1}}),
    job("NUL in an option", 422, "\\u0000", options={"headers": {"X": "\x00"}}),
    raw(
        "an option beyond all numbers",
        400,
        "out of range",
        b'{"target": "notify:a", "options": {"max_attempts": 1e999}}',
    ),
    get("a parameter nobody knows", "the parameters are", "/v1/executions?statsu=failed"),
    get("a parameter given twice", "once", "/v1/jobs?client=a&client=b"),
    get("NUL in a parameter", "NUL", "/v1/jobs?client=%00", 422),
    get("a parameter of which the value was forgotten", "leave the", "/v1/dead-letters?client=shop&job="),
    get("a parameter that a program had nothing for", "leave the", "/v1/dead-letters?client=shop&job=null"),
    get("a status nobody knows", "write one of scheduled", "/v1/executions?status=done"),
    get("a state nobody knows", "write one of active", "/v1/jobs?state=done"),
    get("a limit of nothing", ">= 1", "/v1/jobs?limit=0"),
    get("a limit over 500", "<= 500", "/v1/jobs?limit=501"),
    get("a limit that is no number", "int", "/v1/jobs?limit=many"),
    get("a limit beyond all numbers", "limit", "/v1/jobs?limit=" + "9" * 30),
    get("a cursor that is none", "next of the previous page", "/v1/jobs?after=abc"),
    get("a cursor with odd characters", "next of the previous page", "/v1/executions?after=%C3%A4%20%2B"),
    get("a cursor of a kilometre", "after", "/v1/executions?after=" + "A" * 5000),
    get("a bound without an offset", "offset", "/v1/executions?from=2031-03-01T09:00:00"),
    get("a bound that is none", "ISO 8601", "/v1/executions?to=yesterday"),
    get("a job that is no id", "write one such as", "/v1/executions?job=42"),
    get("an id that is none", "write one such as", "/v1/bulk/42"),
    get("an execution that is none", "no execution with the key 'zzz'", "/v1/executions/zzz", 404),
    get("a route nobody has", "/schema/openapi.json", "/v2/jobs", 404),
    Bad(name="a method nobody has", status=405, says="PUT", method="PUT"),
    Bad(
        name="a body nobody asked for",
        status=400,
        says="leave it out",
        path=f"/v1/jobs/{_ID}/trigger",
        body=b'{"a": 1}',
    ),
    Bad(name="a note with NUL", status=422, says="NUL", path=f"/v1/jobs/{_ID}/pause", body=b'{"note": "\\u0000"}'),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
async def test_a_bad_request_is_refused_with_what_to_write(
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


async def test_a_fault_in_the_body_is_pointed_at(refusing: httpx.AsyncClient) -> None:
    answer = await refusing.post("/v1/jobs", json={"target": _URL, "schedule": {"fire_at": 5}})
    assert answer.json()["errors"] == [{"detail": "Expected str, got int", "pointer": "#/schedule/fire_at"}]


async def test_a_fault_in_a_parameter_is_named(refusing: httpx.AsyncClient) -> None:
    answer = await refusing.get("/v1/executions?status=done")
    assert [fault["parameter"] for fault in answer.json()["errors"]] == ["status"]


async def test_a_streamed_body_over_the_limit_is_refused(refusing: httpx.AsyncClient) -> None:
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
