"""Threads for handlers that are not async.

A thread cannot be interrupted, so a function may keep running after its attempt has ended. Its thread is then left
behind, and its slot goes to another attempt, in a fresh thread. Up to two threads per slot may be left behind, and each
client has a share of this number. Once a client has used up its share, its slots stay taken.

When every slot is taken by such functions, no function can start. The process is then ``spent``, and must be replaced.
"""

import asyncio
import contextlib
import contextvars
import functools
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from pgsched.delivery.failure_log import Raised
from pgsched.delivery.slots import NoFreeSlot, Slots, alone

_CLOCK_OF = getattr(time, "pthread_getcpuclockid", None)
"""The function that returns the clock of a thread's CPU time, or None if the system has no such clocks."""
THREAD_NAME = "pgsched-handler"
_Answer = TypeVar("_Answer")
_PATIENCE = 30.0
_MORE = 2
_COMPUTES, _ONE, _SHORTEST = 0.2, 1.3, 0.1
"""A client's functions count as computing if they use more than the share ``_COMPUTES`` of one CPU and of the process's
CPU time. ``_ONE`` is slightly more than one CPU. Samples count as at least ``_SHORTEST`` seconds apart, because
starting a thread takes CPU time too."""
_LEFT_BEHIND = 2
"""Maximum number of threads left behind per slot. A waiting thread takes 20 to 100 kB of memory."""


class Threads(Slots):
    """Runs the functions of attempts. ``most`` is the maximum number of attempts at once. Functions never wait for a
    thread. ``spent`` is called when functions whose attempts are over have occupied every slot for half a minute."""

    def __init__(
        self, most: int, *, is_shared: Callable[[], bool] = alone, spent: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__("threads for handlers that are not async", most, is_shared=is_shared)
        self._spent, self._kept = spent, 0
        self.left_behind = Slots("threads still used by ended attempts", _LEFT_BEHIND * most, is_shared=is_shared)
        self._growth = Growth()
        self._at_work: dict[int, tuple[str, int, float]] = {}
        self._used: dict[str, float] = {}
        self._going_on: set[bytes] = set()
        self._executor = ThreadPoolExecutor(most + self.left_behind.most, thread_name_prefix=THREAD_NAME)

    async def call(
        self, client: str, function: Callable[[], _Answer], context: contextvars.Context, *, id: bytes = b""
    ) -> _Answer | Raised:
        """Calls the function in a thread and in ``context``. The caller must have taken a slot, which this method gives
        back. ``id`` is the execution's id."""
        try:
            future = self._executor.submit(context.run, self._work, client, function)
        except BaseException:
            self.give_back(client)
            raise
        try:
            return await asyncio.wrap_future(future)
        finally:
            if future.done():
                self.give_back(client)
            else:
                returned, loop = self._leave_behind(client), asyncio.get_running_loop()
                self._going_on.add(id)

                def back() -> None:
                    self._going_on.discard(id)
                    returned(client)

                def tell(_: object) -> None:
                    with contextlib.suppress(RuntimeError):  # the loop is closed
                        loop.call_soon_threadsafe(back)

                future.add_done_callback(tell)

    def processor_time(self) -> dict[str, float]:
        """Returns the CPU time, in seconds, that each client's functions have used. The times may lag slightly."""
        found = dict(self._used)
        for client, clock, since in list(self._at_work.values()):
            with contextlib.suppress(OSError):  # the thread has ended
                found[client] = found.get(client, 0.0) + time.clock_gettime(clock) - since
        return found

    def beat(self) -> None:
        """Updates the clients' limits, and forgets the CPU time of idle clients. Must be called in the event loop,
        several times a second."""
        if self._is_shared():
            used = self.processor_time()
            self._growth.look(self._by_client, used, time.monotonic(), time.process_time())
            at_work = {client for client, _, _ in list(self._at_work.values())}
            for client in self._used.keys() - at_work - self._by_client.keys():
                for known in (self._used, used):  # the next sample is compared with this one
                    known.pop(client, None)

    def free_for(self, client: str) -> int:
        more = super().free_for(client)
        if not self._is_shared():
            return more
        return min(more, self._growth.most(client) - self.taken_by(client))

    def why(self, client: str) -> str | None:
        if self.left_behind.free_for(client) > 0:
            return None
        count = self.left_behind.taken_by(client)
        return f"at least {count} of this client's functions are still running although their attempts are over"

    def go_on(self) -> bool:
        """Whether any function is still running, including functions whose attempts are over."""
        return self.taken + self.left_behind.taken > 0

    def is_going_on(self, id: bytes) -> bool:
        """Whether a function of this execution is still running although its attempt is over."""
        return id in self._going_on

    def shutdown(self) -> None:
        """Stops further calls. Running functions continue."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _work(self, client: str, function: Callable[[], _Answer]) -> _Answer | Raised:
        """Calls the function in this thread, and adds its CPU time to the client's."""
        if _CLOCK_OF is None:
            return _call(function)
        thread, since = threading.get_ident(), time.thread_time()
        self._at_work[thread] = client, _CLOCK_OF(thread), since
        try:
            return _call(function)
        finally:
            del self._at_work[thread]
            self._used[client] = self._used.get(client, 0.0) + time.thread_time() - since

    def _leave_behind(self, client: str) -> Callable[[str], None]:
        """Leaves behind a function whose attempt is over. Returns the callback to call when the function returns."""
        try:
            self.left_behind.take(client)
        except NoFreeSlot:
            self._kept += 1
            if self._kept == self.most:
                asyncio.get_running_loop().call_later(_PATIENCE, self._look)
            return self._give_back_kept
        self.give_back(client)
        return self.left_behind.give_back

    def _give_back_kept(self, client: str) -> None:
        self._kept -= 1
        self.give_back(client)

    def _look(self) -> None:
        if self._kept >= self.most:
            self._spent()


class LoopsThreads(ThreadPoolExecutor):
    """The loop's default executor, which ``asyncio.to_thread`` uses. Each function runs in a new context, as in a fresh
    thread. If a function renames its thread, the name is restored afterwards."""

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="pgsched-loop")

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        in_context = functools.partial(contextvars.Context().run, function, *arguments, **named)
        return super().submit(_under_own_name, in_context)


