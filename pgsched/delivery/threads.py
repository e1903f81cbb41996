"""Threads for handlers that are not async.

A thread cannot be interrupted: a function whose attempt has ended may go on, and its thread is taken until it returns.
"""

import asyncio
import contextlib
import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from pgsched.delivery.places import Places

THREAD_NAME = "pgsched-handler"


class Threads:
    """At most ``most`` of them; ``places`` are as many, so that nothing is ever queued for one."""

    def __init__(self, most: int) -> None:
        self._executor = ThreadPoolExecutor(most, thread_name_prefix=THREAD_NAME)
        self.places = Places("threads for handlers that are not async", most)

    async def call(self, function: Callable[..., Any], arguments: Callable[[], dict[str, Any]]) -> Any:
        """Calls it in a thread that the caller has taken a place for; gives the place back when the function ends."""
        run = contextvars.copy_context().run
        try:
            future = self._executor.submit(run, _call, function, arguments())
        except BaseException:
            self.places.give_back()
            raise
        try:
            return await asyncio.wrap_future(future)
        finally:
            if future.done():
                self.places.give_back()
            else:
                future.add_done_callback(self._give_back_from(asyncio.get_running_loop()))

    def shutdown(self) -> None:
        """Starts nothing more. Functions under way go on."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _give_back_from(self, loop: asyncio.AbstractEventLoop) -> Callable[[Future[Any]], None]:
        def give_back(_: Future[Any]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self.places.give_back)

        return give_back


def _call(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    try:
        return function(**arguments)
    except StopIteration as error:
        # A future cannot carry it, and whoever waits would wait for ever.
        raise RuntimeError("the handler raised StopIteration") from error
