"""Short texts from outside: each is parsed, or refused with its documented error."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsched.api.entity_tags import check_version
from pgsched.api.oidc_code_flow import PendingSignIn
from pgsched.api.pages.forms import OF_EXECUTIONS, OF_LETTERS, filter_of, instant_in, number_in
from pgsched.api.pages.session import local
from pgsched.api.problems import Unreadable
from pgsched.cli import parameters
from pgsched.client.requests import check_address
from pgsched.delivery.exception_outcomes import FinalFailure
from pgsched.delivery.http import parse_retry_after
from pgsched.delivery.proxy import parse_proxy
from pgsched.delivery.url import parse_url
from pgsched.domain.api_key import Token
from pgsched.domain.duration import format_duration, length_of, parse_duration, parse_shift
from pgsched.domain.event_position import Position
from pgsched.domain.excluded_times import parse_exclusion
from pgsched.domain.schedule import from_parts, instant_of, next_instant
from pgsched.domain.secret import parse_signing_secret
from pgsched.domain.start_jitter import resolve_hashes
from pgsched.domain.target import parse_target
from pgsched.domain.time_zone import zone_named
from pgsched.domain.trace import traceparent_in
from pgsched.domain.wake_notice import parse_notice
from pgsched.errors import (
    InvalidInput,
    InvalidSchedule,
    InvalidSettings,
    InvalidTarget,
    Unauthenticated,
)
from pgsched.sealing import KeyRing
from pgsched.store.core.text import check_text
from pgsched.store.lookup.filters import DeadLetterFilter, ExecutionFilter
from tests.parsers.drawn import garbled, thoroughly

_NOW = datetime(2026, 3, 1, tzinfo=UTC)
_TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_KEY = "bKQ5dRl3GkTzMpqF0QmXoR2nW8sV1yJ7eH4cU6aN9iA="
_BEGUN = PendingSignIn(issuer="https://login.example", state="s", nonce="n", verifier="v", next="/jobs")
_POSITION = str(Position.beginning(_NOW))
_PARTLY = "69a3a0c0.5.2f4.2f0-1-2.2f1.0198c5a47b1e7c3a9f523d1f0a6e2b47"


def _cron(text: str) -> None:
    schedule = from_parts(cron=text, identity="shop/report")
    found = next_instant(schedule, _NOW)
    assert found is None or found > _NOW


def _filters(text: str) -> None:
    """Parses each field separately, since the first error hides the others."""
    for name in OF_LETTERS:
        with suppress(Unreadable):
            filter_of(DeadLetterFilter, {name: text})
    for name in OF_EXECUTIONS:
        with suppress(Unreadable):
            filter_of(ExecutionFilter, {name: text})


class NeverRaised(Exception):
    """For parsers that accept any text."""


Read = Callable[[str], Any]
READERS: list[tuple[Read, type[Exception], list[str]]] = [
    (parse_duration, InvalidSchedule, ["PT1H30M", "P1DT2H", "P2W", "1h30m", "1.5s", "250ms", "2d"]),
    (parse_shift, InvalidSchedule, ["-1h", "PT5S", "-P1D"]),
    (length_of, InvalidSchedule, ["PT0S", "0s", "5m"]),
    (_cron, InvalidSchedule, ["*/5 9-17 * * MON-FRI", "0 0 L * *", "H H(0-7) * * *", "@daily", "0 30 2 15W * *"]),
    (lambda text: resolve_hashes(text, "shop"), InvalidSchedule, ["H H * * *", "H/10 H(0-7)/2 1,H * *"]),
    (lambda text: instant_of(text, "fire_at"), InvalidSchedule, ["2026-03-01T09:00:00Z", "2026-W09-7T09+01:00"]),
    (zone_named, InvalidSchedule, ["Europe/Berlin", "Etc/GMT+5", "../../etc/passwd", "posix/UTC", "UTC"]),
    (parse_exclusion, InvalidSchedule, ["2026-12-25", "2026-12-24/2026-12-31", "* 0-6 * * SAT,SUN",
        "2026-12-24T18:00:00Z/2026-12-27T06:00:00Z"]),
    (parse_target, InvalidTarget, ["https://shop.example:8443/a?b=c", "python:mail", "sql:a.b", "notify:x", "queue:"]),
    (parse_url, FinalFailure, ["https://shop.example:8443/a?b=c", "http://[::1]:80/", "http://127.0.0.1", "http://a."]),
    (parse_signing_secret, InvalidInput, ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]),
    (Token.parse, NeverRaised, [f"psk_0123456789abcdef_{'aZ0_-' * 8}abc"]),
    (Position.parse, InvalidInput, [_POSITION, _PARTLY]),
    (parse_notice, NeverRaised, ["3@1772355600000000,4@-1", "stop 0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b47"]),
    (traceparent_in, NeverRaised, [_TRACE, f"cc{_TRACE[2:]}-more"]),
    (KeyRing.parse, InvalidSettings, [_KEY, f"{_KEY}, {_KEY[::-1]}", "é"]),
    (parse_proxy, InvalidSettings, ["http://user:p%40ss@proxy.example:3128", "http://[::1]:3128/"]),
    (lambda text: parse_retry_after(text, 1_772_355_600), NeverRaised, ["120", "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 +9999"]),
    (lambda text: check_version(text, "5f"), Unreadable, ['"5f-0a"', 'W/"5f"', "*", '"1", "5f-"']),
    (PendingSignIn.read, Unauthenticated, [_BEGUN.written()]),
    (local, NeverRaised, ["/jobs?key=a#b", "//evil.test", "https://evil.test", "/\\evil.test"]),
    (lambda text: instant_in("from", text), Unreadable, ["2026-03-01T09:00", "2026-03-01 09:00:00 01:00"]),
    (lambda text: number_in("rate", text, 1.0), Unreadable, ["10", "0.5", "inf", "nan", "1_0"]),
    (_filters, NeverRaised, ["200", "0200", "a=b,c=d", "0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b47", "failed"]),
    (parameters.instant, click.BadParameter, ["2026-03-01T09:00:00Z"]),
    (parameters.duration, click.BadParameter, ["PT5S"]),
    (parameters.json_text, click.BadParameter, ['{"a": [1, "b"]}', "@/nowhere", "@\x00"]),
    (parameters.assignment, click.BadParameter, ["timeout=PT5S", 'headers={"a": 1}']),
    (parameters.label, click.BadParameter, ["team=mail"]),
    (parameters.identity, click.BadParameter, ["0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b47", "{0198c5a47b1e7c3a}"]),
    (check_address, InvalidInput, ["http://127.0.0.1:8080"]),
    (lambda text: check_text("key", text), InvalidInput, ["settle-42"]),
]  # fmt: skip


def _name(number: int) -> str:
    read, _, seeds = READERS[number]
    return f"{getattr(read, '__qualname__', '')}-{seeds[0][:12]}".replace("<lambda>", "").strip("-")


@pytest.mark.parametrize("number", range(len(READERS)), ids=_name)
def test_any_text_is_parsed_or_refused_with_the_documented_error(number: int) -> None:
    read, error, seeds = READERS[number]

    @thoroughly
    @given(garbled(*seeds))
    def reads(text: str) -> None:
        with suppress(error):
            read(text)

    reads()


@pytest.mark.parametrize("number", range(len(READERS)), ids=_name)
def test_a_long_text_is_parsed_quickly(number: int) -> None:
    read, error, seeds = READERS[number]
    for piece in ("9", "a", "[", "%", "-", ",", " ", "/", "=", "\r\n", "H(", ".", *seeds):
        long = piece * (50_000 // len(piece))
        started = time.process_time()
        for text in (seeds[0] + long, long):
            with suppress(error):
                read(text)
        assert time.process_time() - started < 2, piece


@thoroughly
@given(garbled("PT1H30M", "P1DT2H", "1h30m", "1.5s"))
def test_a_parsed_duration_round_trips_through_its_text(text: str) -> None:
    with suppress(InvalidSchedule):
        length = parse_duration(text)
        assert parse_duration(format_duration(length)) == length


@thoroughly
@given(garbled(_POSITION, _PARTLY))
def test_a_parsed_position_round_trips_through_its_text(text: str) -> None:
    with suppress(InvalidInput):
        position = Position.parse(text)
        assert Position.parse(str(position)) == position
        assert position.earliest.tzinfo is UTC


@thoroughly
@given(garbled("https://shop.example:8443/a?b=c", "http://[::1]/", "HTTPS://a"))
def test_the_called_url_has_the_checked_host_and_path(text: str) -> None:
    with suppress(InvalidTarget, FinalFailure):
        target, url = parse_target(text), parse_url(text)
        assert url.origin.host == target.name.lower().strip("[]")
        assert 1 <= url.origin.port <= 65535
        assert url.path.startswith("/")
        assert text.endswith((url.path, url.path[1:])) or url.path == "/"
        assert not set(url.authority + url.path) & set(" \r\n\x00")


@thoroughly
@given(garbled("/jobs", "//evil.test", "/\\evil.test", "https://evil.test/", "/a:b", "\x00/jobs", "/\t/evil.test"))
def test_sign_in_never_redirects_to_another_site(text: str) -> None:
    found = local(text)
    assert found.startswith("/")
    assert found[1:2] not in ("/", "\\")


@thoroughly
@given(st.datetimes(datetime(1000, 1, 1), datetime(9000, 1, 1)))
def test_a_formatted_instant_parses_to_the_same_moment(moment: datetime) -> None:
    aware = moment.replace(tzinfo=UTC)
    assert instant_of(aware.isoformat(), "fire_at") == instant_in("from", moment.isoformat()) == aware