class Growth:
    """Decides how many functions a client may run at once if there are several clients.

    Functions that wait release the GIL, so many may run. Functions that compute compete with the event loop for the
    GIL. It is not known in advance which functions compute, so a client's limit grows by a few at a time, and shrinks
    while its functions compute.
    """

    def __init__(self) -> None:
        self._at_work: dict[str, int] = {}
        self._used: Mapping[str, float] = {}
        self._computing: frozenset[str] = frozenset()
        self._now = self._in_all = 0.0

    def look(self, at_work: Mapping[str, int], used: Mapping[str, float], now: float, in_all: float) -> None:
        """Takes a sample: the number of functions that each client is running (``at_work``), the CPU time that these
        have used, and the CPU time of the process (``in_all``). If the process has used more than one CPU, functions
        compute without the GIL, so no function counts as computing."""
        passed, process = now - self._now, in_all - self._in_all
        much = _COMPUTES * max(passed, process, _SHORTEST)
        before = self._used if process < _ONE * passed else used
        self._computing = frozenset(
            client for client, seconds in used.items() if seconds - before.get(client, 0.0) > much
        )
        self._at_work, self._used, self._now, self._in_all = dict(at_work), used, now, in_all

    def most(self, client: str) -> int:
        """The number of functions that this client may run."""
        at_work = self._at_work.get(client, 0)
        return max(at_work - 1, 1) if client in self._computing else at_work + _MORE


def _call(function: Callable[[], _Answer]) -> _Answer | Raised:
    """Returns the function's result, or Raised if the function raises. Creating Raised here reads the exception's
    message in this thread rather than on the event loop."""
    try:
        return _under_own_name(function)
    except BaseException as error:
        return Raised(error)


def _under_own_name(function: Callable[[], _Answer]) -> _Answer:
    """Calls the function. If it renames the thread, the name is restored afterwards."""
    thread = threading.current_thread()
    name = thread.name
    try:
        return function()
    finally:
        thread.name = name
