"""A failed attempt at a remote target is logged with its client and reason; many failures do not flood the log."""

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.failure_log import FailureLog
from pgsched.domain.attempt_outcome import Failed
from pgsched.telemetry import Events
from tests.delivery.receiver import execution
from tests.worker.conftest import Connection, Recorder, Running, until_history, value

NO = Failed(error="it answered 503", retryable=True, status_code=503)


async def test_a_failed_call_is_logged_once_with_its_reason(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app = App()

    @app.handler("fail")
    async def fail() -> None:
        raise ValueError("no")

    async with running(app):
        call = "select pgsched.schedule(%s, client => 'shop', key => %s, options => '{\"max_attempts\": 1}')"
        id = await value(db, call, "sql:public.nothing_of_this_name", "settle-42")
        await value(db, call, "python:fail", "other")
        await until_history(db, 2, status="failed")
    [told] = recorder.named("attempt.failed")
    assert (told["execution"], told["client"], told["key"]) == (str(id), "shop", "settle-42")
    assert (told["target"], told["attempt"]) == ("sql:public.nothing_of_this_name", 1)
    assert "has no role for calling functions" in str(told["reason"])
    [of_handler] = recorder.named("handler.failed")
    assert (of_handler["client"], of_handler["key"]) == ("shop", "other")


def test_the_query_string_stays_out_of_the_log(recorder: Recorder) -> None:
    FailureLog(Events(recorder)).failed(execution("https://shop.example/settle?token=hush"), NO)
    [told] = recorder.named("attempt.failed")
    assert (told["target"], told["status_code"]) == ("https://shop.example/settle?…", 503)
    assert "hush" not in str(told)


def test_repeated_failures_of_one_host_are_logged_at_most_seven_times(recorder: Recorder) -> None:
    failures = FailureLog(Events(recorder))
    for number in range(1000):
        failures.failed(execution(f"https://shop.example/{number}"), NO)
    assert 5 <= len(recorder.named("attempt.failed")) <= 7
    failures._allowances["shop.example"].since -= 60  # a minute later
    failures.failed(execution("https://shop.example/"), NO)
    assert recorder.named("attempt.failed")[-1]["untold"] == pytest.approx(995, abs=3)


def test_failures_of_thousands_of_hosts_are_bounded_in_log_and_memory(recorder: Recorder) -> None:
    failures = FailureLog(Events(recorder))
    for number in range(3000):
        failures.failed(execution(f"https://shop{number}.example/"), NO)
    assert 25 <= len(recorder.named("attempt.failed")) <= 40
    assert len(failures._allowances) == 1000
