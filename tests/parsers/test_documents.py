"""JSON from outside: options, rules, request bodies, batch lines, token claims, and answers of targets and providers.
Each is parsed, or refused with its documented error."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsched.api.batch_lines import BatchLine, cut, read
from pgsched.api.jobs import EditJob, PreviewEdit, PreviewSpec
from pgsched.api.problems import Unreadable
from pgsched.api.request_reading import read_body
from pgsched.api.schedule import CreateJob
from pgsched.client.events import EventStream
from pgsched.client.requests import Call
from pgsched.delivery.exchange import Malformed
from pgsched.delivery.malformed_head import read_malformed
from pgsched.domain.api_key import ANYBODY, Grant
from pgsched.domain.body import check_body
from pgsched.domain.declared_job import declared_in
from pgsched.domain.execution_options import parse_options
from pgsched.domain.identity_providers import FromClaim, Provider, parse_providers
from pgsched.domain.recurrence_rules import parse_rules
from pgsched.errors import (
    InvalidInput,
    InvalidOptions,
    InvalidPayload,
    InvalidSchedule,
    InvalidSettings,
    PgschedError,
    Refused,
    Unauthenticated,
)
from pgsched.store.lookup.row_types import Event, JobRow
from pgsched.store.schedule.many import OneShot, Start
from pgsched.store.schedule.schedule_parameters import ScheduleRequest
from tests.parsers.drawn import JSON, garbled, objects, thoroughly, written

_SECRET = {"secret": "shop-token", "prefix": "Bearer "}
_OPTIONS: dict[str, Any] = {
    "timeout": "PT5S",
    "max_attempts": 5,
    "backoff": {"initial": "1s", "factor": 2, "maximum": "1h"},
    "relevant_for": "1h",
    "method": "PUT",
    "headers": {"X-Shop": "42", "Authorization": _SECRET},
    "auth": {"oauth2": {"token_url": "https://login.example/token", "client_id": "pgsched", "client_secret": "NAME"}},
    "tls": {"certificate": "bank-certificate", "key": "bank-key"},
    "retry_on": [404],
    "fail_on": [500],
    "on_success": "https://shop.example/told",
    "limit_key": "merchant-42",
    "priority": 3,
    "ordering": "block",
    "deferred": "1h",
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "cloudevent": {"type": "com.example.shop.paid", "source": "/shop/orders"},
    "keep_answer": True,
    "body": {"format": "text", "type": "text/csv; charset=utf-8"},
}
_ALSO = {
    "cron": "0 9 * * SAT",
    "every": "1h",
    "fire_at": "2026-03-01T09:00:00Z",
    "timezone": "UTC",
    "anchor": "2026-01-01Z",
}
_RULES: dict[str, Any] = {
    "also": [_ALSO, {"every": "1h"}],
    "exclude": ["2026-12-25", "* 0-6 * * SAT,SUN"],
    "starts_at": "2026-03-01T09:00:00Z",
    "ends_at": "2027-03-01T09:00:00Z",
    "max_runs": 5,
    "jitter": "30s",
    "window": "1h",
    "after_completion": True,
    "on_overlap": "queue_one",
    "on_missed": "all",
    "catch_up": "1h",
    "pause_after": 3,
    "after": {"job": "close-day", "same": "day", "on_failure": "skip", "on_none": "run"},
}
_JOB: dict[str, Any] = {
    "target": "https://shop.example/x",
    "schedule": {
        "cron": "0 9 * * *",
        "every": "15m",
        "fire_at": "2026-03-01T09:00:00Z",
        "delay": "5s",
        "timezone": "UTC",
    },
    "payload": {"order": 42},
    "client": "shop",
    "key": "settle-42",
    "ordering_key": "o",
    "queue": "default",
    "options": _OPTIONS,
    "rules": _RULES,
    "labels": {"team": "mail"},
    "after": ["0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b47"],
    "on_conflict": "keep",
}
_DECLARED = {name: _JOB[name] for name in ("target", "key", "client", "payload", "options", "rules", "labels", "queue")}
_DECLARED |= {"cron": "0 9 * * *", "every": "15m", "timezone": "Europe/Berlin", "gap": "skip", "overlap": "both"}
_SIGN_IN = {"client_id": "dashboard", "scopes": ["openid"], "name": "us", "client_secret_file": "/secret"}
_PROVIDER = {
    "audience": "pgsched",
    "algorithms": ["RS256"],
    "leeway": 5,
    "rate": 10,
    "burst": 5,
    "rules": [{"claims": {"azp": "shop"}, "clients": {"claim": "a.b", "prefix": "x"}, "scopes": ["read"]}],
    "sign_in": _SIGN_IN,
}
_CLAIMS = {"sub": "ann", "azp": "shop", "groups": ["oncall", 5], "realm_access": {"roles": ["read"]}, "a.b": "read x"}
_START = Start(datetime(2026, 3, 1, tzinfo=UTC), 0, False)
Errors = tuple[type[Exception], ...]

DOCUMENTS: dict[str, tuple[Callable[[bytes], Any], Errors, st.SearchStrategy[Any]]] = {
    "options": (parse_options, (InvalidOptions,), objects(_OPTIONS)),
    "defaults": (lambda raw: parse_options(b"{}", raw), (InvalidOptions,), objects(_OPTIONS)),
    "rules": (parse_rules, (InvalidSchedule,), objects(_RULES)),
    "declared jobs": (
        lambda raw: declared_in(json.loads(raw), "file"),
        (InvalidInput,),
        st.lists(objects(_DECLARED).map(lambda job: {"key": "k", "target": "notify:a"} | job), max_size=2) | JSON,
    ),
    "providers": (
        lambda raw: parse_providers(raw.decode()),
        (InvalidSettings,),
        st.dictionaries(
            garbled("https://login.example", "http://[::1]:80", "https://["), objects(_PROVIDER) | JSON, max_size=2
        ),
    ),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_any_document_is_parsed_or_refused_with_a_pgsched_error(name: str) -> None:
    parse, errors, drawn = DOCUMENTS[name]

    @thoroughly
    @given(drawn | JSON if name not in ("declared jobs", "providers") else drawn)
    def reads(value: Any) -> None:
        with suppress(*errors):
            parse(written(value))

    reads()


@thoroughly
@given(garbled('{"timeout": "5s", "headers": {"a": "b"}}', "[1, 2.5e3, null]", '{"a": {"b": ["\\ud800"]}}'))
def test_garbled_json_is_parsed_or_refused_by_every_parser(text: str) -> None:
    raw = text.encode(errors="surrogatepass")
    for parse, errors in ((parse_options, (InvalidOptions,)), (parse_rules, (InvalidSchedule,))):
        with suppress(*errors):
            parse(raw)
    for expected in (CreateJob, EditJob, PreviewSpec, Any):
        with suppress(Unreadable):
            read_body(raw, expected)


_STRUCTS = [CreateJob, EditJob, PreviewEdit, PreviewSpec]


@thoroughly
@given(st.sampled_from(_STRUCTS), objects(_JOB))
def test_a_body_has_its_declared_type_or_is_refused(expected: type, value: Any) -> None:
    with suppress(Unreadable):
        found = read_body(written(value), expected)
        assert type(found) is expected


async def _pieces(text: bytes, lengths: list[int]) -> AsyncIterator[bytes]:
    for length in lengths:
        yield text[:length]
        text = text[length:]
    yield text


_LINES = st.lists(
    objects(_JOB).map(written) | garbled('{"target": "notify:a"}').map(lambda text: text.encode("utf-8", "replace"))
)


@thoroughly
@given(_LINES, st.lists(st.integers(0, 40), max_size=8), st.sampled_from([b"\n", b"\r\n", b"\n\n"]))
async def test_chunk_boundaries_do_not_change_how_a_batch_is_read(
    lines: list[bytes], lengths: list[int], end: bytes
) -> None:
    text = end.join(lines)
    whole = [line async for some in cut(_pieces(text, [])) for line in some]
    assert [line async for some in cut(_pieces(text, lengths)) for line in some] == whole
    expected = [BatchLine(n, one) for n, one in enumerate(text.split(b"\n"), 1) if one.strip()]
    assert whole == expected
    found = [one async for some in read(_pieces(text, lengths), _START, ANYBODY) for one in some]
    assert [one.number for one in found] == [line.number for line in whole]
    for one in found:
        assert isinstance(getattr(one, "error", None), PgschedError) or isinstance(one[1], OneShot | ScheduleRequest)


@thoroughly
@given(st.sampled_from(["text", "form", "base64"]), JSON | objects({"a": "b", "c": ["d", 1]}))
def test_a_payload_is_encoded_in_its_body_format_or_refused(format: str, payload: Any) -> None:
    with suppress(InvalidPayload):
        check_body(written(payload), written({"body": {"format": format}}))


def _provider(*claims: str) -> Provider:
    rules = [{"claims": {one: "shop"}, "clients": {"claim": one}, "scopes": {"claim": one}} for one in claims]
    return parse_providers(json.dumps({"https://a": {"audience": "pgsched", "rules": rules}}))["https://a"]


@thoroughly
@given(objects(_CLAIMS), garbled("realm_access.roles", "a.b", "groups"))
def test_token_claims_yield_a_valid_grant_or_a_refusal(claims: dict[str, Any], name: str) -> None:
    assert all(isinstance(one, str) for one in FromClaim(name).read(claims))
    with suppress(Unauthenticated, Refused):
        grant = _provider("azp", "groups", name).grant(claims)
        assert isinstance(grant, Grant)
        assert grant.scopes <= {"schedule", "read", "operate", "admin"}
        assert grant.clients is not None
        assert 1 <= len(grant.clients) <= 100


_SOME = Event(
    cursor="1.0.5..",
    id=UUID("0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b47"),
    client="shop",
    key="k",
    job_id=None,
    queue="default",
    status="failed",
    target="notify:a",
    scheduled_for=_START.now,
    finished_at=_START.now,
    attempt=1,
    status_code=None,
    reason="é",
    instants=None,
    last_scheduled_for=None,
)
_EVENT = b"id: 1.0.5..\ndata: " + msgspec.json.encode(_SOME) + b"\n\n"


@thoroughly
@given(
    st.lists(st.binary(max_size=20) | st.sampled_from([_EVENT, b"id: \xff\n\n", b'data: "\xff"\n\n', b"data: {}\n\n"])),
    st.lists(st.integers(1, 50), max_size=6),
)
def test_chunk_boundaries_do_not_change_how_an_event_stream_is_read(frames: list[bytes], lengths: list[int]) -> None:
    def follow(pieces: list[bytes]) -> list[Any]:
        following, found = EventStream({}, None, 0), list[Any]()
        try:
            for piece in pieces:
                found += following.read(piece)
        except PgschedError as error:
            found.append(str(error))
        return found

    text, pieces = b"".join(frames), list[bytes]()
    for length in lengths:
        pieces.append(text[sum(map(len, pieces)) :][:length])
    assert follow([*pieces, text[sum(map(len, pieces)) :]]) == follow([text])


@thoroughly
@given(
    st.integers(200, 599),
    st.sampled_from([b'{"code": []}', b'{"code": "not_found", "detail": 1}'])
    | st.binary(max_size=30)
    | JSON.map(written)
    | objects({"code": "not_found", "detail": "there is none"}).map(written),
)
def test_any_server_answer_is_parsed_or_raises_a_pgsched_error(status: int, content: bytes) -> None:
    answer = httpx.Response(status, content=content, request=httpx.Request("GET", "http://127.0.0.1/v1/jobs"))
    for field in (None, "jobs"):
        with suppress(PgschedError):
            Call("GET", "/v1/jobs", list[JobRow] if field else JobRow, field=field).read(answer)


_HEAD = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length : 3\r\nRetry-After: 5\r\n\r\n{}"


@thoroughly
@given(garbled(_HEAD, "HTTP/1.1 103 Early\n\nHTTP/1.0 503\r\nTransfer-Encoding: gzip, chunked\n\n"))
def test_a_malformed_head_yields_a_status_or_is_refused(text: str) -> None:
    received = text.encode("latin-1", "replace")
    with suppress(Malformed):
        head = read_malformed(received)
        assert head.status in {0, *range(100, 1000)} - {101}  # 0: its first line is incomplete
        assert all(b"\n" not in part and b"\r" not in part for part in (head.reason, head.retry_after or b""))
