"""Circuit breakers: count the outcomes of attempts, open the circuits of failing targets, and let targets recover.

Each path has a circuit, so that a failing path does not hold back calls to other paths. Each host also has a circuit,
for failures on several paths. One worker's verdict applies to all workers, because a circuit is a gate in the database
that every claim checks. Attempts are counted only from a target's first failure. While a circuit is open, a probe
passes now and then, and its outcome decides whether the target recovers.
"""

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta

import psycopg

from pgsched.domain.attempt_outcome import Failed, Outcome, kept_error
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.failure_window import OF_A_HOST, WINDOW, Window, asked_pause, is_healthy, is_target_fault
from pgsched.domain.gate import RECOVERED, circuits_of, host_of, path_of
from pgsched.service import Service, Signal
from pgsched.store.core.connect import Link
from pgsched.store.gates import circuits
from pgsched.telemetry import Events
from pgsched.worker.known_gates import KnownGates

_CLOSE_EVERY = 5.0
_REMEMBERED = 2 * WINDOW
"""Seconds for which a window is kept, so that the next window can inherit its ``failing_since``."""
_PAUSE = 1.0  # seconds until rows that were claimed earlier have been handed back and claims check the gate


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    name: str
    failing: bool
    probe: bool
    asked: timedelta | None = None
    reason: str = ""
    failing_since: float = field(compare=False)


class Circuits(Service):
    """Counts outcomes (``note``). A turn writes the resulting verdicts to the database, and calls ``changed``."""

    name = "circuits"

    def __init__(
        self,
        link: Link,
        events: Events,
        known_gates: KnownGates,
        *,
        after: int,
        rate: int,
    ) -> None:
        super().__init__(events, link)
        self._link, self._known_gates, self._after, self._rate = link, known_gates, after, rate
        self.changed: Signal[[]] = Signal()
        self._windows: dict[str, Window] = {}
        self._probes: dict[bytes, set[str]] = {}
        self._opened: dict[str, float] = {}
        self._verdicts: deque[_Verdict] = deque()
        self._closed_at = float("-inf")
        self.is_watching = False
        """Whether successes must also be noted."""

    def sent(self, id: bytes, name: str) -> None:
        """Records that this execution is a circuit's probe."""
        self._probes.setdefault(id, set()).add(name)
        self._look_at_what_is_watched()

    def forget(self, ids: Iterable[bytes]) -> None:
        """Forgets executions that are no longer in hand."""
        for id in ids:
            self._probes.pop(id, None)
        self._look_at_what_is_watched()

    def _look_at_what_is_watched(self) -> None:
        self.is_watching = bool(self._windows or self._probes)

    def leaves_alone(self, row: ClaimedExecution) -> bool:
        """Whether the execution's target has just been found to be failing."""
        if not self._opened or row.id in self._probes or (host := host_of(row.target)) is None:
            return False
        now = time.monotonic()
        return any(self._opened.get(name, 0.0) > now for name in circuits_of(row.target, host, row.client_id))

    def note(self, row: ClaimedExecution, outcome: Outcome) -> None:
        """Counts how an attempt ended."""
        ill = is_target_fault(outcome)
        if not (ill or is_healthy(outcome)) or (host := host_of(row.target)) is None:
            return
        probed = self._probes.pop(row.id, set())
        for name, paths in zip(circuits_of(row.target, host, row.client_id), (1, OF_A_HOST), strict=True):
            if name in probed:
                self._decide(name, outcome, probe=True, asked=asked_pause(outcome))
            elif self._after and (ill or name in self._windows):  # if circuits are off, only probes count
                self._count(name, path_of(row.target), outcome, paths=paths)
        self._look_at_what_is_watched()

    def _count(self, name: str, path: str, outcome: Outcome, *, paths: int) -> None:
        now, ill = time.monotonic(), is_target_fault(outcome)
        window = self._windows.get(name)
        if window is None or now - window.began > WINDOW:
            if not ill:
                self._windows.pop(name, None)
                return
            before = window.failing_since if window is not None else None
            window = self._windows[name] = Window(began=now, failing_since=before)
        window.count(now, path, ill=ill, pause=asked_pause(outcome))
        if ill and ((asked := window.pause(paths=paths)) or window.fails(self._after, paths=paths)):
            self._decide(name, outcome, probe=False, asked=asked)
            del self._windows[name]

    def _decide(self, name: str, outcome: Outcome, *, probe: bool, asked: timedelta | None) -> None:
        failing = is_target_fault(outcome)
        reason = kept_error(outcome.error) if isinstance(outcome, Failed) else ""
        now, window = time.monotonic(), self._windows.get(name)
        verdict = _Verdict(
            name=name,
            failing=failing,
            probe=probe,
            asked=asked,
            reason=reason[:500],
            failing_since=now if window is None or window.failing_since is None else window.failing_since,
        )
        if failing:
            self._opened[name] = now + _PAUSE
        if verdict not in self._verdicts:
            self._verdicts.append(verdict)
            self.wake()

    async def turn(self) -> float:
        while self._verdicts:
            try:
                await self._make_so(self._verdicts[0])
            except (psycopg.DataError, psycopg.IntegrityError) as error:  # a retry would be refused too
                name, reason = self._verdicts[0].name[:300], str(error)[:200]
                self.events.emit("target.not_sidelined", gate=name, reason=reason)
            self._verdicts.popleft()
        now = time.monotonic()
        self._opened = {name: until for name, until in self._opened.items() if now < until}
        self._windows = {name: window for name, window in self._windows.items() if now - window.began <= _REMEMBERED}
        self._look_at_what_is_watched()
        if self._known_gates.names and now - self._closed_at >= _CLOSE_EVERY:
            self._closed_at = now
            for name in await circuits.close(await self._link.get(), after=timedelta(seconds=RECOVERED)):
                self.events.emit("target.recovered", gate=name)
        return _PAUSE if self._opened else _CLOSE_EVERY

    async def _make_so(self, verdict: _Verdict) -> None:
        connection = await self._link.get()
        if not verdict.failing:
            if await circuits.recover(connection, verdict.name):
                self.events.emit("target.recovering", gate=verdict.name)
        elif await circuits.open_circuit(
            connection,
            verdict.name,
            rate=self._rate,
            asked=verdict.asked,
            probe=verdict.probe,
            failed_for=timedelta(seconds=time.monotonic() - verdict.failing_since),
            reason=verdict.reason,
        ):
            self.events.emit("target.sidelined", gate=verdict.name, reason=verdict.reason[:200])
        self.changed()
