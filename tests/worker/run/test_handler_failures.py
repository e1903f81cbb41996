"""A handler's failure is logged with its traceback, and a thousand failures do not flood the log."""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.exception_outcomes import Fail, Retry
from pgsched.delivery.failure_log import LONGEST_TRACEBACK, FailureLog, Raised
from pgsched.delivery.threads import THREAD_NAME
from pgsched.telemetry import Events, logging_listener
from tests.delivery.receiver import execution
from tests.worker.conftest import Connection, Recorder, Running, until_history, value

ONCE = '{"max_attempts": 1}'


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_handlers_exception_is_logged_with_its_traceback(
    db: Connection, running: Running, recorder: Recorder, is_async: bool
) -> None:
    app = App()

    def look_up_merchant() -> None:
        raise LookupError("no such merchant")

    async def charge() -> None:
        look_up_merchant()

    app.handler("charge")(charge if is_async else look_up_merchant)
    async with running(app):
        query = "select pgsched.schedule('python:charge', client => 'shop', options => %s::jsonb)"
        id = await value(db, query, ONCE)
        told = await recorder.wait_for("handler.failed")
        await until_history(db, 1, status="failed")
    assert told["execution"] == str(id)
    assert (told["client"], told["target"], told["attempt"]) == ("shop", "python:charge", 1)
    assert told["reason"] == "LookupError: no such merchant"
    assert "in look_up_merchant" in str(told["traceback"])
    assert str(told["traceback"]).rstrip().endswith("LookupError: no such merchant")
    assert await value(db, "select reason from pgsched.history") == "LookupError: no such merchant"


