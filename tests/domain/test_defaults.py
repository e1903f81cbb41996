"""Where an execution's options are silent, those of its client and then of its queue speak."""

from typing import Any

import orjson
import pytest

from pgsched.domain.execution_options import Options, parse_options, without_spans
from pgsched.errors import InvalidOptions


def over(given: Any, *defaults: Any) -> Options:
    return parse_options(None if given is None else orjson.dumps(given), *map(orjson.dumps, defaults))


def test_defaults_speak_where_nothing_is_given() -> None:
    assert over(None, {"timeout": "5s"}).timeout_seconds == 5
    assert over({"method": "PUT"}, {"timeout": "5s"}) == Options(method="PUT", timeout_seconds=5)


def test_the_nearest_speaks_first() -> None:
    assert over({"timeout": "1s"}, {"timeout": "2s"}, {"timeout": "3s"}).timeout_seconds == 1
    assert over({}, {"timeout": "2s"}, {"timeout": "3s", "method": "GET"}) == Options(timeout_seconds=2, method="GET")


def test_headers_are_put_together_by_name() -> None:
    found = over({"headers": {"x-shop": "1"}}, {"headers": {"X-Shop": "2", "X-Key": "a"}}, {"headers": {"X-Last": "z"}})
    assert dict(found.headers) == {"x-shop": "1", "X-Key": "a", "X-Last": "z"}


def test_a_code_that_is_given_is_taken_out_of_the_defaults_that_say_the_opposite() -> None:
    found = over({"retry_on": [404]}, {"fail_on": [404, 500]})
    assert (found.retry_on, found.fail_on) == (frozenset({404}), frozenset({500}))


def test_a_list_of_waits_goes_with_its_number_of_attempts() -> None:
    assert over({"backoff": ["1s", "2s"]}, {"max_attempts": 10}).max_attempts == 3
    assert over({"max_attempts": 10}, {"backoff": ["1s", "2s"]}).max_attempts == 10


def test_a_backfill_takes_no_spans_from_defaults() -> None:
    spans = {"relevant_for": "1m", "max_retry_age": "1h", "deadline": "2h"}
    assert orjson.loads(without_spans(orjson.dumps({"timeout": "5s", **spans}))) == {"timeout": "5s"}


def test_auth_of_a_default_contradicts_a_header_that_sets_the_same() -> None:
    auth = {"auth": {"google": {"key": "account"}}}
    with pytest.raises(InvalidOptions, match="auth sets the header Authorization"):
        over({"headers": {"authorization": "x"}}, auth)
