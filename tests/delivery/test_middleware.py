"""Middleware that applications wrap around their handlers."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.exception_outcomes import Retry
from pgsched.delivery.failure_log import FailureLog
from pgsched.delivery.handler_call import Context
from pgsched.delivery.python import PythonChannel
from pgsched.delivery.threads import Threads
from pgsched.domain.attempt_outcome import AlreadySettled, Failed, Outcome, Succeeded
from pgsched.domain.execution_options import Options
from pgsched.errors import InvalidInput
from pgsched.telemetry import Events
from tests.delivery.receiver import execution
from tests.delivery.test_python_channel import Transactions


@pytest.fixture
def threads() -> Iterator[Threads]:
    made = Threads(2)
    yield made
    made.shutdown()


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def app(said: list[str]) -> App:
    made = App()

    @made.middleware
    @contextmanager
    def outer(context: Context) -> Iterator[None]:
        said.append(f"outer {context.attempt}")
        try:
            yield
        except ValueError as error:
            said.append(f"met {error}")
            raise Retry("in other words") from error
        except KeyError:
            said.append("kept back")
        finally:
            said.append("outer left")

    @made.middleware
    @asynccontextmanager
    async def inner(context: Context) -> AsyncIterator[None]:
        await asyncio.sleep(0)
        said.append(f"inner {context.client}")
        yield
        said.append("inner left")

    return made


async def run(app: App, threads: Threads, completion: Any = None) -> Outcome:
    channel = PythonChannel(
        app, completion=completion or Transactions(), threads=threads, failures=FailureLog(Events())
    )
    return await channel.deliver(execution("python:work"), Options(), 5)


async def test_middleware_is_entered_before_and_left_after_the_handler(
    app: App, threads: Threads, said: list[str]
) -> None:
    @app.handler("work")
    async def work() -> int:
        said.append("work")
        return 7

    assert await run(app, threads) == Succeeded(result=b"7")
    assert said == ["outer 1", "inner shop", "work", "inner left", "outer left"]


async def test_only_sync_middleware_applies_to_a_threaded_handler(app: App, threads: Threads, said: list[str]) -> None:
    @app.handler("work")
    def work(payload: dict[str, int]) -> int:
        said.append("work")
        return payload["order"]

    assert await run(app, threads) == Succeeded(result=b"42")
    assert said == ["outer 1", "work", "outer left"]


@pytest.mark.parametrize("in_thread", [False, True])
async def test_middleware_sees_an_exception_and_may_replace_it(
    app: App, threads: Threads, said: list[str], in_thread: bool
) -> None:
    async def work() -> None:
        raise ValueError("no")

    def threaded() -> None:
        raise ValueError("no")

    app.handler("work")(threaded if in_thread else work)
    assert await run(app, threads) == Failed(error="in other words", retryable=True)
    assert said[-2:] == ["met no", "outer left"]


@pytest.mark.parametrize("in_thread", [False, True])
async def test_an_exception_that_middleware_suppresses_is_a_success(
    app: App, threads: Threads, said: list[str], in_thread: bool
) -> None:
    async def work() -> None:
        raise KeyError("no")

    def threaded() -> None:
        raise KeyError("no")

    app.handler("work")(threaded if in_thread else work)
    assert await run(app, threads) == Succeeded()
    assert "kept back" in said


async def test_middleware_wraps_the_refusal_of_an_invalid_payload(app: App, threads: Threads, said: list[str]) -> None:
    @app.handler("work")
    async def work(payload: list[int]) -> None:
        said.append("work")

    outcome = await run(app, threads)
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert said == ["outer 1", "inner shop", "outer left"]


async def test_middleware_runs_within_the_completions_transaction(app: App, threads: Threads, said: list[str]) -> None:
    @app.handler("work")
    async def work(connection: Any) -> None:
        said.append(connection)

    completion = Transactions()
    assert await run(app, threads, completion) == AlreadySettled()
    assert (said[2], completion.ended) == ("the connection", ["committed"])


async def test_middleware_applies_to_handlers_registered_before_it(threads: Threads, said: list[str]) -> None:
    app = App()

    @app.handler("work")
    async def work() -> None:
        said.append("work")

    class Around:
        def __init__(self, context: Context) -> None: ...
        def __enter__(self) -> None:
            said.append("entered")

        def __exit__(self, *raised: object) -> None: ...

    app.middleware(Around)
    assert await run(app, threads) == Succeeded()
    assert said == ["entered", "work"]


async def test_an_exception_in_middleware_fails_the_attempt(threads: Threads) -> None:
    app = App()

    @app.handler("work")
    async def work() -> None: ...

    @app.middleware
    @contextmanager
    def broken(context: Context) -> Iterator[None]:
        if context.attempt == 1:
            raise RuntimeError("no session")
        yield

    assert await run(app, threads) == Failed(error="RuntimeError: no session", retryable=True)


def no_manager(context: Context) -> None: ...


def bare_generator(context: Context) -> Iterator[None]:
    yield


async def bare_async_generator(context: Context) -> AsyncIterator[None]:
    yield


@pytest.mark.parametrize("function", [no_manager, bare_generator, bare_async_generator])
def test_middleware_that_is_not_a_context_manager_is_refused(function: Any) -> None:
    with pytest.raises(
        InvalidInput, match="does not return a context manager: decorate it with @contextmanager or @async"
    ):
        App().middleware(function)
