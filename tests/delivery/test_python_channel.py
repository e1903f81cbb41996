import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.exception_outcomes import Fail, Retry, Snooze
from pgsched.delivery.failure_log import FailureLog
from pgsched.delivery.handler_call import Context
from pgsched.delivery.handler_transaction import TransactionalCompletion
from pgsched.delivery.python import PythonChannel
from pgsched.delivery.threads import THREAD_NAME, Threads
from pgsched.domain.attempt_outcome import AlreadySettled, Failed, Outcome, Postponed, Succeeded, Undeliverable
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options
from pgsched.errors import InvalidInput, StaleLease
from pgsched.telemetry import Events
from tests.delivery.receiver import execution


class Transactions(TransactionalCompletion):
    """A completion that records how each transaction ended."""

    def __init__(self, *, stale: bool = False) -> None:
        super().__init__("", connections=10)
        self.stale, self.ended = stale, list[str]()

    @asynccontextmanager
    async def settle_in_transaction(self, execution: ClaimedExecution) -> AsyncIterator[Any]:
        try:
            yield "the connection"
        except BaseException:
            self.ended.append("rolled back")
            raise
        if self.stale:
            self.ended.append("rolled back")
            raise StaleLease("the execution was leased anew")
        self.ended.append("committed")


@pytest.fixture
def threads() -> Iterator[Threads]:
    made = Threads(2)
    yield made
    made.shutdown()


@pytest.fixture
def app() -> App:
    return App()


async def run(app: App, threads: Threads, *, completion: Any = None, **row: Any) -> Outcome:
    channel = PythonChannel(
        app, completion=completion or Transactions(), threads=threads, failures=FailureLog(Events())
    )
    try:
        return await channel.deliver(execution("python:work", **row), Options(), 5)
    finally:
        await channel.close()


async def test_an_async_handler_receives_the_payload(app: App, threads: Threads) -> None:
    got = []

    @app.handler("work")
    async def work(payload: dict[str, int]) -> None:
        got.append(payload)

    assert await run(app, threads) == Succeeded()
    assert got == [{"order": 42}]


async def test_a_handler_is_called_only_for_its_allowed_clients(app: App, threads: Threads) -> None:
    called = []

    @app.handler("work", clients=["shop"])
    async def work() -> None:
        called.append("work")

    refused = await run(app, threads, client_id="billing")
    error = "the handler 'work' does not serve client 'billing': its clients are shop"
    assert (refused, called) == (Failed(error=error, retryable=False), [])
    assert (await run(app, threads), called) == (Succeeded(), ["work"])


@pytest.mark.parametrize("clients", ["shop", [], [""], [1]])
def test_an_invalid_clients_argument_is_refused(app: App, clients: Any) -> None:
    with pytest.raises(InvalidInput, match=r"clients=\['shop'\]"):
        app.handler("work", clients=clients)


async def test_a_sync_handler_runs_in_a_thread(app: App, threads: Threads) -> None:
    @app.handler("work")
    def work(payload: dict[str, int]) -> list[Any]:
        return [threading.current_thread().name.startswith(THREAD_NAME), payload["order"]]

    assert await run(app, threads) == Succeeded(result=b"[true,42]")


async def test_a_handler_may_take_no_parameters(app: App, threads: Threads) -> None:
    @app.handler("work")
    async def work() -> str:
        return "done"

    assert await run(app, threads, payload=b"not even JSON") == Succeeded(result=b'"done"')


async def test_the_context_describes_the_execution(app: App, threads: Threads) -> None:
    got = []

    @app.handler("work")
    async def work(payload: Any, context: Context) -> None:
        got.append(context)

    await run(app, threads, attempt=3, key="settle-42")
    assert got == [
        Context(
            execution_id="0198c0de-0000-7000-8000-000000000001",
            attempt=3,
            scheduled_for=datetime(2026, 9, 21, 14, 13, 20, tzinfo=UTC),
            client="shop",
            key="settle-42",
            delivery_count=3,
        )
    ]


async def test_a_handler_receives_none_for_a_missing_payload(app: App, threads: Threads) -> None:
    @app.handler("work")
    async def work(payload: Any) -> bool:
        return payload is None

    assert await run(app, threads, payload=None) == Succeeded(result=b"true")


async def test_a_handler_shares_its_connection_with_the_completion(app: App, threads: Threads) -> None:
    got, completion = [], Transactions()

    @app.handler("work")
    async def work(payload: Any, connection: Any) -> None:
        got.append((payload, connection))

    assert await run(app, threads, completion=completion) == AlreadySettled()
    assert got == [({"order": 42}, "the connection")]
    assert completion.ended == ["committed"]


