"""What handlers return: models, awaitables, and generators that have not run."""

import asyncio
import dataclasses
import functools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pydantic
import pytest

from pgsched.delivery.app import App
from pgsched.delivery.exception_outcomes import Snooze
from pgsched.delivery.handler_call import Context
from pgsched.delivery.threads import Threads
from pgsched.domain.attempt_outcome import AlreadySettled, Failed, Postponed, Succeeded
from tests.delivery.test_middleware import said as said
from tests.delivery.test_python_channel import Transactions, run
from tests.delivery.test_python_channel import app as app
from tests.delivery.test_python_channel import threads as threads

SEEN: ContextVar[str] = ContextVar("seen", default="nothing")


def sync(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*given: Any, **named: Any) -> Any:
        SEEN.set("by the decorator")
        return function(*given, **named)

    return wrapper


def without_a_name(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda payload: function(payload)


def as_async(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*given: Any, **named: Any) -> Any:
        return function(*given, **named)

    return wrapper


def in_own_loop(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*given: Any, **named: Any) -> Any:
        return asyncio.run(function(*given, **named))

    return wrapper


class Decorated:
    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, payload: Any) -> Any:
        return self._function(payload)


class Later(Awaitable[Any]):
    """An awaitable that is not a coroutine."""

    def __init__(self, awaited: Awaitable[Any]) -> None:
        self._awaited = awaited

    def __await__(self) -> Any:
        return self._awaited.__await__()


def as_awaitable(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda payload: Later(function(payload))


def as_task(function: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(payload: Any) -> Any:
        return asyncio.create_task(function(payload))

    return wrapper


def in_a_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(payload: Any) -> Any:
        pool = ThreadPoolExecutor(1)
        try:
            return pool.submit(function, payload)
        finally:
            pool.shutdown(wait=False)

    return wrapper


DECORATORS = [sync, without_a_name, as_async, in_own_loop, Decorated, as_awaitable, as_task, in_a_thread]


@pytest.mark.parametrize("decorator", DECORATORS)
async def test_a_decorated_async_handler_runs(app: App, threads: Threads, decorator: Callable[..., Any]) -> None:
    @app.handler("work")
    @decorator
    async def work(payload: Any) -> Any:
        await asyncio.sleep(0)
        return payload["order"]

    assert await run(app, threads) == Succeeded(result=b"42")


async def test_a_decorators_context_variables_reach_the_handler(app: App, threads: Threads) -> None:
    @app.handler("work")
    @sync
    async def work() -> list[Any]:
        return [SEEN.get(), threading.current_thread() is threading.main_thread()]

    assert await run(app, threads) == Succeeded(result=b'["by the decorator",true]')
    assert SEEN.get() == "nothing"


async def test_a_snooze_from_a_decorated_async_handler_postpones_the_execution(app: App, threads: Threads) -> None:
    @app.handler("work")
    @sync
    async def work() -> None:
        await asyncio.sleep(0)
        raise Snooze(timedelta(minutes=5), "busy")

    assert await run(app, threads) == Postponed(after=timedelta(minutes=5), reason="busy")


@pytest.mark.parametrize("decorator", [sync, as_async])
async def test_middleware_wraps_a_returned_coroutine(
    app: App, threads: Threads, said: list[str], decorator: Callable[..., Any]
) -> None:
    @app.middleware
    @contextmanager
    def around(context: Context) -> Iterator[None]:
        said.append("entered")
        yield
        said.append("left")

    @app.handler("work")
    @decorator
    async def work() -> None:
        await asyncio.sleep(0)
        said.append("worked")

    assert await run(app, threads) == Succeeded()
    assert said == ["entered", "worked", "left"]


async def test_async_middleware_wraps_a_returned_coroutine(app: App, threads: Threads, said: list[str]) -> None:
    @app.middleware
    @asynccontextmanager
    async def around(context: Context) -> AsyncIterator[None]:
        yield
        said.append("left")

    @app.handler("work")
    @as_async
    async def work() -> None:
        await asyncio.sleep(0)
        said.append("worked")

    assert await run(app, threads) == Succeeded()
    assert said == ["worked", "left"]


async def test_a_returned_coroutine_commits_with_its_completion(app: App, threads: Threads, said: list[str]) -> None:
    completion = Transactions()

    @app.handler("work")
    @as_async
    async def work(payload: Any, connection: Any) -> None:
        await asyncio.sleep(0)
        said.extend(completion.ended)

    assert await run(app, threads, completion=completion) == AlreadySettled()
    assert (said, completion.ended) == ([], ["committed"])


async def test_cancelling_an_attempt_cancels_a_coroutine_its_thread_returned(app: App, threads: Threads) -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    @app.handler("work")
    @sync
    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    attempt = asyncio.create_task(run(app, threads))
    async with asyncio.timeout(30):
        await begun.wait()
        attempt.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attempt
        await cancelled.wait()


class Unruly(dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("not now")


async def test_a_result_that_cannot_be_encoded_is_not_retried(app: App, threads: Threads) -> None:
    @app.handler("work")
    def work() -> Any:
        return Unruly(a=2**70)

    outcome = await run(app, threads)
    assert isinstance(outcome, Failed)
    assert (outcome.retryable, outcome.error) == (False, "the handler ran, but what it returned is not JSON: not now")


@dataclasses.dataclass
class Receipt:
    total: Decimal


class Invoice(msgspec.Struct):
    total: Decimal


class Bill(pydantic.BaseModel):
    total: Decimal


@pytest.mark.parametrize("kind", [Receipt, Invoice, Bill])
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_handler_may_return_its_payload(app: App, threads: Threads, kind: Any, is_async: bool) -> None:
    def give_back(payload: Any) -> Any:
        assert type(payload) is kind
        return payload

    async def give_back_async(payload: Any) -> Any:
        return give_back(payload)

    function = give_back_async if is_async else give_back
    function.__annotations__["payload"] = kind
    app.handler("work")(function)
    assert await run(app, threads, payload=b'{"total": "12.30"}') == Succeeded(result=b'{"total":"12.30"}')


def numbers(payload: Any) -> Iterator[int]:
    yield from range(payload["order"])


async def numbers_async(payload: Any) -> AsyncIterator[int]:
    yield payload["order"]


@pytest.mark.parametrize(
    "function", [sync(numbers), sync(numbers_async), contextmanager(numbers), asynccontextmanager(numbers_async)]
)
async def test_a_returned_generator_is_reported_as_not_run(
    app: App, threads: Threads, function: Callable[..., Any]
) -> None:
    app.handler("work")(function)
    outcome = await run(app, threads)
    assert isinstance(outcome, Failed)
    assert (outcome.retryable, "its code did not run" in outcome.error) == (False, True)
