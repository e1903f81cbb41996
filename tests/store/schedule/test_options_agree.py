"""Workers can read the options that the database accepts, and options certain to fail are refused with advice."""

from typing import Any

import orjson
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgsched.domain.body import Body
from pgsched.domain.execution_options import parse_options
from pgsched.errors import InvalidPayload
from tests.store.store_arrange import Connection

NUMBERS = "0 1 5 59 99 999 9999 100000 999999999 1.5 0.1 1.1234567 1,5 0001 ² ٣"
TEXT = st.text(alphabet="PTWDHMSpwdhms0123456789., \t\n\xa0²-+", max_size=8)
DURATIONS = st.one_of(
    st.builds(
        "{}{}".format, st.sampled_from(NUMBERS.split()), st.sampled_from(["s", "m", "h", "d", "w", "ms", "M", ""])
    ),
    st.builds("P{}T{}S".format, st.sampled_from(["", "1D", "2W", "1W1D", "1M"]), st.sampled_from(NUMBERS.split())),
    st.sampled_from(
        ["PT", "P", "P1DT", "pt5s", " 5s ", "5s\n", "\xa05s", "1h30m", "30m1h", "1d1d", "PT1,5S", "5 s", "P1Y", "-PT5S"]
    ),
    TEXT,
)
JUNK: Any = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-1000, 2000), st.floats(allow_nan=False, allow_infinity=False), TEXT
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=4,
)
NAMES = """
X-Shop x-shop Host host Content-Length Idempotency-Key webhook-id Webhook-Foo traceparent TraceState pgsched-x
Connection Proxy-Authorization User-Agent Accept-Encoding Content-Type Authorization Te Upgrade X_y x.y X:Y X-Ümlaut
"""
HEADERS = st.dictionaries(
    st.one_of(st.sampled_from([*NAMES.split(), "", "a b", "a\nb", "x" * 200, "x" * 201]), st.text(max_size=3)),
    st.one_of(
        st.sampled_from(
            ["", "a", " a", "a ", "a b", "a\tb", "a\nb", "a\r\nX: y", "ü", "\x7f", "\x01", "x" * 8192, "x" * 8193]
        ),
        st.text(max_size=4),
        JUNK,
    ),
    max_size=4,
)
CODES = st.lists(
    st.one_of(st.integers(298, 302), st.integers(598, 601), st.just(404), st.just(404.5), JUNK), max_size=3
)
TARGETS = st.sampled_from(
    ["https://shop.example/told", "python:told", "ftp://x", "", "notify:a b", "queue:", "https://a@b/", "sql:a.b"]
)
_TRACE, _SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACES = st.builds(
    "{}-{}-{}-{}".format,
    st.sampled_from(["00", "00", "01", "ff"]),
    st.sampled_from([_TRACE, _TRACE, "0" * 32, _TRACE.upper(), _TRACE[1:]]),
    st.sampled_from([_SPAN, _SPAN, "0" * 16]),
    st.sampled_from(["00", "01", "1", "01-x", "01\n"]),
)
EVENTS = st.dictionaries(
    st.sampled_from(["type", "source", "type", "source", "subject"]),
    st.one_of(
        st.sampled_from(["com.example.paid", "/shop?a=1#b'", "", "a b", "a%", "x" * 200, "x" * 201, "a\n"]), JUNK
    ),
    min_size=1,
)
CERTIFICATES = st.dictionaries(
    st.sampled_from(["certificate", "certificate", "key", "keys"]),
    st.one_of(st.sampled_from(["bank", "a.b_c-1", "", "-a", "a b", "x" * 100, "x" * 101, "a\n"]), JUNK),
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "format": st.one_of(st.sampled_from(["text", "form", "base64", "json"]), JUNK),
        "type": st.one_of(
            st.sampled_from(
                [
                    "text/csv",
                    "text/plain; charset=utf-8",
                    'a/b;x="y z"',
                    "text",
                    "a/b; x",
                    "a/b\r\nX: y",
                    "a/b\n",
                    "ä/b",
                ]
            ),
            st.just("a/" + "b" * 100),
            st.just("a/" + "b" * 100 + ";a=" + "c" * 100),
            JUNK,
        ),
        "text": JUNK,
    },
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "timeout": st.one_of(DURATIONS, JUNK),
        "max_attempts": st.one_of(st.integers(-1, 1002), st.just(5.0), st.just(2.5), JUNK),
        "backoff": st.one_of(
            JUNK,
            st.lists(DURATIONS, max_size=3),
            st.fixed_dictionaries(
                {},
                optional={
                    "initial": st.one_of(st.sampled_from(["1s", "2h", "20m", "1ms", "25h"]), DURATIONS),
                    "maximum": st.one_of(st.sampled_from(["1s", "500ms", "1h", "7d", "8d"]), DURATIONS),
                    "factor": st.one_of(st.integers(0, 101), st.floats(0.5, 101), JUNK),
                },
            ),
        ),
        "relevant_for": DURATIONS,
        "max_retry_age": DURATIONS,
        "deadline": DURATIONS,
        "method": st.one_of(st.sampled_from(["POST", "get", "PATCH", "TRACE"]), JUNK),
        "headers": st.one_of(HEADERS, JUNK),
        "retry_on": st.one_of(CODES, JUNK),
        "fail_on": st.one_of(CODES, JUNK),
        "on_success": st.one_of(TARGETS, JUNK),
        "on_failure": TARGETS,
        "limit_key": st.one_of(st.sampled_from(["merchant-42", "", "x" * 200, "x" * 201]), JUNK),
        "priority": st.one_of(st.integers(-102, 102), st.just(10.0), JUNK),
        "ordering": st.one_of(st.sampled_from(["block", "continue", "Block"]), JUNK),
        "deferred": DURATIONS,
        "traceparent": st.one_of(TRACES, JUNK),
        "cloudevent": st.one_of(EVENTS, JUNK),
        "tls": st.one_of(CERTIFICATES, JUNK),
        "keep_answer": st.one_of(st.booleans(), JUNK),
        "body": st.one_of(BODIES, JUNK),
        "timeuot": JUNK,
    },
)
QUIET = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def taken_by_sql(db: Connection, raw: bytes, check: str = "check_options") -> bool:
    try:
        db.execute(f"select pgsched_internal.{check}(%s::jsonb)".encode(), [raw.decode()])
    except psycopg.Error as error:
        if error.sqlstate not in {"PS004", "PS001"}:
            raise
        return False
    return True


