"""Decides, in a claim's transaction, which executions may pass their gates, and at which gates the others are held."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pgsched.domain.attempt_outcome import is_late
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.gate import CLIENT, ORDER, Gate
from pgsched.domain.gate_appointments import AHEAD, JUST_IN_TIME, Appointment, appoint
from pgsched.errors import InvalidInput
from pgsched.service import Signal
from pgsched.store.core.connect import Connection
from pgsched.store.gates import gates, ordering
from pgsched.store.live.executions import PostponedRow, postpone
from pgsched.worker.assignment import Assignment
from pgsched.worker.circuit_breakers import Circuits
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.gates.capabilities import Capabilities
from pgsched.worker.gates.gate_timers import GateTimer
from pgsched.worker.in_hand import InHand
from pgsched.worker.known_gates import GateCounts, KnownGates
from pgsched.worker.known_settings import KnownSettings

SOONEST, LATEST = 0.01, 0.5
"""Minimum and maximum number of seconds until a gate that holds executions is checked again."""
_SOON = 0.02
_UNDECIDED = "waits: another worker is deciding which execution of its ordering key is next"


class Admission:
    """Decides which executions pass. ``holding`` contains the gates known to hold executions. ``counts`` counts the
    executions in hand by the gates that they passed. The signal ``has_news`` means that a gate should be checked."""

    def __init__(
        self,
        assignment: Assignment,
        clock: DatabaseClock,
        in_hand: InHand,
        *,
        known_gates: KnownGates,
        capabilities: Capabilities,
        circuits: Circuits,
        known_settings: KnownSettings,
        ahead: float,
    ) -> None:
        self._assignment, self._clock, self._in_hand = assignment, clock, in_hand
        self.known_gates, self._capabilities = known_gates, capabilities
        self._circuits, self._known_settings = circuits, known_settings
        self._ahead = ahead
        self.holding: dict[str, GateTimer] = {}
        self.counts = GateCounts()
        self.has_news: Signal[[]] = Signal()
        self.admits_most = False
        """Whether most rows of the last claim had an ordering key or had to pass a gate."""

    @property
    def clients_held(self) -> tuple[str, ...]:
        """The clients whose gates hold executions."""
        return tuple(name.removeprefix(CLIENT) for name in self.holding if name.startswith(CLIENT))

    async def admit(self, connection: Connection, rows: list[ClaimedExecution]) -> list[ClaimedExecution]:
        """Returns the rows of a claim that may start within the look-ahead, each with the instant of its start. Holds
        the other rows, in the claim's transaction."""
        self.admits_most = False
        if not self.known_gates.names and all(row.ordering_key is None for row in rows):
            return rows
        held = await self.queue_up(connection, rows)
        held |= self.undeliverable(rows, held)
        wanted = self.gates_of(row for row in rows if row.id not in held)
        for id, names in wanted.items():
            if holding := [name for name in names if name in self.holding]:
                held[id] = min(holding, key=self.known_gates.width)
        admitted = sum(row.ordering_key is not None or row.id in wanted or row.id in held for row in rows)
        self.admits_most = 2 * admitted > len(rows)
        if not wanted and not held:
            return rows
        return await self.let_pass(connection, rows, wanted, held, await self.lock(connection, wanted, held))

    async def queue_up(self, connection: Connection, rows: list[ClaimedExecution]) -> dict[bytes, str]:
        """Returns the rows whose turn under their ordering key has not come, each with the gate at which it waits.
        Postpones rows for which a lock prevents the decision."""
        ordered = [row for row in rows if row.ordering_key is not None]
        if not ordered:
            return {}
        turns = await ordering.whose_turn(connection, ordered)
        if turns.undecided:
            await self._put_off(connection, turns.undecided)
        return {row.id: ORDER for row in ordered if row.id not in turns.heads}

    async def _put_off(self, connection: Connection, rows: list[ClaimedExecution]) -> None:
        """Postpones rows beyond the look-ahead: the longer a row is overdue, the longer it is postponed. These rows are
        no longer leased, so they are not held at a gate."""
        now, partitions = self._clock.now(), defaultdict[int, list[PostponedRow]](list)
        for row in rows:
            overdue = (now - row.start) / 1e6
            seconds = self._ahead + min(max(overdue / 2, _SOON), LATEST)
            partitions[row.partition].append(PostponedRow(row.id, row.token, seconds, _UNDECIDED))
        for partition, some in partitions.items():
            await postpone(connection, partition, some)

    def undeliverable(self, rows: Iterable[ClaimedExecution], held: Mapping[bytes, str]) -> dict[bytes, str]:
        """Returns the rows that this worker cannot deliver, with the gate at which each waits for another worker."""
        found: dict[bytes, str] = {}
        for row in rows:
            if row.id not in held and (gate := self._capabilities.gate_of(row.target)) and not self._is_late(row):
                found[row.id] = gate
                self._capabilities.note_held(gate)
        return found

    def gates_of(self, rows: Iterable[ClaimedExecution]) -> dict[bytes, list[str]]:
        return {row.id: names for row in rows if (names := self.known_gates.gates_of(row)) and not self._is_late(row)}

    def _is_late(self, row: ClaimedExecution) -> bool:
        """Whether it is too late to call the row's target."""
        try:
            options = self._known_settings.options_of(row)
        except InvalidInput:
            return False
        return is_late(options, row.attempt, self._clock.age(row.start))

    async def lock(
        self, connection: Connection, wanted: dict[bytes, list[str]], held: dict[bytes, str]
    ) -> dict[str, Gate]:
        """Locks and returns the gates of rows that are not held. If another transaction has locked a gate, holds the
        gate's rows there, so that an operator's open transaction delays no other rows."""
        names = {name for id, gates in wanted.items() if id not in held for name in gates}
        if not names:
            return {}
        locked = await gates.lock(connection, names, worker=self._assignment.number)
        for id, on_the_way in wanted.items() if locked.busy else ():
            busy = locked.busy.intersection(on_the_way)
            if busy and id not in held:
                held[id] = min(busy, key=self.known_gates.width)
        for name in locked.busy:
            self.holding.setdefault(name, GateTimer()).due = time.monotonic() + LATEST
        return self._with_own(locked.gates)

    async def read(self, connection: Connection, names: Iterable[str]) -> dict[str, Gate]:
        """Reads gates without locking them."""
        return self._with_own(await gates.read(connection, names, worker=self._assignment.number))

    def _with_own(self, found: dict[str, Gate]) -> dict[str, Gate]:
        for gate in found.values():  # the gates that were read leave out this worker's own count
            gate.running += self.counts.running[gate.name]
        return found

    async def let_pass(
        self,
        connection: Connection,
        rows: list[ClaimedExecution],
        wanted: dict[bytes, list[str]],
        held: dict[bytes, str],
        locked: dict[str, Gate],
    ) -> list[ClaimedExecution]:
        passing = [row for row in rows if row.id not in held and row.id not in wanted]
        gated = [row for row in rows if row.id not in held and row.id in wanted]
        now = self._clock.now()
        on_the_way = [[locked[name] for name in wanted[row.id] if name in locked] for row in gated]
        later = list[ClaimedExecution]()
        given = appoint([(row.fire_at, gates) for row, gates in zip(gated, on_the_way, strict=True)], now)
        for row, appointment in zip(gated, given, strict=True):
            if appointment.behind is None:
                for name in appointment.probes:
                    self._circuits.sent(row.id, name)
                    self._in_hand.announced.add(row.id)
                passing.append(row._replace(fire_at=appointment.start))
                if appointment.start > max(row.fire_at, now):
                    later.append(passing[-1])
            else:
                held[row.id] = appointment.behind.name
                self._hold_at(appointment.behind.name, appointment, now)
        await self._write(connection, rows, held, locked)
        await gates.appoint(connection, later)
        self._count(passing, wanted)
        return passing

    def _hold_at(self, name: str, appointment: Appointment, now: int) -> None:
        if name not in self.holding:
            held = self.holding[name] = GateTimer()
            ahead = JUST_IN_TIME if appointment.idle else AHEAD
            held.due = from_now(held.look_at(appointment.start, ahead) - now, LATEST)
        if appointment.idle:
            self.holding[name].note_idle(appointment.idle)
        self.has_news()

    async def _write(
        self, connection: Connection, rows: Sequence[ClaimedExecution], held: dict[bytes, str], locked: dict[str, Gate]
    ) -> None:
        await gates.note_draws(connection, locked.values())
        counting = [name for name, gate in locked.items() if gate.drawn and name in self.known_gates.counting]
        if counting:
            own = {name: self.counts.running[name] + locked[name].drawn for name in counting}
            await gates.note_use(connection, self._assignment.number, own)
        if held:
            await gates.hold(connection, [(row, held[row.id]) for row in rows if row.id in held])

    def _count(self, passing: Sequence[ClaimedExecution], wanted: dict[bytes, list[str]]) -> None:
        for row in passing:
            counting = [name for name in wanted.get(row.id, ()) if name in self.known_gates.counting]
            self.counts.add(row.id, counting)
            if counting:
                self._in_hand.announced.add(row.id)

    def left(self, ids: Iterable[bytes]) -> None:
        """Stops counting executions that are no longer in hand."""
        for id in ids:
            for name in self.counts.take(id):
                if name in self.holding:
                    self.holding[name].due = 0.0
        if self.counts.changed:
            self.has_news()


def from_now(microseconds: int, latest: float) -> float:
    """Converts ``microseconds`` from now to monotonic time, between ``SOONEST`` and ``latest`` seconds ahead."""
    return time.monotonic() + min(max(microseconds / 1e6, SOONEST), latest)
