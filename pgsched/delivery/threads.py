"""Threads for handlers that are not async.

A thread cannot be interrupted: a function whose attempt has ended may go on, and its thread with it. Such a thread is
left behind, and its slot goes to another attempt, in a fresh thread. Twice as many threads may be left behind as there
are slots, and clients share these, too. A client that has its share of them keeps its slots taken instead, so that
functions which never return cost other clients no more than that share.

Once every slot is kept in that way, no function can begin any more. Then the process is ``spent``, and another must be
started.
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
"""Returns the clock of a thread's processor time; None where the system has none."""
THREAD_NAME = "pgsched-handler"
_Answer = TypeVar("_Answer")
_PATIENCE = 30.0
_MORE = 2
_COMPUTES, _ONE, _SHORTEST = 0.2, 1.3, 0.1
"""The part of a processor, and of the process's time, from which functions count as computing; a little more than one
processor; and the seconds that two looks are apart at least, since the start of a thread alone is much of a moment."""
_LEFT_BEHIND = 2
"""Threads that may be left behind for each slot. One that waits takes 20 to 100 kB of memory."""


class Threads(Slots):
    """Runs at most ``most`` functions whose attempts go on; nothing is ever queued for a thread. ``spent`` is called
    when functions whose attempts are over have kept every slot for half a minute."""

    def __init__(
        self, most: int, *, is_shared: Callable[[], bool] = alone, spent: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__("threads for handlers that are not async", most, is_shared=is_shared)
        self._spent, self._kept = spent, 0
        self.left_behind = Slots("threads that are left behind", _LEFT_BEHIND * most, is_shared=is_shared)
        self._growth = Growth()
        self._at_work: dict[int, tuple[str, int, float]] = {}
        self._used: dict[str, float] = {}
        self._going_on: set[bytes] = set()
        self._executor = ThreadPoolExecutor(most + self.left_behind.most, thread_name_prefix=THREAD_NAME)

    async def call(
        self, client: str, function: Callable[[], _Answer], context: contextvars.Context, *, id: bytes = b""
    ) -> _Answer | Raised:
        """Calls it in this context, in a thread that the caller has taken a slot for; gives the slot back. ``id`` is
        the execution's for which it is called."""
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
                    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                        loop.call_soon_threadsafe(back)

                future.add_done_callback(tell)

    def processor_time(self) -> dict[str, float]:
        """The processor time that functions of each client have had, in seconds; it may be a moment behind."""
        found = dict(self._used)
        for client, clock, since in list(self._at_work.values()):
            with contextlib.suppress(OSError):  # the thread has ended
                found[client] = found.get(client, 0.0) + time.clock_gettime(clock) - since
        return found

    def beat(self) -> None:
        """To be called some times a second in the event loop. Forgets what idle clients have used."""
        if self._is_shared():
            used = self.processor_time()
            self._growth.look(self._by_client, used, time.monotonic(), time.process_time())
            at_work = {client for client, _, _ in list(self._at_work.values())}
            for client in self._used.keys() - at_work - self._by_client.keys():
                for known in (self._used, used):  # the next look compares with what this one was given
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
        return f"{count} and more of this client's functions go on in their threads though their time is over"

    def go_on(self) -> bool:
        """Whether any function has not returned, even if its attempt is over."""
        return self.taken + self.left_behind.taken > 0

    def is_going_on(self, id: bytes) -> bool:
        """Whether a function called for this execution has not returned, although its attempt is over."""
        return id in self._going_on

    def shutdown(self) -> None:
        """Starts nothing more. Functions under way go on."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _work(self, client: str, function: Callable[[], _Answer]) -> _Answer | Raised:
        """Calls the function in this thread, and counts its processor time for this client."""
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
        """Leaves a function behind whose attempt is over. Returns what to call when the function returns."""
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
    """The executor for ``asyncio.to_thread`` and the like. Each function has a context of its own, as in a fresh
    thread, and the name that it gives its thread ends with it."""

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="pgsched-loop")

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        in_context = functools.partial(contextvars.Context().run, function, *arguments, **named)
        return super().submit(_under_own_name, in_context)


class Growth:
    """Decides how many functions at once a client may have, where it is not alone.

    What they do is not known before they do it. Those that wait let go of the interpreter's lock, and there may be
    many; those that compute keep it from the event loop, the longer the more of them there are. So there are only a few
    more each time, and while those of the client that are at work compute, fewer."""

    def __init__(self) -> None:
        self._at_work: dict[str, int] = {}
        self._used: Mapping[str, float] = {}
        self._computing: frozenset[str] = frozenset()
        self._now = self._in_all = 0.0

    def look(self, at_work: Mapping[str, int], used: Mapping[str, float], now: float, in_all: float) -> None:
        """Takes how many functions of each client are at work, the processor time that they have used up to now, and
        that of the process. Where that is more than one processor gives, they compute without the interpreter's
        lock."""
        passed, process = now - self._now, in_all - self._in_all
        much = _COMPUTES * max(passed, process, _SHORTEST)
        before = self._used if process < _ONE * passed else used
        self._computing = frozenset(
            client for client, seconds in used.items() if seconds - before.get(client, 0.0) > much
        )
        self._at_work, self._used, self._now, self._in_all = dict(at_work), used, now, in_all

    def most(self, client: str) -> int:
        """How many functions of this client may be at work."""
        at_work = self._at_work.get(client, 0)
        return max(at_work - 1, 1) if client in self._computing else at_work + _MORE


def _call(function: Callable[[], _Answer]) -> _Answer | Raised:
    """What the function returns, or Raised: an exception's message is read here, and not on the event loop."""
    try:
        return _under_own_name(function)
    except BaseException as error:
        return Raised(error)


def _under_own_name(function: Callable[[], _Answer]) -> _Answer:
    """Calls the function. The name that it gives the thread ends with it."""
    thread = threading.current_thread()
    name = thread.name
    try:
        return function()
    finally:
        thread.name = name