def encoded(options: Any) -> bytes | None:
    """Return the JSON, or None if it contains a NUL character, which PostgreSQL refuses to store."""
    raw = orjson.dumps(options)
    return None if b"\\u0000" in raw else raw


@QUIET
@given(options=OPTIONS)
def test_workers_can_parse_all_options_that_sql_accepts(db: Connection, options: Any) -> None:
    raw = encoded(options)
    if raw is not None and taken_by_sql(db, raw):
        parse_options(raw)


_VALUES = st.one_of(
    st.text(max_size=3), st.integers(-(2**60), 2**60), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)
)
PAYLOADS = st.one_of(
    st.sampled_from(
        ["", "ab", "abcd", "ab==", "abc=", "a===", "====", "ab=c", "ab c", "abcd\n", "äöü", "ab-_", "abcd=="]
    ),
    st.dictionaries(st.text(max_size=2), st.one_of(_VALUES, st.lists(_VALUES, max_size=2)), max_size=3),
    JUNK,
)


@QUIET
@given(format=st.sampled_from(["text", "form", "base64"]), payload=PAYLOADS)
def test_python_and_sql_accept_the_same_payloads_for_each_body_format(
    db: Connection, format: str, payload: Any
) -> None:
    raw = encoded(payload)
    if raw is None:
        return
    asked = f'select pgsched_internal.check_body(%s, \'{{"format": "{format}"}}\')'
    try:
        Body(format=format, type="a/b").of(raw)
    except InvalidPayload:
        with pytest.raises(psycopg.Error, match="does not fit the body format"):
            db.execute(asked.encode(), [raw.decode()])
    else:
        db.execute(asked.encode(), [raw.decode()])


@QUIET
@given(name=st.sampled_from(["headers", "timeout", "backoff", "retry_on", "priority"]), data=st.data())
def test_workers_can_parse_each_single_option_that_sql_accepts(db: Connection, name: str, data: st.DataObject) -> None:
    parts = {"headers": HEADERS, "timeout": DURATIONS, "backoff": JUNK, "retry_on": CODES, "priority": JUNK}
    raw = encoded({name: data.draw(parts[name])})
    if raw is not None and taken_by_sql(db, raw):
        parse_options(raw)


@QUIET
@given(options=OPTIONS)
def test_workers_can_parse_the_default_options_that_sql_accepts(db: Connection, options: Any) -> None:
    raw = encoded(options)
    if raw is not None and taken_by_sql(db, raw, "check_defaults"):
        parse_options(b"{}", raw)


