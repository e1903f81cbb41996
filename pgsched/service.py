"""Service, the base class of background work, and Signal, by which parts notify each other.

A service defines one turn of its work. ``run`` repeats the turn. Between turns, it sleeps for the time that the turn
returned, or until it is woken. If a turn raises, ``run`` reports the error and tries again after a growing pause, so
services survive a database outage.
"""

import asyncio
import contextlib
import gc
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Generic, ParamSpec, Protocol, TypeVar

import psycopg

from pgsched.telemetry import Events

_LONGEST_REST = 1.0
_SUDDEN = 1.0  # seconds; a longer piece of work counts as at most twice the previous one
_AWAY = "08", "57P", "53300"  # SQLSTATEs: connection exceptions, shutdown and startup, too many connections


def is_away(error: Exception) -> bool:
    """Whether the error means that the database cannot be reached, rather than that it refused a statement."""
    if isinstance(error, psycopg.OperationalError):
        return error.sqlstate is None or error.sqlstate.startswith(_AWAY)
    return isinstance(error, OSError)  # includes TimeoutError


def event_text(error: Exception) -> str:
    """Returns an error as text for events."""
    return f"{type(error).__name__}: {error}"[:500]


def collect_seldom() -> None:
    """Keeps garbage collection pauses short. Must be called once all parts of the process exist, because the collector
    then ignores these parts."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


_Told = ParamSpec("_Told")


class Signal(Generic[_Told]):
    """Calls its listeners in the order in which they were connected. The sender need not know the listeners, which must
    not block or raise."""

    def __init__(self) -> None:
        self._listeners: list[Callable[_Told, object]] = []

    def connect(self, listener: Callable[_Told, object]) -> None:
        self._listeners.append(listener)

    def __call__(self, *args: _Told.args, **kwargs: _Told.kwargs) -> None:
        for listener in self._listeners:
            listener(*args, **kwargs)


class Droppable(Protocol):
    """A connection that can be dropped, and is opened again at the next request."""

    async def drop(self, error: Exception | None = None) -> None: ...


_Connection = TypeVar("_Connection")
_Connection_co = TypeVar("_Connection_co", covariant=True)


class Lender(Protocol[_Connection_co]):
    """Provides a connection, and opens it if necessary."""

    async def get(self) -> _Connection_co: ...


class DutyCycle:
    """Limits work to 1/``one_in`` of the time, and starts it at most once every ``every`` seconds.

    The limit never delays the next piece of work by more than ``at_most`` seconds. The counted duration of a piece is
    at most a second, or twice that of the previous piece if that is longer. So a piece that was blocked, for example by
    a locked row, does not delay the next one by minutes.
    """

    def __init__(self, one_in: int, *, every: float = 0.0, at_most: float = float("inf")) -> None:
        self._one_in, self._every, self._at_most = one_in, every, at_most
        self._counted = 0.0
        self._due_at = self._rested_at = float("-inf")

    @contextlib.contextmanager
    def work(self) -> Iterator[None]:
        """Measures the work done in the block."""
        started = time.monotonic()
        try:
            yield
        finally:
            self._counted = min(time.monotonic() - started, max(2 * self._counted, _SUDDEN))
            self._rested_at = started + min(self._one_in * self._counted, self._at_most)
            self._due_at = max(started + self._every, self._rested_at)

    @contextlib.asynccontextmanager
    async def work_on(self, link: Lender[_Connection]) -> AsyncIterator[_Connection]:
        """Yields a connection, and measures the work done in the block. Waiting for the connection does not count."""
        connection = await link.get()
        with self.work():
            yield connection

    @property
    def pause(self) -> float:
        """Seconds until the work is due again, or 0 if it is due."""
        return max(self._due_at - time.monotonic(), 0.0)

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._due_at

    def go_on(self) -> None:
        """Makes the next piece of work due as soon as its share of the time allows, without waiting for ``every``."""
        self._due_at = self._rested_at

    def postpone(self, seconds: float) -> None:
        """Makes the next piece of work start no earlier than ``seconds`` from now."""
        self._due_at = max(self._due_at, time.monotonic() + seconds)

    def hasten(self, within: float = 0.0) -> None:
        """Makes the next piece of work due after at most ``within`` seconds, regardless of its share of the time."""
        self._due_at = min(self._due_at, time.monotonic() + within)


class Service:
    """Work that is done in turns. Subclasses implement ``turn``. ``run`` repeats it until ``stop`` is called; tests
    call ``turn`` directly."""

    name: str = "service"
    first_pause: float = 0.05
    longest_pause: float = 2.0
    longest_turn: float = 40.0
    """Seconds after which a turn is cancelled. Statements time out earlier, so such a turn has lost its connection
    unnoticed."""
    rest: float = 0.0
    """After a turn, the service cannot be woken for this multiple of the turn's duration, up to a second. The rest
    limits the service's share of the time."""

    def __init__(self, events: Events, *links: Droppable) -> None:
        """``links`` are the connections that the turns use. They are dropped when a turn raises."""
        self.events, self._links = events, links
        self.stopping = False
        self._wake = asyncio.Event()
        self._unwell_since: float | None = None

    @property
    def unwell_for(self) -> float:
        """Seconds since the start of the first turn that followed the last success, or 0 if no turn has started
        since."""
        return 0.0 if self._unwell_since is None else time.monotonic() - self._unwell_since

    async def turn(self) -> float:
        """Does one turn of the work, and returns the seconds until the next turn is due."""
        raise NotImplementedError

    async def recover(self, error: Exception) -> None:
        """Drops the connections. Called when a turn has raised, before the pause."""
        for link in self._links:
            await link.drop(error)

    def wake(self) -> None:
        """Starts the next turn at once."""
        self._wake.set()

    def stop(self) -> None:
        """Makes ``run`` return after the current turn."""
        self.stopping = True
        self._wake.set()

    async def run(self) -> None:
        failures, failed_at = 0, 0.0
        while not self.stopping:
            self._wake.clear()
            started = time.monotonic()
            self._unwell_since = self._unwell_since or started
            try:
                async with asyncio.timeout(self.longest_turn):
                    pause = await self.turn()
                self._unwell_since = None
                if failures:
                    lasted = round(time.monotonic() - failed_at, 3)
                    self.events.emit("service.recovered", service=self.name, failures=failures, seconds=lasted)
                failures = 0
            except Exception as error:  # a turn may fail, but the service goes on
                failed_at = failed_at if failures else started
                failures += 1
                pause = self._pause_after(failures)
                refused, said = isinstance(error, psycopg.Error), event_text(error)
                self.events.emit(
                    "service.failed", service=self.name, away=is_away(error), by_database=refused, error=said
                )
                with contextlib.suppress(Exception):  # dropping a broken connection may also raise
                    await self.recover(error)
                await self._sleep(pause, wakeable=False)
                continue
            not_before = time.monotonic() + min(self.rest * (time.monotonic() - started), _LONGEST_REST)
            await self._sleep(pause, wakeable=True)
            if pause > 0 and not self.stopping and (left := not_before - time.monotonic()) > 0:
                await asyncio.sleep(min(left, pause))

    def _pause_after(self, failures: int) -> float:
        ceiling = min(self.longest_pause, self.first_pause * 2.0 ** min(failures, 20))
        return random.uniform(ceiling / 2, ceiling)

    async def _sleep(self, seconds: float, *, wakeable: bool) -> None:
        if seconds <= 0 or self.stopping:
            await asyncio.sleep(0)
            return
        if not wakeable:
            await asyncio.sleep(seconds)
            return
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return
