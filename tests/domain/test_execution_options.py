from typing import Any

import orjson
import pytest

from pgsched.domain.execution_options import Options, parse_options
from pgsched.errors import InvalidOptions


def parsed(options: Any) -> Options:
    return parse_options(orjson.dumps(options))


@pytest.mark.parametrize("raw", [None, b"{}"])
def test_without_options_the_defaults_apply(raw: bytes | None) -> None:
    assert parse_options(raw) == Options(timeout_seconds=30, max_attempts=22, method="POST")


def test_every_option_is_parsed() -> None:
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


def test_identical_options_are_parsed_only_once() -> None:
    assert parse_options(b'{"timeout": "7s"}') is parse_options(bytes(bytearray(b'{"timeout": "7s"}')))


def test_an_integer_may_be_written_as_a_float() -> None:
    assert parse_options(b'{"max_attempts": 4.0}').max_attempts == 4


def test_an_initial_wait_may_exceed_the_default_maximum() -> None:
    assert parsed({"backoff": {"initial": "2h"}}) == Options()


@pytest.mark.parametrize(
    "options",
    [[], {"timeout": 5}, {"headers": []}, {"auth": {"oauth2": {}}}, {"tls": "hush"}, {"body": {"format": "x"}}],
)
def test_options_that_the_database_never_accepts_are_refused(options: Any) -> None:
    with pytest.raises(InvalidOptions, match="the options are not valid") as refused:
        parsed(options)
    assert "hush" not in str(refused.value)


def test_an_unknown_option_is_refused_by_name() -> None:
    with pytest.raises(InvalidOptions, match="there is no option 'timeuot'; the options are timeout, max_attempts"):
        parsed({"timeuot": "5s"})


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b'{"timeout": NaN}'])
def test_invalid_json_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidOptions, match="the options are not valid"):
        parse_options(raw)


@pytest.mark.parametrize(("given", "attempts"), [({}, 3), ({"max_attempts": 2}, 2), ({"max_attempts": 9}, 9)])
def test_a_backoff_list_sets_max_attempts_unless_max_attempts_is_given(given: dict[str, Any], attempts: int) -> None:
    assert parsed({"backoff": ["5s", "1m"], **given}).max_attempts == attempts


def test_large_options_are_not_cached() -> None:
    small = b'{"headers": {"x-small": "a"}}'
    large = orjson.dumps({"headers": {f"x-{n}": "v" * 1000 for n in range(20)}})
    assert parse_options(small) is parse_options(small)
    assert parse_options(large) is not parse_options(large)
    assert parse_options(large) == parse_options(large)
