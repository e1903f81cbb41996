"""Measures in a thread beside the event loop which clients take the process's time.

The steps of handlers in the loop are charged one by one (``delivery.steps``). The thread measures every few
milliseconds what the loop cannot see: how much of the machine's time the process has had, so that nobody is charged for
time that the machine took away; and, while the loop is late, whose functions compute in threads and keep the
interpreter's lock from it. It also forgives debts as time passes.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pgsched.delivery.accounts import OVERDUE, PERIOD, Accounts
from pgsched.delivery.threads import CLOCK_OF
from pgsched.events import Events

_TELL_EVERY = 10.0
_NEGLIGIBLE = 10


@dataclass(frozen=True, slots=True)
class TimeUsed:
    """Time on the clock, and processor time of the loop's thread, of the whole process, and of each client's functions,
    in seconds since some moment."""

    now: float
    loop: float
    process: float
    functions: Mapping[str, float]

    def is_contended(self, before: "TimeUsed") -> bool:
        """Whether threads computed since, and the loop had to wait for the interpreter's lock."""
        process, loop = self.process - before.process, self.loop - before.loop
        return process - loop > max(process / 2, (self.now - before.now) / _NEGLIGIBLE)


class ProcessTime:
    """``functions`` returns the processor time that functions of each client have had in threads; it is called in the
    thread."""

    def __init__(self, events: Events, accounts: Accounts, *, functions: Callable[[], Mapping[str, float]]) -> None:
        self._events, self._accounts, self._functions = events, accounts, functions
        self._told_at: dict[str, float] = {}
        self._closing = threading.Event()

    def start(self) -> None:
        """Watches the running loop. To be called in its thread."""
        threading.Thread(
            target=self._watch, args=(threading.get_ident(),), name="pgsched-process-time", daemon=True
        ).start()

    def close(self) -> None:
        self._closing.set()

    def tell(self) -> None:
        """Logs now and then which clients take too much. To be called in the loop."""
        for client in self._accounts.over:
            now = time.monotonic()
            if now - self._told_at.get(client, float("-inf")) >= _TELL_EVERY:
                self._told_at[client] = now
                target = self._accounts.of(client).target or None
                self._events.emit("loop.shared", client=client, target=target, advice=_ADVICE)

    def count(self, before: TimeUsed, after: TimeUsed) -> None:
        """Charges clients for the time that their threads, contending with the loop, have kept from it between two
        measurements."""
        passed = after.now - before.now
        used = {client: seconds - before.functions.get(client, 0.0) for client, seconds in after.functions.items()}
        used = {client: seconds for client, seconds in used.items() if seconds > 0}
        whole = max(sum(used.values()), passed)
        for client, seconds in used.items():
            self._accounts.charge(self._accounts.of(client), passed * seconds / whole)

    def _watch(self, thread: int) -> None:
        clock = CLOCK_OF(thread) if CLOCK_OF else None
        accounts, before = self._accounts, self._read(clock)
        while not self._closing.wait(PERIOD):
            after = self._read(clock)
            accounts.feel(after.now - before.now, after.loop)
            accounts.contended = accounts.wanted and after.is_contended(before)
            if accounts.contended and after.now - accounts.turned_at > OVERDUE:
                self.count(before, after)
            accounts.forgive(after.now - before.now)
            before = after

    def _read(self, clock: int | None) -> TimeUsed:
        in_loop = time.clock_gettime(clock) if clock is not None else 0.0
        in_all = time.process_time() if clock is not None else 0.0
        return TimeUsed(time.monotonic(), in_loop, in_all, self._functions() if self._accounts.wanted else {})


_ADVICE = "do not block the event loop: write def for what blocks, and start a process for what computes"
