"""What handlers return: it is awaited if it has to be, and kept as JSON."""

import asyncio
from concurrent.futures import Future
from contextlib import _AsyncGeneratorContextManager, _GeneratorContextManager
from types import AsyncGeneratorType, GeneratorType
from typing import Any

from pgsched.delivery.exception_outcomes import FinalFailure
from pgsched.domain.attempt_outcome import Succeeded
from pgsched.domain.json_values import encode_json

LONGEST_RESULT = 1_048_576
"""Bytes of JSON a result may have."""
DONE = Succeeded()
_OF_GENERATORS = (GeneratorType, AsyncGeneratorType, _GeneratorContextManager, _AsyncGeneratorContextManager)


def succeeded(result: Any) -> Succeeded:
    """The outcome of a handler that has returned. Raises FinalFailure for a result that cannot be stored: its work is
    done, and another try would do it twice."""
    if result is None:
        return DONE
    if isinstance(result, _OF_GENERATORS):
        raise FinalFailure("the handler returned a generator, of which nothing has run: return once, without yield")
    try:
        encoded = encode_json(result)
    except Exception as error:  # a value may run code of its own
        raise FinalFailure(f"the handler ran, but what it returned is not JSON: {error}") from error
    if len(encoded) > LONGEST_RESULT:
        raise FinalFailure(f"the handler ran, but its result is over {LONGEST_RESULT} bytes")
    return Succeeded(result=encoded)


def is_awaitable(answer: Any) -> bool:
    """Whether a handler has only begun, as an async one does when a decorator that is not async calls it, or hands it
    to a thread or another loop."""
    return hasattr(type(answer), "__await__") or isinstance(answer, Future)


async def finished(answer: Any) -> Any:
    """The result that an answer comes to."""
    while is_awaitable(answer):
        answer = await (asyncio.wrap_future(answer) if isinstance(answer, Future) else answer)
    return answer


class FinishedInLoop:
    """Has the loop await what functions in threads return, if that is awaitable, and waits for it there. To be made in
    the loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._under_way: Future[Any] | None = None
        self._cancelled = False

    def __call__(self, answer: Any) -> Any:
        if not is_awaitable(answer):
            return answer
        self._under_way = asyncio.run_coroutine_threadsafe(finished(answer), self._loop)
        if self._cancelled:
            self._under_way.cancel()
        return self._under_way.result()

    def cancel(self) -> None:
        """Cancels what is awaited, now or later."""
        self._cancelled = True
        if self._under_way is not None:
            self._under_way.cancel()
