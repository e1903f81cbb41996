from typing import Any

import orjson
import pytest

from pgsched.domain.policy import Options, parse_options
from pgsched.errors import InvalidOptions, InvalidTarget


def parsed(options: Any) -> Options:
    return parse_options(orjson.dumps(options))


@pytest.mark.parametrize("raw", [None, b"{}"])
def test_nothing_given_means_the_defaults(raw: bytes | None) -> None:
    assert parse_options(raw) == Options(timeout_seconds=30, max_attempts=22, method="POST")


def test_every_option_is_read() -> None:
    options = parsed(
        {
            "timeout": "PT5S",
            "max_attempts": 3,
            "backoff": {"initial": "500ms", "factor": 1.5, "maximum": "10m"},
            "method": "PUT",
            "headers": {"X-Shop": "42"},
            "retry_on": [404],
            "fail_on": [500, 501],
            "relevant_for": "10m",
            "max_retry_age": "PT1H",
            "deadline": "2h",
        }
    )
    assert options == Options(
        timeout_seconds=5,
        max_attempts=3,
        method="PUT",
        headers=(("X-Shop", "42"),),
        retry_on=frozenset({404}),
        fail_on=frozenset({500, 501}),
        relevant_for=600,
        max_retry_age=3600,
        deadline=7200,
    )


def test_the_same_text_is_parsed_once() -> None:
    assert parse_options(b'{"timeout": "7s"}') is parse_options(bytes(bytearray(b'{"timeout": "7s"}')))


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert parse_options(b'{"max_attempts": 4.0}').max_attempts == 4


def test_a_first_wait_may_be_over_the_default_maximum() -> None:
    assert parsed({"backoff": {"initial": "2h"}}) == Options()


REFUSED: list[tuple[Any, str]] = [
    ({"timeuot": "5s"}, "there is no option 'timeuot'; the options are timeout, max_attempts"),
    ([], "must be a JSON object"),
    ({"timeout": 5}, "timeout must be a duration from 0.1 s to 24 h"),
    ({"timeout": "50ms"}, "timeout must be a duration from 0.1 s to 24 h"),
    ({"timeout": "P2D"}, "timeout must be a duration from 0.1 s to 24 h"),
    ({"timeout": "soon"}, "timeout must be a duration from 0.1 s to 24 h"),
    ({"max_attempts": 0}, "max_attempts must be a whole number from 1 to 1000; it is 0"),
    ({"max_attempts": 1001}, "max_attempts must be a whole number from 1 to 1000"),
    ({"max_attempts": 2.5}, "max_attempts must be a whole number from 1 to 1000"),
    ({"max_attempts": True}, "max_attempts must be a whole number from 1 to 1000"),
    ({"max_attempts": "5"}, "max_attempts must be a whole number from 1 to 1000"),
    ({"backoff": "1s"}, "backoff must be an object"),
    ({"backoff": {"start": "1s"}}, "there is no backoff.start; backoff has initial, factor, maximum"),
    ({"backoff": {"factor": 0.5}}, "backoff.factor must be a number from 1 to 100"),
    ({"backoff": {"initial": "2d"}}, "backoff.initial must be a duration from 1 ms to 24 h"),
    (
        {"backoff": {"initial": "5m", "maximum": "1m"}},
        "backoff.maximum must not be shorter than backoff.initial",
    ),
    ({"backoff": []}, "backoff must list 1 to 100 waits; it lists 0"),
    ({"backoff": ["1s"] * 101}, "backoff must list 1 to 100 waits; it lists 101"),
    ({"backoff": ["1s", 5]}, "each wait of backoff must be a duration from 1 ms to 7 days"),
    ({"backoff": ["8d"]}, "each wait of backoff must be a duration from 1 ms to 7 days"),
    ({"relevant_for": 600}, "relevant_for must be a duration from 0.1 s to 3653 days"),
    ({"relevant_for": "50ms"}, "relevant_for must be a duration from 0.1 s to 3653 days"),
    ({"max_retry_age": "P3654D"}, "max_retry_age must be a duration"),
    ({"deadline": None}, "deadline must be a duration"),
    ({"method": "post"}, "method must be one of GET, POST"),
    ({"method": ["POST"]}, "method must be one of GET, POST"),
    ({"retry_on": 404}, "retry_on must be a list"),
    ({"retry_on": [200]}, "each code of retry_on must be a whole number from 300 to 599"),
    ({"fail_on": ["500"]}, "each code of fail_on must be a whole number from 300 to 599"),
    ({"retry_on": [500], "fail_on": [500]}, "retry_on and fail_on both name 500"),
    ({"headers": []}, "headers must be an object"),
    ({"headers": {"X-A": 1}}, "the header X-A must be text"),
    ({"headers": {"X-A": "1\r\nX-B: 2"}}, "the header X-A must be text"),
    ({"headers": {"X-A": "1\n"}}, "the header X-A must be text"),
    ({"headers": {"X-A": "ü"}}, "the header X-A must be text"),
    ({"headers": {"X A": "1"}}, "a name that HTTP does not allow"),
    ({"headers": {"X-A\n": "1"}}, "a name that HTTP does not allow"),
    ({"headers": {"": "1"}}, "a name that HTTP does not allow"),
    ({"headers": {"X-A": "1", "x-a": "2"}}, "names a header twice"),
    (
        {"headers": {"Transfer-Encoding": "chunked"}},
        "must not set Transfer-Encoding: it belongs to the connection",
    ),
    ({"headers": {"Proxy-Authorization": "x"}}, "it belongs to the connection"),
    ({"headers": {"host": "x"}}, "it belongs to the connection"),
    ({"headers": {"Idempotency-Key": "x"}}, "must not set Idempotency-Key: pgsched sets it"),
    ({"headers": {"WebHook-Signature": "x"}}, "pgsched sets it"),
    ({"headers": {"pgsched-attempt": "9"}}, "pgsched sets it"),
]


@pytest.mark.parametrize(("options", "says"), REFUSED)
def test_what_makes_no_sense_is_refused_by_its_key(options: Any, says: str) -> None:
    with pytest.raises(InvalidOptions, match=says):
        parsed(options)


@pytest.mark.parametrize("name", ["on_success", "on_failure", "on_expired"])
def test_a_target_to_be_told_is_checked_as_targets_are(name: str) -> None:
    parsed({name: "python:told"})
    with pytest.raises(InvalidTarget, match="no scheme"):
        parsed({name: "told"})
    with pytest.raises(InvalidOptions, match=f"{name} must be a target"):
        parsed({name: ["python:told"]})


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b'{"timeout": NaN}'])
def test_what_is_not_json_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidOptions, match="not JSON"):
        parse_options(raw)


@pytest.mark.parametrize(("given", "attempts"), [({}, 3), ({"max_attempts": 2}, 2), ({"max_attempts": 9}, 9)])
def test_a_list_of_waits_has_an_attempt_after_each_unless_told_otherwise(given: dict[str, Any], attempts: int) -> None:
    assert parsed({"backoff": ["5s", "1m"], **given}).max_attempts == attempts


def test_large_options_are_not_kept_in_memory() -> None:
    small = b'{"headers": {"x-small": "a"}}'
    large = orjson.dumps({"headers": {f"x-{n}": "v" * 1000 for n in range(20)}})
    assert parse_options(small) is parse_options(small)
    assert parse_options(large) is not parse_options(large)
    assert parse_options(large) == parse_options(large)
