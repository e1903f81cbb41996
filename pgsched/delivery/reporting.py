"""Lets handlers report progress and checkpoints, on the event loop and in threads."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Protocol

from pgsched.delivery.exception_outcomes import OutcomeException
from pgsched.domain.attempt_outcome import Failed, escaped, json_text
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.json_values import encode_json
from pgsched.errors import InvalidInput

LONGEST_CHECKPOINT = 65_536
"""Maximum size of a checkpoint, in bytes of JSON."""
LONGEST_NOTE = 200


class HandlerReports(Protocol):
    """Stores handlers' reports. Implemented in ``worker.run.handler_reports``."""

    def progress(self, execution: ClaimedExecution, fraction: float, note: str | None) -> None: ...

    def checkpoint(
        self, execution: ClaimedExecution, value: str, waiting: "asyncio.Future[None] | Future[None]"
    ) -> None: ...

    async def read(self, execution: ClaimedExecution) -> Any: ...


class AlreadyDone(Awaitable[None]):
    """An awaitable that is already done."""

    def __await__(self) -> Generator[Any, Any, None]:
        yield from ()


DONE = AlreadyDone()


class Reporter:
    """Passes on a handler's reports about one execution, and calls ``beat`` for each. Must be created in the loop."""

    def __init__(
        self, reports: HandlerReports, execution: ClaimedExecution, beat: Callable[[], None] = lambda: None
    ) -> None:
        self._reports, self._execution, self._beat = reports, execution, beat
        self._loop = asyncio.get_running_loop()

    def progress(self, fraction: float, note: str | None) -> Awaitable[None]:
        self._run(self._reports.progress, self._execution, fraction, note)
        return DONE

    def checkpoint(self, value: str) -> Awaitable[None]:
        """Stores a checkpoint. In the loop, the result must be awaited; in a thread, the value is stored when this
        returns."""
        if self._is_in_loop():
            answer = self._loop.create_future()
            self._beat()
            self._reports.checkpoint(self._execution, value, answer)
            return answer
        waiting: Future[None] = Future()
        self._run(self._reports.checkpoint, self._execution, value, waiting)
        waiting.result()
        return DONE

    def _run(self, function: Callable[..., None], *arguments: Any) -> None:
        def run() -> None:
            self._beat()
            function(*arguments)

        if self._is_in_loop():
            run()
        else:
            self._loop.call_soon_threadsafe(run)

    def _is_in_loop(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False


async def beating(seconds: float, call: Callable[[Callable[[], None]], Coroutine[Any, Any, Any]]) -> Any:
    """Awaits the call, and passes it a function to call at each heartbeat. ``seconds`` is the time without a heartbeat
    after which a retryable failure is raised."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(seconds) as patience:

            def beat() -> None:
                with suppress(RuntimeError):  # the call has ended, but a task that it left behind still beats
                    patience.reschedule(loop.time() + seconds)

            return await call(beat)
    except TimeoutError:
        if not patience.expired():
            raise
        error = f"the handler reported nothing within its heartbeat of {seconds:g} s"
        raise OutcomeException(error, Failed(error=error, retryable=True)) from None


def checked_progress(fraction: float, note: str | None) -> tuple[float, str | None]:
    """Returns the fraction and the note, cleaned up. Raises InvalidInput unless the fraction is a number from 0 to 1
    and the note is text or None."""
    is_number = isinstance(fraction, int | float) and not isinstance(fraction, bool)
    if not is_number or not math.isfinite(fraction) or not 0 <= fraction <= 1:
        raise InvalidInput(f"progress must be a number from 0 to 1, such as 0.4, not {fraction!r:.100}")
    if note is not None and not isinstance(note, str):
        raise InvalidInput(f"the progress note must be a string, not {note!r:.100}")
    return float(fraction), None if note is None else escaped(" ".join(note[:LONGEST_NOTE].split()))[:LONGEST_NOTE]


def checked_checkpoint(value: Any) -> str:
    """Returns the value as JSON text. Raises InvalidInput if JSON cannot represent the value or the text is too
    long."""
    try:
        encoded = encode_json(value)
    except TypeError as error:
        raise InvalidInput(f"a checkpoint must be JSON: {error}") from error
    if len(encoded) > LONGEST_CHECKPOINT:
        raise InvalidInput(
            f"a checkpoint can be at most {LONGEST_CHECKPOINT} bytes of JSON; this one is {len(encoded)}"
        )
    return json_text(encoded) or "null"
