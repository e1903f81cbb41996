"""Context variables that a handler sets do not outlive its attempt."""

import asyncio
import decimal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.failure_log import FailureLog
from pgsched.delivery.handler_call import Context
from pgsched.delivery.own_context import UNUSED, own_context
from pgsched.delivery.python import PythonChannel
from pgsched.delivery.threads import LoopsThreads, Threads
from pgsched.domain.attempt_outcome import AlreadySettled, Failed, Outcome, Succeeded
from pgsched.domain.execution_options import Options
from pgsched.telemetry import Events
from tests.delivery.receiver import execution
from tests.delivery.test_python_channel import Transactions

TENANT: ContextVar[str] = ContextVar("tenant", default="nobody")
GIVEN: ContextVar[str] = ContextVar("given", default="nothing")


def read() -> str:
    """Returns the tenant and decimal's precision."""
    return f"{TENANT.get()} {decimal.getcontext().prec}"


def exchange(told: str) -> str:
    """Returns the current values and sets new ones."""
    found = read()
    TENANT.set(told)
    decimal.getcontext().prec = 5
    return found


async def at_once(payload: Any, context: Context) -> str:
    return exchange(context.client)


async def after_a_wait(payload: Any, context: Context) -> str:
    await asyncio.sleep(0)
    found = exchange(context.client)
    await asyncio.sleep(0)
    assert TENANT.get() == context.client
    return found


async def in_a_task(payload: Any, context: Context) -> str:
    return await asyncio.create_task(after_a_wait(payload, context), context=own_context())


async def within_a_generator(payload: Any, context: Context) -> str:
    async def found() -> AsyncIterator[str]:
        yield exchange(context.client)

    [only] = [one async for one in found()]
    return only


async def in_the_loops_thread(payload: Any, context: Context) -> str:
    return await asyncio.get_running_loop().run_in_executor(None, exchange, context.client)


def in_a_thread(payload: Any, context: Context) -> str:
    return exchange(context.client)


async def with_the_connection(payload: Any, context: Context, connection: Any) -> None:
    await asyncio.sleep(0)
    assert exchange(context.client) == "nobody 28"


async def with_nothing() -> str:
    return exchange("somebody")


HANDLERS: list[Callable[..., Any]] = [
    at_once,
    after_a_wait,
    in_a_task,
    within_a_generator,
    in_the_loops_thread,
    in_a_thread,
    with_the_connection,
    with_nothing,
]


class Lane:
    """Consecutive attempts in one task, with one thread."""

    def __init__(self, app: App) -> None:
        self.threads = Threads(1)
        asyncio.get_running_loop().set_default_executor(LoopsThreads())
        self.channel = PythonChannel(
            app, completion=Transactions(), threads=self.threads, failures=FailureLog(Events())
        )

    async def run(self, client: str) -> Outcome:
        """Runs one attempt. It must leave its task's context unchanged, or rename the task so that the lane replaces
        the task."""

        async def attempt() -> Outcome:
            before = copy_context()
            try:
                return await self.channel.deliver(execution("python:work", client_id=client), Options(), 5)
            finally:
                assert copy_context() == before or current_name() != UNUSED

        return await asyncio.create_task(attempt(), name=UNUSED, context=own_context())


def current_name() -> str:
    task = asyncio.current_task()
    return task.get_name() if task else ""


def answered(outcome: Outcome) -> bool:
    return outcome in (Succeeded(result=b'"nobody 28"'), AlreadySettled())


@pytest.fixture
def app() -> App:
    return App()


@pytest.mark.parametrize("handler", HANDLERS)
async def test_a_handler_does_not_see_another_clients_context_variables(app: App, handler: Callable[..., Any]) -> None:
    app.handler("work")(handler)
    lane = Lane(app)
    assert [answered(await lane.run(client)) for client in ("acme", "globex", "acme")] == [True, True, True]
    assert read() == "nobody 28"


@pytest.mark.parametrize("handler", HANDLERS)
async def test_clients_do_not_change_or_share_the_applications_decimal_context(
    app: App, handler: Callable[..., Any]
) -> None:
    app.handler("work")(handler)
    with decimal.localcontext(prec=28):  # copies of the lane's context share the decimal context set here
        lane = Lane(app)
        assert [answered(await lane.run(client)) for client in ("acme", "globex")] == [True, True]
        assert decimal.getcontext().prec == 28


