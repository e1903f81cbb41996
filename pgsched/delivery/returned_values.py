"""The values that handlers return. They are awaited if necessary, and stored as JSON."""

import asyncio
from concurrent.futures import Future
from contextlib import _AsyncGeneratorContextManager, _GeneratorContextManager
from types import AsyncGeneratorType, GeneratorType
from typing import Any

from pgsched.delivery.exception_outcomes import FinalFailure
from pgsched.domain.attempt_outcome import Succeeded
from pgsched.domain.json_values import encode_json

LONGEST_RESULT = 1_048_576
"""Maximum size of a result, in bytes of JSON."""
DONE = Succeeded()
_OF_GENERATORS = (GeneratorType, AsyncGeneratorType, _GeneratorContextManager, _AsyncGeneratorContextManager)


def succeeded(result: Any) -> Succeeded:
    """Returns the outcome of a handler that has returned. Raises FinalFailure for a result that cannot be stored,
    because the work is done and another attempt would repeat it."""
    if result is None:
        return DONE
    if isinstance(result, _OF_GENERATORS):
        raise FinalFailure("the handler returned a generator, so its code did not run; return once, without yield")
    try:
        encoded = encode_json(result)
    except Exception as error:  # encoding may run the value's own code
        raise FinalFailure(f"the handler ran, but what it returned is not JSON: {error}") from error
    if len(encoded) > LONGEST_RESULT:
        raise FinalFailure(f"the handler ran, but its result is over {LONGEST_RESULT} bytes")
    return Succeeded(result=encoded)


def is_awaitable(answer: Any) -> bool:
    """Whether a handler's result must be awaited, for example because a decorator that is not async calls an async
    handler."""
    return hasattr(type(answer), "__await__") or isinstance(answer, Future)


async def finished(answer: Any) -> Any:
    """Returns a handler's plain result, awaiting as often as necessary."""
    while is_awaitable(answer):
        answer = await (asyncio.wrap_future(answer) if isinstance(answer, Future) else answer)
    return answer


class FinishedInLoop:
    """Turns what a function in a thread returns into a plain result. If the result is an awaitable, the thread waits
    while the loop awaits it. Must be created in the loop."""

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
        """Cancels the awaitable, even if the function has not returned it yet."""
        self._cancelled = True
        if self._under_way is not None:
            self._under_way.cancel()
