"""The outcome of an attempt whose handler raises an exception group, as task groups do."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.exception_outcomes import MOST_MEMBERS, Fail, Retry, Snooze, declared
from pgsched.delivery.threads import Threads
from pgsched.domain.attempt_outcome import Failed, Outcome, Postponed
from tests.delivery.test_python_channel import app as app
from tests.delivery.test_python_channel import run
from tests.delivery.test_python_channel import threads as threads

FAIL, RETRY = Failed(error="closed", retryable=False), Failed(error="away", retryable=True)
FIVE, TEN = (Postponed(after=timedelta(minutes=minutes), reason="busy") for minutes in (5, 10))


def snooze(minutes: int) -> Snooze:
    return Snooze(timedelta(minutes=minutes), "busy")


def raised_from(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def group(*errors: BaseException) -> BaseException:
    return BaseExceptionGroup("several", errors)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: group(Fail("closed")), FAIL),
        (lambda: group(snooze(5)), FIVE),
        (lambda: group(Retry("away")), RETRY),
        (lambda: group(group(ValueError()), group(group(Fail("closed")))), FAIL),
        (lambda: group(ValueError(), SystemExit(), Fail("closed")), FAIL),
        (lambda: group(snooze(5), Retry("away"), Fail("closed")), FAIL),
        (lambda: group(snooze(5), Retry("away")), RETRY),
        (lambda: group(snooze(5), snooze(10)), TEN),
        (lambda: group(snooze(5), ValueError()), None),
        (lambda: group(raised_from(ValueError(), Fail("closed"))), FAIL),
        (lambda: raised_from(ValueError(), group(Fail("closed"))), FAIL),
        (lambda: raised_from(group(ValueError()), Fail("closed")), FAIL),
        (lambda: group(KeyError(), ValueError()), None),
        (lambda: group(*[ValueError()] * (MOST_MEMBERS - 2), Fail("closed")), FAIL),
    ],
)
def test_an_exception_groups_outcome_combines_its_members_outcomes(
    make: Callable[[], BaseException], expected: Outcome | None
) -> None:
    assert declared(make()) == expected


def test_a_cyclic_group_without_an_outcome_is_not_read_forever() -> None:
    inner = ValueError()
    endless = group(*[inner] * 10)
    inner.__cause__ = endless
    assert declared(endless) is None


@pytest.mark.parametrize(("error", "expected"), [(Fail("closed"), FAIL), (snooze(5), FIVE), (Retry("away"), RETRY)])
@pytest.mark.parametrize("is_async", [True, False])
async def test_an_outcome_raised_in_a_task_group_decides_the_attempt(
    app: App, threads: Threads, error: BaseException, expected: Outcome, is_async: bool
) -> None:
    async def fail() -> None:
        raise error

    async def in_tasks() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(asyncio.Event().wait())
            tasks.create_task(fail())

    def in_tasks_of_a_thread() -> Any:
        asyncio.run(in_tasks())

    app.handler("work")(in_tasks if is_async else in_tasks_of_a_thread)
    assert await run(app, threads) == expected


async def test_an_exception_groups_error_includes_its_first_member(app: App, threads: Threads) -> None:
    @app.handler("work")
    async def work() -> None:
        raise ExceptionGroup("unhandled errors", [ValueError("one"), ValueError("two")])

    error = "ExceptionGroup: unhandled errors (2 sub-exceptions): ValueError: one"
    assert await run(app, threads) == Failed(error=error, retryable=True)
