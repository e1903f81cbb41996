"""Options that an execution does not set are taken from its client, then from its queue."""

from typing import Any

import orjson
import pytest

from pgsched.domain.execution_options import Options, parse_options, without_spans
from pgsched.errors import InvalidOptions


def over(given: Any, *defaults: Any) -> Options:
    return parse_options(None if given is None else orjson.dumps(given), *map(orjson.dumps, defaults))


def test_unset_options_come_from_defaults() -> None:
    assert over(None, {"timeout": "5s"}).timeout_seconds == 5
    assert over({"method": "PUT"}, {"timeout": "5s"}) == Options(method="PUT", timeout_seconds=5)


def test_the_most_specific_setting_wins() -> None:
    assert over({"timeout": "1s"}, {"timeout": "2s"}, {"timeout": "3s"}).timeout_seconds == 1
    assert over({}, {"timeout": "2s"}, {"timeout": "3s", "method": "GET"}) == Options(timeout_seconds=2, method="GET")


def test_headers_are_merged_by_name() -> None:
    found = over({"headers": {"x-shop": "1"}}, {"headers": {"X-Shop": "2", "X-Key": "a"}}, {"headers": {"X-Last": "z"}})
    assert dict(found.headers) == {"x-shop": "1", "X-Key": "a", "X-Last": "z"}


def test_an_explicit_status_code_overrides_a_contrary_default() -> None:
    found = over({"retry_on": [404]}, {"fail_on": [404, 500]})
    assert (found.retry_on, found.fail_on) == (frozenset({404}), frozenset({500}))


def test_a_backoff_list_overrides_only_a_less_specific_max_attempts() -> None:
    assert over({"backoff": ["1s", "2s"]}, {"max_attempts": 10}).max_attempts == 3
    assert over({"max_attempts": 10}, {"backoff": ["1s", "2s"]}).max_attempts == 10


def test_a_backfill_ignores_default_time_limits() -> None:
    spans = {"relevant_for": "1m", "max_retry_age": "1h", "deadline": "2h"}
    assert orjson.loads(without_spans(orjson.dumps({"timeout": "5s", **spans}))) == {"timeout": "5s"}


def test_default_auth_conflicts_with_an_explicit_authorization_header() -> None:
    auth = {"auth": {"google": {"key": "account"}}}
    with pytest.raises(InvalidOptions, match="auth sets the header Authorization"):
        over({"headers": {"authorization": "x"}}, auth)