async def test_a_snoozing_handler_rolls_back_its_transaction(app: App, threads: Threads) -> None:
    completion = Transactions()

    @app.handler("work")
    async def work(connection: Any) -> None:
        raise Snooze(timedelta(minutes=1), "not yet")

    outcome = await run(app, threads, completion=completion)
    assert outcome == Postponed(reason="not yet", after=timedelta(minutes=1))
    assert completion.ended == ["rolled back"]


async def test_raising_retry_without_a_delay_is_a_retryable_failure(app: App, threads: Threads) -> None:
    @app.handler("work")
    async def work() -> None:
        raise Retry("not yet")

    assert await run(app, threads) == Failed(error="not yet", retryable=True)


async def test_a_handler_with_a_stale_lease_does_not_succeed(app: App, threads: Threads) -> None:
    @app.handler("work")
    async def work(connection: Any) -> None: ...

    outcome = await run(app, threads, completion=Transactions(stale=True))
    assert outcome == Failed(error="the execution was leased anew", retryable=True)


async def test_an_exception_is_a_retryable_failure(app: App, threads: Threads) -> None:
    @app.handler("work")
    async def work() -> None:
        raise ValueError("no such merchant")

    assert await run(app, threads) == Failed(error="ValueError: no such merchant", retryable=True)


async def test_raising_fail_is_a_final_failure(app: App, threads: Threads) -> None:
    @app.handler("work")
    def work() -> None:
        raise Fail("the account is closed")

    assert await run(app, threads) == Failed(error="the account is closed", retryable=False)


async def test_an_unknown_handler_is_left_to_another_worker(app: App, threads: Threads) -> None:
    app.handler("send_email")(lambda: None)
    assert await run(app, threads) == Undeliverable(capability="python:work")


@pytest.mark.parametrize("result", [object(), float, {1, 2}, "\ud800"])
async def test_a_result_that_is_not_json_fails_for_good(app: App, threads: Threads, result: Any) -> None:
    @app.handler("work")
    async def work() -> Any:
        return result

    outcome = await run(app, threads)
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert "not JSON" in outcome.error


async def test_an_oversized_result_fails_for_good(app: App, threads: Threads) -> None:
    app.handler("work")(lambda: "x" * 2_000_000)
    outcome = await run(app, threads)
    assert isinstance(outcome, Failed)
    assert not outcome.retryable


async def test_snoozing_with_a_string_delay_fails_the_attempt(app: App, threads: Threads) -> None:
    @app.handler("work")
    async def work() -> None:
        raise Snooze("5 minutes", "busy")  # type: ignore[arg-type]

    outcome = await run(app, threads)
    assert outcome == Failed(error='TypeError: the argument "after" must be a timedelta, not str', retryable=True)


@pytest.mark.parametrize("kind", [Retry, Fail])
async def test_a_reason_is_truncated_to_the_stored_length(app: App, threads: Threads, kind: type[Retry | Fail]) -> None:
    @app.handler("work")
    async def work() -> None:
        raise kind("x" * 3_000_000)

    outcome = await run(app, threads)
    assert isinstance(outcome, Failed)
    assert outcome.error == "x" * 2000


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("error", [SystemExit(3), StopIteration(), Mute(), ExceptionGroup("two", [ValueError()])])
@pytest.mark.parametrize("is_async", [True, False])
async def test_any_exception_from_a_handler_is_a_retryable_failure(
    app: App, threads: Threads, error: BaseException, is_async: bool
) -> None:
    def raising() -> None:
        raise error

    async def raising_async() -> None:
        raise error

    app.handler("work")(raising_async if is_async else raising)
    outcome = await run(app, threads)
    assert isinstance(outcome, Failed)
    assert outcome.retryable


async def test_cancelling_an_attempt_cancels_the_handler(app: App, threads: Threads) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    @app.handler("work")
    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    attempt = asyncio.create_task(run(app, threads))
    await started.wait()
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    assert ended.is_set()


@pytest.mark.parametrize("in_thread", [False, True])
async def test_the_end_of_a_traceback_is_kept_without_control_characters(
    app: App, threads: Threads, in_thread: bool
) -> None:
    def fails() -> None:
        raise ValueError("\x1b[31mred\0\ud800 " + "x" * 50)

    async def fails_too() -> None:
        fails()

    app.handler("work")(fails if in_thread else fails_too)
    for longest in (0, 60, 20_000):
        channel = PythonChannel(
            app, completion=Transactions(), threads=threads, failures=FailureLog(Events()), tracebacks=longest
        )
        outcome = await channel.deliver(execution("python:work"), Options(), 5)
        assert isinstance(outcome, Failed)
        if not longest:
            assert outcome.traceback is None
            continue
        assert outcome.traceback is not None
        assert outcome.traceback.endswith("x" * 50 + "\n")
        assert longest == 60 or "\\x1b[31mred\\x00\\ud800 xxx" in outcome.traceback
        assert longest == 60 or "in fails\n" in outcome.traceback
