"""Lets executions pass the gates, holds the others back, and feeds them on when there is room.

An execution that may not pass when it is claimed is held once: it leaves the instants that claims read, and waits
behind its gate in an index of its own. From there it is claimed when there is room for it, so neither a claim nor a
turn reads what a limit holds back, however much that is. A gate that holds something back is passed by nobody else: who
comes later queues up behind, also who comes from a narrower gate. So one that must pass several waits at the narrowest
first, and last at the widest, from where it draws on all of them.

Where a client's gate holds back, claims pass the client's rows over, and turns of this service hold those that are
due, by the batch, in a share of its time.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial

from pgsched.domain.capability import is_table_gate
from pgsched.domain.execution import Execution
from pgsched.domain.gate import CLIENT, ORDER, Gate
from pgsched.domain.passing import AHEAD, JUST_IN_TIME, Appointment, appoint
from pgsched.events import Events
from pgsched.service import DutyCycle, Service
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.isolation import by_halves, is_of_a_row
from pgsched.store.ends.deferred import with_own_tokens
from pgsched.store.gates import gates, ordering
from pgsched.store.live import careful
from pgsched.store.live.executions import Lease
from pgsched.worker.claim.leases import Leases
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.gates.book import Book
from pgsched.worker.gates.capabilities import Capabilities
from pgsched.worker.gates.circuits import Circuits
from pgsched.worker.gates.held import Held
from pgsched.worker.gates.tally import Tally
from pgsched.worker.roster import Roster
from pgsched.worker.run.dispatcher import Dispatcher
from pgsched.worker.run.terms import Terms

_MOST_HOLDING = 1_000
_LOOK_EVERY = 0.5
_READ_EVERY = 10.0
_TIDIED = 50  # rows held by one turn
_TIDYING_ONE_IN = 40
_SOONEST, _LATEST = 0.01, 0.5
_MOST_FED = 500
_TRY_AGAIN = 0.2


class Gatekeeper(Service):
    """``admit`` is part of a claim's transaction; a turn feeds on what the gates hold."""

    name = "gatekeeper"

    def __init__(
        self,
        chores: Link,
        leases: Leases,
        roster: Roster,
        dispatcher: Dispatcher,
        clock: DatabaseClock,
        events: Events,
        *,
        book: Book,
        capabilities: Capabilities,
        circuits: Circuits,
        terms: Terms,
    ) -> None:
        super().__init__(events, leases.link, chores)
        self._chores, self.leases, self._link = chores, leases, leases.link
        self._roster, self._dispatcher, self._clock = roster, dispatcher, clock
        self.book, self._capabilities, self._circuits, self._terms = book, capabilities, circuits, terms
        self._holding: dict[str, Held] = {}
        self._seen: set[str] = set()
        self._seen_to = ""
        self._tally = Tally()
        self._read_at = self._looked_at = self._recounted_at = float("-inf")
        self._tidying = DutyCycle(_TIDYING_ONE_IN)
        self._partition = 0
        self.loaded = False
        self.admitted = 0
        """How many rows the last claim had of which it had to be looked at whether they may pass."""

    @property
    def is_needed(self) -> bool:
        """Whether there is any gate."""
        return bool(self.book.names)

    @property
    def passed_over(self) -> tuple[str, ...]:
        """The clients whose due one-shots claims leave alone."""
        return tuple(name.removeprefix(CLIENT) for name in self._holding if name.startswith(CLIENT))

    def look(self) -> None:
        """Gates were made, changed or dropped."""
        self._read_at = float("-inf")
        for held in self._holding.values():
            held.due = 0.0
        self.wake()

    def feed_from(self, names: Iterable[str]) -> None:
        """These gates, which are not of the table, hold executions back that this worker can deliver."""
        for name in names:
            self._holding.setdefault(name, Held())
        self.wake()

    async def admit(self, connection: Connection, rows: list[Execution]) -> list[Execution]:
        """Those of a claim's rows that start now or within the look-ahead, each with the instant at which it may. The
        others are held, in the claim's transaction."""
        self.admitted = 0
        if not self.book.names and all(row.ordering_key is None for row in rows):
            return rows
        self.admitted = len(rows)
        held = await self._queue_up(connection, rows)
        held |= self._undeliverable(rows, held)
        wanted = self._gates_of(row for row in rows if row.id not in held)
        for id, names in wanted.items():
            if holding := [name for name in names if name in self._holding]:
                held[id] = min(holding, key=self.book.width)
        if not wanted and not held:
            return rows
        return await self._pass(connection, rows, wanted, held, await self._lock(connection, wanted, held))

    async def _queue_up(self, connection: Connection, rows: list[Execution]) -> dict[bytes, str]:
        """Those whose turn it is not."""
        ordered = [row for row in rows if row.ordering_key is not None]
        heads = await ordering.whose_turn(connection, ordered) if ordered else set()
        return {row.id: ORDER for row in ordered if row.id not in heads}

    def _undeliverable(self, rows: Iterable[Execution], held: Mapping[bytes, str]) -> dict[bytes, str]:
        """Those that this worker cannot deliver."""
        found: dict[bytes, str] = {}
        for row in rows:
            if row.id not in held and (gate := self._capabilities.gate_of(row.target)) and not self._terms.is_late(row):
                found[row.id] = gate
                self._capabilities.note_held(gate)
        return found

    def _gates_of(self, rows: Iterable[Execution]) -> dict[bytes, list[str]]:
        return {row.id: names for row in rows if (names := self.book.gates_of(row)) and not self._terms.is_late(row)}

    async def _lock(
        self, connection: Connection, wanted: dict[bytes, list[str]], held: dict[bytes, str]
    ) -> dict[str, Gate]:
        names = {name for id, gates in wanted.items() if id not in held for name in gates}
        return await self._read(connection, names) if names else {}

    async def _read(self, connection: Connection, names: Iterable[str], *, lock: bool = True) -> dict[str, Gate]:
        found = await gates.read(connection, [*names], worker=self._roster.number, lock=lock)
        for gate in found.values():  # as it is now that the lock is there
            gate.running += self._tally.running[gate.name]
        return found

    async def _pass(
        self,
        connection: Connection,
        rows: list[Execution],
        wanted: dict[bytes, list[str]],
        held: dict[bytes, str],
        locked: dict[str, Gate],
    ) -> list[Execution]:
        passing = [row for row in rows if row.id not in held and row.id not in wanted]
        gated = [row for row in rows if row.id not in held and row.id in wanted]
        now = self._clock.now()
        on_the_way = [[locked[name] for name in wanted[row.id] if name in locked] for row in gated]
        given = appoint([(row.fire_at, gates) for row, gates in zip(gated, on_the_way, strict=True)], now)
        for row, appointment in zip(gated, given, strict=True):
            if appointment.behind is None:
                for name in appointment.probes:
                    self._circuits.sent(row.id, name)
                passing.append(row._replace(fire_at=appointment.start))
            else:
                held[row.id] = appointment.behind.name
                self._hold_at(appointment.behind.name, appointment, now)
        await self._write(connection, rows, held, locked)
        self._count(passing, wanted)
        return passing

    def _hold_at(self, name: str, appointment: Appointment, now: int) -> None:
        if name not in self._holding:
            held = self._holding[name] = Held()
            ahead = JUST_IN_TIME if appointment.idle else AHEAD
            held.due = _from_now(held.look_at(appointment.start, ahead) - now, _LATEST)
        if appointment.idle:
            self._holding[name].note_idle(appointment.idle)
        self.wake()

    async def _write(
        self, connection: Connection, rows: Sequence[Execution], held: dict[bytes, str], locked: dict[str, Gate]
    ) -> None:
        await gates.note_draws(connection, locked.values())
        counting = [name for name, gate in locked.items() if gate.drawn and name in self.book.counting]
        if counting:
            own = {name: self._tally.running[name] + locked[name].drawn for name in counting}
            await gates.note_use(connection, self._roster.number, own)
        if held:
            await gates.hold(connection, [(row, held[row.id]) for row in rows if row.id in held])

    def _count(self, passing: Sequence[Execution], wanted: dict[bytes, list[str]]) -> None:
        for row in passing:
            self._tally.add(row.id, [name for name in wanted.get(row.id, ()) if name in self.book.counting])

    def left(self, ids: Iterable[bytes]) -> None:
        """Executions are out of this process's hands."""
        if not self._tally:
            return
        for id in ids:
            for name in self._tally.take(id):
                if name in self._holding:
                    self._holding[name].due = 0.0
        if self._tally.changed:
            self.wake()

    async def turn(self) -> float:
        await self._read_book()
        if time.monotonic() - self._looked_at >= (_LOOK_EVERY if self.is_needed else _READ_EVERY):
            await self._look_on()
        if not self.is_needed and not self._holding:
            return _READ_EVERY
        if not self._clock.known:
            return _TRY_AGAIN
        await self.leases.give_back()
        await self._note_left()
        for name, held in sorted(self._holding.items(), key=lambda item: item[1].due):
            if held.due <= time.monotonic() and self._dispatcher.free_for_held:
                await self._feed_on(name, held)
        await self._tidy()
        return self._pause()

    async def keep_up(self) -> None:
        """For whoever admits executions without being fed on from gates: knows the gates, and what has left."""
        await self._read_book()
        self._holding.clear()
        await self._note_left()

    async def _read_book(self) -> None:
        if time.monotonic() - self._read_at < _READ_EVERY:
            return
        self.book.read(await gates.standing(await self._chores.get()))
        self._read_at = time.monotonic()
        self.loaded = True
        for held in self._holding.values():
            held.doubt()
        self._recount()

    async def _look_on(self) -> None:
        """Looks which gates hold something, the next thousand at a time: one is forgotten when all have been seen."""
        found = await gates.holding(await self._chores.get(), after=self._seen_to, most=_MOST_HOLDING)
        self._seen.update(found)
        if len(found) == _MOST_HOLDING:
            self._seen_to = found[-1]
            found = [*self._holding, *self._seen]
        else:
            found, self._seen, self._seen_to = [*self._seen], set(), ""
        found = [*filter(is_table_gate, found), *self._capabilities.holding]
        self._holding = {name: self._holding.get(name) or Held() for name in found}
        self._looked_at = time.monotonic()

    def _recount(self) -> None:
        if time.monotonic() - self._recounted_at >= _READ_EVERY:
            self._recounted_at = time.monotonic()
            self.left(self._tally.strays(self._dispatcher.in_hand.rows.keys()))

    async def _note_left(self) -> None:
        changed, self._tally.changed = self._tally.changed, set()
        if changed:
            connection = await self._link.get()
            parted = await by_halves(sorted(changed), partial(self._note_use, connection))
            self._tally.changed.update(
                parted.untried, [culprit.row for culprit in parted.culprits]
            )  # for the next turn

    async def _note_use(self, connection: Connection, names: Sequence[str]) -> None:
        async with connection.transaction():  # a claim that holds one of them has counted when it lets go of it
            await gates.read(connection, names, worker=self._roster.number)
            use = {name: self._tally.running[name] for name in names}
            await gates.note_use(connection, self._roster.number, use)

    async def _feed_on(self, name: str, here: Held) -> None:
        """Feeds on from a gate, where a row is at fault without it: the next turn does."""
        try:
            await self._feed(name, here)
        except Exception as error:
            if not is_of_a_row(error):
                raise
            here.due = time.monotonic() + _TRY_AGAIN
            await self.leases.give_back()
            connection, lease = await self._link.get(), self.leases.ask(timedelta(0))
            parked = await careful.sift_held(
                connection, lease, name, self._roster.open, batch=_MOST_FED, attempt=partial(self._try_out, connection)
            )
            self.leases.answered(lease)
            self.leases.tell(parked)

    async def _try_out(self, connection: Connection, rows: list[Execution]) -> None:
        """What a feed asks of rows, in a transaction that is undone."""
        await self._queue_up(connection, rows)
        self._gates_of(rows)
        await with_own_tokens(connection, rows)

    async def _feed(self, name: str, here: Held) -> None:
        """Claims what a gate has room for, and lets it pass, or wait at a wider gate that holds others back."""
        connection = await self._link.get()
        lease = self.leases.ask(timedelta(0))
        async with connection.transaction():
            if not self._roster.number or not await gates.try_feeding(connection, name):
                self.leases.answered(lease)
                here.due = time.monotonic() + _TRY_AGAIN
                return
            gate, ahead, room = await self._room_at(connection, name, here)
            batch = room if gate.is_probing else min(room * here.spare, _MOST_FED)
            rows = await self._claim_held(connection, lease, name, batch) if batch else []
            held = await self._queue_up(connection, rows)
            held |= self._undeliverable(rows, held)
            wanted = self._gates_of(row for row in rows if row.id not in held)
            moved = {} if gate.is_probing else self._moved_on(name, wanted)
            held |= moved
            lively = await self._lively(connection, moved)
            locked = await self._lock(connection, wanted, held)
            passing = await self._pass(connection, rows, wanted, held, locked)
            passing = await with_own_tokens(connection, passing)
        self.leases.answered(lease, rows if batch else None)
        self._dispatcher.submit(passing, lease.sure_until)
        if len(rows) < batch and name not in held.values():
            self._holding.pop(name, None)
            return
        elsewhere = sum(other != name for other in held.values()) - lively
        here.note_sorted(passed=len(passing), moved=lively, elsewhere=elsewhere)
        here.due = self._due_after(locked.get(name, gate), here, ahead)
        if lively and (lively >= room or not elsewhere):  # they draw on this gate only when they pass the other
            here.due = max(here.due, _from_now(AHEAD // 2, _LATEST))
        elif gate.is_probing and not passing:
            here.due = max(here.due, _from_now(AHEAD, _LATEST))

    async def _claim_held(self, connection: Connection, lease: Lease, name: str, batch: int) -> list[Execution]:
        """Without what this worker leaves to others, who feed from the gate as well."""
        left = self._capabilities.left_in(self._roster.open)
        return await gates.claim_held(connection, lease, name, self._roster.open, batch=batch, left=left)

    def _due_after(self, gate: Gate, here: Held, ahead: int) -> float:
        now = self._clock.now()
        latest = _READ_EVERY if gate.concurrency is None or gate.shut_until is not None else _LATEST
        return _from_now(here.look_at(gate.earliest(now), ahead) - now, latest)

    async def _lively(self, connection: Connection, moved: dict[bytes, str]) -> int:
        """How many of these queue up at a gate that lets some pass soon."""
        if not moved:
            return 0
        soon = self._clock.now() + 2 * AHEAD
        found = await self._read(connection, set(moved.values()), lock=False)
        return sum(name not in found or found[name].earliest(soon) <= soon for name in moved.values())

    def _moved_on(self, name: str, wanted: dict[bytes, list[str]]) -> dict[bytes, str]:
        """Those that queue up at the next wider gate on their way that holds something back."""
        width = self.book.width
        wider = {other for other in self._holding if width(other) > width(name)}
        if not wider:
            return {}
        found = {id: [other for other in names if other in wider] for id, names in wanted.items()}
        return {id: min(others, key=width) for id, others in found.items() if others}

    async def _room_at(self, connection: Connection, name: str, here: Held) -> tuple[Gate, int, int]:
        """How a gate stands, how far ahead it is fed on from, and how many it may let pass until then."""
        found = await self._read(connection, [name, *here.beside], lock=False)
        gate = found.pop(name, None) or Gate(name=name, running=self._tally.running[name])
        now = self._clock.now()
        ahead = here.ahead(found.values(), now)
        return gate, ahead, gate.room(min(self._dispatcher.free_for_held, _MOST_FED), now=now, last=now + ahead)

    async def _tidy(self) -> None:
        """Holds due rows of clients that claims pass over."""
        clients = self.passed_over
        own = self._roster.own
        if not clients or not own or not self._tidying.is_due:
            return
        with self._tidying.work():
            connection = await self._link.get()
            left = _TIDIED
            for _ in own:
                self._partition = (self._partition + 1) % len(own)
                left -= await gates.hold_due(connection, own[self._partition], clients, batch=left)
                if left <= 0:
                    break

    def _pause(self) -> float:
        now = time.monotonic()
        until = min([self._looked_at + _LOOK_EVERY, *(held.due for held in self._holding.values())]) - now
        return max(min(until, self._tidying.pause) if self.passed_over else until, _SOONEST)


def _from_now(microseconds: int, latest: float) -> float:
    """The moment (monotonic) so long from now: soon at least, and within ``latest`` seconds."""
    return time.monotonic() + min(max(microseconds / 1e6, _SOONEST), latest)
