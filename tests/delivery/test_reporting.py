"""Reports from handlers: progress, checkpoints, where reports may come from, and heartbeats that time out."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.failure_log import FailureLog
from pgsched.delivery.handler_call import Context
from pgsched.delivery.python import PythonChannel
from pgsched.delivery.reporting import LONGEST_CHECKPOINT
from pgsched.delivery.threads import Threads
from pgsched.domain.attempt_outcome import Failed, Outcome, Succeeded
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options
from pgsched.errors import InvalidInput, StaleLease
from pgsched.telemetry import Events
from tests.delivery.receiver import execution
from tests.delivery.test_python_channel import Transactions


class Kept:
    """Keeps reports in memory. Refuses checkpoints once ``is_stale``."""

    def __init__(self) -> None:
        self.said: list[tuple[float, str | None]] = []
        self.value: Any = None
        self.is_stale = False

    def progress(self, execution: ClaimedExecution, fraction: float, note: str | None) -> None:
        self.said.append((fraction, note))

    def checkpoint(
        self, execution: ClaimedExecution, value: str, waiting: "asyncio.Future[None] | Future[None]"
    ) -> None:
        if self.is_stale:
            waiting.set_exception(StaleLease("another worker has it"))
        else:
            self.value = value
            waiting.set_result(None)

    async def read(self, execution: ClaimedExecution) -> Any:
        return self.value


@pytest.fixture
def threads() -> Iterator[Threads]:
    made = Threads(2)
    yield made
    made.shutdown()


@pytest.fixture
def kept() -> Kept:
    return Kept()


async def run(app: App, threads: Threads, kept: Kept | None) -> Outcome:
    failures = FailureLog(Events())
    channel = PythonChannel(app, completion=Transactions(), threads=threads, failures=failures, reports=kept)
    try:
        return await channel.deliver(execution("python:work"), Options(), 5)
    finally:
        await channel.close()


def by_hand() -> Context:
    return Context(execution_id="1", attempt=1, scheduled_for=datetime.now(UTC), client="shop", key=None)


async def test_an_async_handler_reports_progress_and_a_checkpoint(threads: Threads, kept: Kept) -> None:
    app = App()

    @app.handler("work")
    async def work(payload: Any, context: Context, checkpoint: Any) -> Any:
        await context.progress(0.4, "400 of 1,000")
        await context.checkpoint({"after": 400})
        return checkpoint

    assert await run(app, threads, kept) == Succeeded()
    assert (kept.said, kept.value) == ([(0.4, "400 of 1,000")], '{"after":400}')
    kept.value = {"after": 400}
    assert await run(app, threads, kept) == Succeeded(result=b'{"after":400}')


async def test_a_checkpoint_in_a_thread_returns_once_it_is_stored(threads: Threads, kept: Kept) -> None:
    app = App()

    @app.handler("work")
    def work(payload: Any, context: Context, checkpoint: Any) -> Any:
        context.progress(1)
        context.checkpoint([1, checkpoint])
        return kept.value

    assert await run(app, threads, kept) == Succeeded(result=b'"[1,null]"')
    assert kept.said == [(1.0, None)]


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_checkpoint_fails_if_the_lease_is_lost(threads: Threads, kept: Kept, is_async: bool) -> None:
    app, kept.is_stale = App(), True

    async def work(payload: Any, context: Context) -> None:
        await context.checkpoint(1)

    def waits(payload: Any, context: Context) -> None:
        context.checkpoint(1)

    app.handler("work")(work if is_async else waits)
    assert await run(app, threads, kept) == Failed(error="another worker has it", retryable=True)


async def test_middleware_can_report_progress(threads: Threads, kept: Kept) -> None:
    app = App()

    @app.middleware
    @contextmanager
    def begins(context: Context) -> Iterator[None]:
        context.progress(0, "begins")
        yield

    @app.handler("work")
    async def work() -> None: ...

    assert await run(app, threads, kept) == Succeeded()
    assert kept.said == [(0.0, "begins")]


async def test_a_context_made_by_hand_stores_nothing(threads: Threads) -> None:
    app, context = App(), by_hand()
    await context.progress(0.5, "half")
    await context.checkpoint({"after": 1})

    @app.handler("work")
    async def work(payload: Any, context: Context, checkpoint: Any) -> Any:
        await context.checkpoint(1)
        return checkpoint

    assert await run(app, threads, None) == Succeeded()


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan"), float("inf"), "0.5", None, True])
def test_progress_outside_0_to_1_is_refused(fraction: Any) -> None:
    with pytest.raises(InvalidInput, match="progress must be a number from 0 to 1"):
        by_hand().progress(fraction)


def test_a_progress_note_that_is_not_text_is_refused() -> None:
    with pytest.raises(InvalidInput, match="must be a string, not 3"):
        by_hand().progress(0.5, 3)  # type: ignore[arg-type]


async def test_a_progress_note_is_one_short_line_without_control_characters(threads: Threads, kept: Kept) -> None:
    app = App()

    @app.handler("work")
    async def work(payload: Any, context: Context) -> None:
        await context.progress(0.1, "\x1b[2J\nsecond line " + "x" * 300)

    await run(app, threads, kept)
    [(_, note)] = kept.said
    assert note is not None
    assert note.startswith(r"\x1b[2J second line xxx")
    assert len(note) == 200


@pytest.mark.parametrize("value", [object(), {1, 2}, {1: "a"}, "\ud800", "x" * LONGEST_CHECKPOINT])
def test_an_invalid_or_oversized_checkpoint_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match="a checkpoint"):
        by_hand().checkpoint(value)


class Hastened(asyncio.SelectorEventLoop):
    """An event loop whose clock can be advanced."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


def test_a_handler_silent_for_longer_than_its_heartbeat_fails(threads: Threads, kept: Kept) -> None:
    app, loop, cleaned = App(), Hastened(), []

    @app.handler("work", heartbeat=timedelta(seconds=30))
    async def work(payload: Any, context: Context) -> None:
        try:
            for step in range(5):
                loop.ahead += 20
                await context.progress(step / 5)
                await asyncio.sleep(0)
            loop.ahead += 31
            await asyncio.Event().wait()
        finally:
            cleaned.append("up")

    error = "the handler reported nothing within its heartbeat of 30 s"
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        assert runner.run(run(app, threads, kept)) == Failed(error=error, retryable=True)
    assert (len(kept.said), cleaned) == (5, ["up"])


async def test_a_handlers_own_timeout_is_not_a_heartbeat_failure(threads: Threads, kept: Kept) -> None:
    app = App()

    @app.handler("work", heartbeat=timedelta(minutes=1))
    async def work() -> None:
        raise TimeoutError("the bank")

    assert await run(app, threads, kept) == Failed(error="TimeoutError: the bank", retryable=True)


@pytest.mark.parametrize("heartbeat", [30, "30s", timedelta(0), timedelta(seconds=-1), timedelta(milliseconds=99)])
def test_an_invalid_heartbeat_is_refused(heartbeat: Any) -> None:
    with pytest.raises(InvalidInput, match=r"such as timedelta\(seconds=30\)"):
        App().handler("work", heartbeat=heartbeat)


def test_a_heartbeat_for_a_sync_handler_is_refused() -> None:
    def work() -> None: ...

    with pytest.raises(InvalidInput, match="is not async but has a heartbeat"):
        App().handler("work", heartbeat=timedelta(seconds=30))(work)