async def test_a_handler_sees_context_variables_set_outside_the_worker(app: App) -> None:
    token = GIVEN.set("at the start")

    @app.handler("work")
    def work() -> str:
        return GIVEN.get()

    assert await Lane(app).run("acme") == Succeeded(result=b'"at the start"')
    GIVEN.reset(token)


@pytest.mark.parametrize("handler", [at_once, after_a_wait, in_a_thread, with_the_connection])
async def test_middleware_and_its_handler_share_one_context(app: App, handler: Callable[..., Any]) -> None:
    seen = []

    @app.middleware
    @contextmanager
    def around(context: Context) -> Iterator[None]:
        seen.append(GIVEN.get())
        GIVEN.set(context.client)
        yield
        seen.append(TENANT.get())

    @app.middleware
    @asynccontextmanager
    async def inside(context: Context) -> AsyncIterator[None]:
        assert GIVEN.get() == context.client
        yield
        await asyncio.sleep(0)
        assert TENANT.get() == context.client

    app.handler("work")(handler)
    lane = Lane(app)
    assert [answered(await lane.run(client)) for client in ("acme", "globex")] == [True, True]
    assert seen == ["nothing", "acme", "nothing", "globex"]


@pytest.mark.parametrize("in_thread", [False, True])
async def test_an_exception_is_formatted_in_its_attempts_context(app: App, in_thread: bool) -> None:
    class Told(Exception):
        def __str__(self) -> str:
            return exchange("said")

    def fail(payload: Any, context: Context) -> None:
        TENANT.set(context.client)
        raise Told

    async def fail_async(payload: Any, context: Context) -> None:
        fail(payload, context)

    app.handler("work")(fail if in_thread else fail_async)
    outcome = await Lane(app).run("acme")
    assert outcome == Failed(error="Told: acme 28", retryable=True)
    assert read() == "nobody 28"


async def test_a_cancelled_attempt_leaves_no_context_variables_behind(app: App) -> None:
    begun, ended = asyncio.Event(), []

    @app.handler("work")
    async def work(payload: Any, context: Context) -> None:
        exchange(context.client)
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(TENANT.get())
            TENANT.set("cleaned up")

    attempt = asyncio.create_task(Lane(app).run("acme"), context=(context := own_context()))
    await begun.wait()
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    assert (ended, context.run(TENANT.get)) == (["acme"], "nobody")


class Incomparable:
    """An object like a numpy array, which raises when compared."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("made", [list, Incomparable])
async def test_setting_a_context_variable_to_an_equal_object_abandons_the_task(
    app: App, made: Callable[[], object]
) -> None:
    weights: ContextVar[object] = ContextVar("weights")
    weights.set(at_start := made())

    @app.handler("work")
    async def work() -> bool:
        found = weights.get() is at_start
        weights.set(made())
        return found

    lane = Lane(app)
    attempt = asyncio.create_task(lane.channel.deliver(execution("python:work"), Options(), 5), name=UNUSED)
    assert (await attempt, attempt.get_name() == UNUSED) == (Succeeded(result=b"true"), False)


async def test_a_handlers_task_is_abandoned_after_an_exception(app: App) -> None:
    @app.handler("work")
    async def work() -> None:
        raise ValueError("before it waited")

    attempt = asyncio.create_task(Lane(app).channel.deliver(execution("python:work"), Options(), 5), name=UNUSED)
    assert isinstance(await attempt, Failed)
    assert attempt.get_name() != UNUSED


async def test_concurrent_attempts_each_see_their_own_context_variables(app: App) -> None:
    both = threading.Barrier(2, timeout=30)

    @app.handler("work")
    def work(payload: Any, context: Context) -> str:
        exchange(context.client)
        both.wait()
        return TENANT.get()

    lane = Lane(app)
    lane.threads = lane.channel._threads = Threads(2)
    found = await asyncio.gather(lane.run("acme"), lane.run("globex"))
    assert list(found) == [Succeeded(result=b'"acme"'), Succeeded(result=b'"globex"')]
