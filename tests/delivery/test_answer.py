from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsched.delivery.http import outcome_of_answer, parse_retry_after
from pgsched.domain.attempt_outcome import Failed, Succeeded
from pgsched.domain.execution_options import Options
from tests.delivery.receiver import NOW


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_a_2xx_status_is_a_success(status: int) -> None:
    assert outcome_of_answer(status, Options()) == Succeeded(status_code=status)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_temporary_failures_are_retryable(status: int) -> None:
    outcome = outcome_of_answer(status, Options())
    assert isinstance(outcome, Failed)
    assert outcome.retryable


@pytest.mark.parametrize("status", [300, 301, 304, 307, 308, 400, 401, 403, 404, 409, 410, 422, 451])
def test_redirects_and_most_client_errors_are_final_failures(status: int) -> None:
    outcome = outcome_of_answer(status, Options())
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert outcome.status_code == status


def test_the_retry_on_and_fail_on_options_override_a_status_default() -> None:
    options = Options(retry_on=frozenset({404}), fail_on=frozenset({500}))
    lost, broken = outcome_of_answer(404, options), outcome_of_answer(500, options)
    assert isinstance(lost, Failed)
    assert isinstance(broken, Failed)
    assert (lost.retryable, broken.retryable) == (True, False)


def test_a_body_that_is_not_utf8_is_kept_as_text() -> None:
    outcome = outcome_of_answer(500, Options(), reason=b"Oh", body=b"caf\xe9 " + b"x" * 9000)
    assert isinstance(outcome, Failed)
    assert outcome.error.startswith("answered 500 Oh: caf\N{REPLACEMENT CHARACTER} xxx")
    assert len(outcome.error) < 2100


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        (" 7 ", 7),
        ("Mon, 21 Sep 2026 14:14:20 GMT", 60),
        ("Mon, 21 Sep 2026 14:00:00 GMT", 0),
        ("Monday, 21-Sep-26 14:14:20 GMT", 60),
        ("Mon Sep 21 14:14:20 2026", 60),
    ],
)
def test_retry_after_is_parsed_in_all_http_formats(text: str, seconds: int) -> None:
    assert parse_retry_after(text, NOW) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", [None, "", "soon", "-5", "1.5", "٣", "Mon, 99 Sep 2026 14:14:20 GMT"])
def test_an_invalid_retry_after_is_ignored(text: str | None) -> None:
    assert parse_retry_after(text, NOW) is None


@given(st.text())
def test_any_retry_after_text_is_parsed_without_an_error(text: str) -> None:
    wait = parse_retry_after(text, NOW)
    assert wait is None or wait >= timedelta(0)