REFUSED: list[tuple[Any, str]] = [
    ({"timeuot": "5s"}, "unknown option: timeuot"),
    ([], "options must be a JSON object"),
    ({"timeout": 5}, "timeout must be a duration from 0.1 s to 24 h"),
    ({"timeout": "50ms"}, "timeout must be a duration from 0.1 s to 24 h"),
    ({"timeout": "P2D"}, "timeout must be a duration from 0.1 s to 24 h"),
    ({"timeout": "soon"}, "timeout must be a duration from 0.1 s to 24 h"),
    ({"max_attempts": 0}, "max_attempts must be a whole number from 1 to 1000"),
    ({"max_attempts": 1001}, "max_attempts must be a whole number from 1 to 1000"),
    ({"max_attempts": 2.5}, "max_attempts must be a whole number from 1 to 1000"),
    ({"max_attempts": True}, "max_attempts must be a whole number from 1 to 1000"),
    ({"max_attempts": "5"}, "max_attempts must be a whole number from 1 to 1000"),
    ({"backoff": "1s"}, "backoff must have initial and maximum"),
    ({"backoff": {"start": "1s"}}, "backoff must have initial and maximum"),
    ({"backoff": {"factor": 0.5}}, "factor, from 1 to 100"),
    ({"backoff": {"initial": "2d"}}, "backoff must have initial and maximum"),
    ({"backoff": {"initial": "5m", "maximum": "1m"}}, "backoff.maximum must not be shorter"),
    ({"backoff": {"maximum": "500ms"}}, "backoff.maximum must not be shorter"),
    ({"backoff": []}, "a backoff list must have 1 to 100 waits"),
    ({"backoff": ["1s"] * 101}, "a backoff list must have 1 to 100 waits"),
    ({"backoff": ["1s", 5]}, "each a duration from 1 ms to 7 days"),
    ({"backoff": ["8d"]}, "each a duration from 1 ms to 7 days"),
    ({"relevant_for": 600}, "relevant_for, max_retry_age and deadline must be durations from 0.1 s to 3653 days"),
    ({"relevant_for": "50ms"}, "must be durations from 0.1 s to 3653 days"),
    ({"max_retry_age": "P3654D"}, "must be durations from 0.1 s to 3653 days"),
    ({"deadline": None}, "must be durations from 0.1 s to 3653 days"),
    ({"method": "post"}, "method must be GET, POST"),
    ({"method": ["POST"]}, "method must be GET, POST"),
    ({"retry_on": 404}, "lists of at most 100 status codes"),
    ({"retry_on": [404] * 101}, "lists of at most 100 status codes"),
    ({"retry_on": [200]}, "status codes from 300 to 599"),
    ({"fail_on": ["500"]}, "status codes from 300 to 599"),
    ({"retry_on": [500], "fail_on": [500]}, "retry_on and fail_on name the same status code"),
    ({"headers": []}, "headers must be an object"),
    ({"headers": {f"X-{n}": "x" for n in range(51)}}, "there are more than 50 headers"),
    ({"headers": {f"X-{n}": "x" * 8000 for n in range(9)}}, "the options are over the limit of 64 KiB"),
    ({"headers": {"X-A": 1}}, "headers must be an object of strings"),
    ({"headers": {"X-A": "1\r\nX-B: 2"}}, "the header X-A must be at most 8192 printable ASCII"),
    ({"headers": {"X-A": "1\n"}}, "the header X-A must be"),
    ({"headers": {"X-A": "ü"}}, "the header X-A must be"),
    ({"headers": {"X A": "1"}}, "a name that HTTP does not allow"),
    ({"headers": {"X-A\n": "1"}}, "a name that HTTP does not allow"),
    ({"headers": {"": "1"}}, "a name that HTTP does not allow"),
    ({"headers": {"X-Shop": "1", "x-shop": "2"}}, "headers contain the same name twice"),
    ({"headers": {"Transfer-Encoding": "chunked"}}, "must not set Transfer-Encoding, which belongs to the connection"),
    ({"headers": {"Proxy-Authorization": "x"}}, "which belongs to the connection"),
    ({"headers": {"host": "x"}}, "which belongs to the connection"),
    ({"headers": {"Idempotency-Key": "x"}}, "must not set Idempotency-Key, which pgsched sets"),
    ({"headers": {"WebHook-Signature": "x"}}, "which pgsched sets"),
    ({"headers": {"Traceparent": "00-garbage"}}, "which pgsched sets"),
    ({"headers": {"pgsched-attempt": "9"}}, "which pgsched sets"),
    ({"on_success": "told"}, "no scheme"),
    ({"on_failure": ["python:told"]}, "on_failure must be a target"),
    ({"tls": {}}, "tls must name the secrets"),
    ({"tls": {"key": "mine"}}, "tls must name the secrets"),
    ({"tls": {"certificate": "-----BEGIN hush"}}, "tls must name the secrets"),
    ({"tls": {"certificate": "a", "more": 1}}, "tls must name the secrets"),
    *[
        ({"body": body}, "body must have a format")
        for body in (
            *(None, "text", {}, {"format": "json"}, {"format": ["text"]}, {"format": "text", "kind": "a/b"}),
            *({"format": "form", "type": "a/b"}, {"format": "text", "type": "a/b\r\nX: y"}),
            {"format": "text", "type": "csv"},
        )
    ],
    ({"auth": {"oauth2": {"client_secret": "hush hush"}}}, "auth must be oauth2"),
]


@pytest.mark.parametrize(("options", "says"), REFUSED, ids=lambda given: str(given)[:40])
def test_options_that_can_never_work_are_refused(db: Connection, options: Any, says: str) -> None:
    with pytest.raises(psycopg.Error, match=says) as refused:
        db.execute("select pgsched_internal.check_options(%s::jsonb)", [orjson.dumps(options).decode()])
    assert refused.value.sqlstate in {"PS004", "PS001"}
    assert "hush" not in str(refused.value)