async def test_a_timeout_is_logged_with_the_place_where_the_handler_waited(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app = App()

    async def wait_for_the_bank() -> None:
        await asyncio.Event().wait()

    @app.handler("slow")
    async def slow() -> None:
        await wait_for_the_bank()

    async with running(app):
        options = '{"timeout": "0.2s", "max_attempts": 1}'
        await db.execute("select pgsched.schedule('python:slow', options => %s::jsonb)", [options])
        told = await recorder.wait_for("handler.failed")
    assert told["reason"] == "no answer within 0.2 s"
    assert "in wait_for_the_bank" in str(told["traceback"])


async def test_a_base_exception_raised_by_a_handler_is_logged(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app = App()

    class Panic(BaseException):
        pass

    @app.handler("panic")
    async def panic() -> None:
        raise Panic("broken")

    async with running(app):
        await db.execute("select pgsched.schedule('python:panic', options => %s::jsonb)", [ONCE])
        assert (await recorder.wait_for("handler.failed"))["reason"] == "Panic: broken"


@pytest.mark.parametrize("error", [Fail("the account is closed"), Retry("busy")])
def test_a_fail_or_retry_raised_by_a_handler_is_logged(recorder: Recorder, error: Exception) -> None:
    FailureLog(Events(recorder)).note(execution("python:work"), error)
    [told] = recorder.named("handler.failed")
    assert told["reason"] == f"{type(error).__name__}: {error}"


def test_repeated_failures_of_one_target_are_logged_about_five_times(recorder: Recorder) -> None:
    failures = FailureLog(Events(recorder))
    for _ in range(1000):
        failures.note(execution("python:work"), ValueError("no"))
    assert 5 <= len(recorder.named("handler.failed")) <= 7
    failures.note(execution("python:other"), ValueError("no"))
    assert recorder.named("handler.failed")[-1]["target"] == "python:other"


def test_the_next_logged_failure_says_how_many_failures_were_not_logged(recorder: Recorder) -> None:
    failures = FailureLog(Events(recorder))
    for _ in range(30):
        failures.note(execution("python:work"), ValueError("no"))
    failures._allowances["python:work"].since -= 60  # a minute later
    failures.note(execution("python:work"), ValueError("no"))
    assert recorder.named("handler.failed")[-1]["untold"] == 25


def deep(error: Exception, levels: int) -> None:
    if levels:
        deep(error, levels - 1)
    raise error


@pytest.mark.parametrize("error", [ValueError("x" * 1_000_000), RecursionError("deep")])
def test_the_logged_traceback_and_reason_are_bounded(recorder: Recorder, error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        deep(error, 400)
    FailureLog(Events(recorder)).note(execution("python:work"), raised.value)
    [told] = recorder.named("handler.failed")
    assert len(str(told["traceback"])) <= LONGEST_TRACEBACK
    assert len(str(told["reason"])) <= 500


def chain(length: int) -> Exception:
    error = ValueError("the first")
    for number in range(length):
        later = ValueError(f"number {number}")
        later.__cause__, error = error, later
    return error


def endless() -> Exception:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    return first


def nested(depth: int) -> Exception:
    error: Exception = ValueError("the innermost")
    for _ in range(depth):
        error = ExceptionGroup("a group", [error, ValueError("beside it")])
    return error


class Told:
    """The number of times that ``Large`` was converted to a string."""

    count = 0


class Large(Exception):
    def __str__(self) -> str:
        Told.count += 1
        return "x" * 50_000_000


def silent() -> Exception:
    class Nameless(type):
        def __getattribute__(cls, name: str) -> Any:
            raise RuntimeError(name)

    class Silent(Exception, metaclass=Nameless):
        def __str__(self) -> str:
            raise KeyboardInterrupt

    return Silent()


ODD: dict[str, Callable[[], Exception]] = {
    "a chain": lambda: chain(20_000),
    "an endless chain": endless,
    "nested groups": lambda: nested(3_000),
    "no words": silent,
    "many words": Large,
}


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_pathological_exception_is_handled_as_an_ordinary_failure(
    db: Connection, running: Running, recorder: Recorder, is_async: bool
) -> None:
    app = App()

    def work(payload: str) -> None:
        raise ODD[payload]()

    async def work_async(payload: str) -> None:
        raise ODD[payload]()

    for kind in ODD:
        app.handler(kind.replace(" ", "_"))(work_async if is_async else work)
    async with running(app):
        for kind in ODD:
            schedule = "select pgsched.schedule(%s, to_jsonb(%s::text), options => %s::jsonb)"
            await db.execute(schedule.encode(), [f"python:{kind.replace(' ', '_')}", kind, ONCE])
        await until_history(db, len(ODD), status="failed")
    told = recorder.named("handler.failed")
    assert len(told) == len(ODD)
    assert max(len(str(one["traceback"])) for one in told) <= LONGEST_TRACEBACK


def test_an_exception_is_converted_to_a_string_once(recorder: Recorder) -> None:
    Told.count = 0
    FailureLog(Events(recorder)).note(execution("python:work"), Raised(Large()))
    assert Told.count == 1


async def test_a_threaded_handlers_exception_is_described_in_its_thread(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app, described_in = App(), list[str]()

    class Wordy(Exception):
        def __str__(self) -> str:
            described_in.append(threading.current_thread().name)
            return "no"

    @app.handler("work")
    def work() -> None:
        raise Wordy from Wordy()

    async with running(app):
        await db.execute("select pgsched.schedule('python:work', options => %s::jsonb)", [ONCE])
        await recorder.wait_for("handler.failed")
    assert len(described_in) == 2
    assert all(name.startswith(THREAD_NAME) for name in described_in)


def test_the_traceback_shows_an_exceptions_cause(recorder: Recorder) -> None:
    def fetch() -> None:
        raise TimeoutError("the bank does not answer")

    def charge() -> None:
        try:
            fetch()
        except TimeoutError as error:
            raise ValueError("not charged") from error

    with pytest.raises(ValueError, match="not charged") as raised:
        charge()
    FailureLog(Events(recorder)).note(execution("python:work"), raised.value)
    told = str(recorder.named("handler.failed")[0]["traceback"])
    assert (
        told.index("in fetch") < told.index("TimeoutError: the bank") < told.index("in charge", told.index("in fetch"))
    )
    assert told.endswith("ValueError: not charged\n")


def test_the_traceback_shows_an_exception_groups_members(recorder: Recorder) -> None:
    group = ExceptionGroup("two of three", [ValueError("one"), LookupError("another")])
    FailureLog(Events(recorder)).note(execution("python:work"), group)
    told = str(recorder.named("handler.failed")[0]["traceback"])
    assert "ValueError: one" in told
    assert "LookupError: another" in told


FORGED = "no\n2026-01-01 WARNING pgsched worker.lost worker=1\x1b[2J\u202e\x9b\u2028 client=other"


def logged(caplog: pytest.LogCaptureFixture, **fields: Any) -> str:
    with caplog.at_level(logging.INFO, logger="pgsched.test"):
        Events(logging_listener(logging.getLogger("pgsched.test"))).emit("handler.failed", **fields)
    return caplog.records[-1].getMessage()


def test_control_characters_are_escaped_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    line = logged(caplog, reason=FORGED, attempt=1)
    assert line.isprintable()
    escaped = r"no\n2026-01-01 WARNING pgsched worker.lost worker=1\x1b[2J\u202e\x9b\u2028 client=other"
    assert line == f'handler.failed reason="{escaped}" attempt=1'


def test_quotes_and_backslashes_are_escaped_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    assert logged(caplog, reason='a" client="b') == r'handler.failed reason="a\" client=\"b"'
    assert logged(caplog, reason="a \\", attempt=1) == r'handler.failed reason="a \\" attempt=1'


def test_traceback_lines_are_logged_with_a_leading_bar(caplog: pytest.LogCaptureFixture) -> None:
    lines = logged(caplog, reason="no", traceback=f"Traceback:\n  in work\nValueError: {FORGED}").split("\n")
    assert lines[0] == "handler.failed reason=no"
    assert all(line.startswith("  | ") and line.isprintable() for line in lines[1:])
