"""Claims executions from gates that have room, and delivers these executions or moves them to a wider gate.

An execution that may not pass when it is claimed is held: it moves from the index that claims read to an index of held
executions, and is claimed from there when there is room. So neither claims nor turns of this service read rows that a
limit holds back, however many there are. No execution overtakes the executions that a gate holds: later executions
queue up behind them, even those from a narrower gate. So an execution with several gates waits at the narrowest gate
first and at the widest last. It counts at all its gates when it passes the last one.

While a client's gate holds executions, claims skip the client's rows. This service holds the client's due rows in
batches, in a limited share of its time.
"""

import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial

from pgsched.domain.capability import is_table_gate
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.gate import Gate
from pgsched.domain.gate_appointments import AHEAD
from pgsched.service import DutyCycle
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.culprits import by_halves, is_of_a_row
from pgsched.store.ends.completed_later import with_own_tokens
from pgsched.store.gates import gates
from pgsched.store.live import claim_culprits
from pgsched.store.live.executions import Lease
from pgsched.worker.claiming_connection import Claiming, ClaimingConnection
from pgsched.worker.gates.admission import LATEST, SOONEST, Admission, from_now
from pgsched.worker.gates.capabilities import Capabilities
from pgsched.worker.gates.gate_timers import GateTimer, Round
from pgsched.worker.run.dispatcher import Dispatcher

_MOST_HOLDING = 1_000
_LOOK_EVERY = 0.5
_READ_EVERY = 10.0
_TIDIED = 50  # maximum number of rows that one turn holds
_TIDYING_ONE_IN = 40
_MOST_FED = 500
_TRY_AGAIN = 0.2


class GateClaimer(Claiming):
    """Claims from the gates that hold executions, and holds due rows that claims skip."""

    name = "gate_claimer"

    def __init__(
        self,
        leases: ClaimingConnection,
        dispatcher: Dispatcher,
        chores: Link,
        *,
        admission: Admission,
        capabilities: Capabilities,
    ) -> None:
        super().__init__(leases, chores)
        self._dispatcher, self._chores = dispatcher, chores
        self._admission, self._capabilities = admission, capabilities
        self._seen: set[str] = set()
        self._seen_to = ""
        self._read_at = self._looked_at = self._recounted_at = float("-inf")
        self._tidying = DutyCycle(_TIDYING_ONE_IN)
        self._round = Round()

    def look(self) -> None:
        """Reads the gates again, because a gate was created, changed or dropped."""
        self._read_at = float("-inf")
        for held in self._admission.holding.values():
            held.due = 0.0
        self.wake()

    def feed_from(self, names: Iterable[str]) -> None:
        """Also claims from these gates, which have no row in the table of gates and hold executions that this worker
        can deliver."""
        for name in names:
            self._admission.holding.setdefault(name, GateTimer())
        self.wake()

    async def turn(self) -> float:
        await self._read_book()
        if time.monotonic() - self._looked_at >= (_LOOK_EVERY if self._admission.known_gates.names else _READ_EVERY):
            await self._look_on()
        if not self._admission.known_gates.names and not self._admission.holding:
            return _READ_EVERY
        if not self._clock.known:
            return _TRY_AGAIN
        await self.leases.give_back()
        await self._note_left()
        for name, held in sorted(self._admission.holding.items(), key=lambda item: item[1].due):
            await self._read_book()  # a turn with many gates takes long, and a gate may be shut in the meantime
            if held.due <= time.monotonic() and self._dispatcher.free_for_held:
                await self._feed_on(name, held)
        await self._tidy()
        return self._pause()

    async def _read_book(self) -> None:
        if time.monotonic() - self._read_at < _READ_EVERY:
            return
        known_gates = self._admission.known_gates
        stricter = known_gates.read(await gates.known_gates(await self._chores.get()))
        self._read_at = time.monotonic()
        if stricter:  # hand back rows that are already claimed, so that the next claim checks them
            self._dispatcher.unbegun.recall(lambda row: not stricter.isdisjoint(known_gates.gates_of(row)))
        for held in self._admission.holding.values():
            held.doubt()
        self._recount()

    async def _look_on(self) -> None:
        """Reads the next thousand gates that hold executions. When all have been read, forgets other gates."""
        found = await gates.holding(await self._chores.get(), after=self._seen_to, most=_MOST_HOLDING)
        self._seen.update(found)
        if len(found) == _MOST_HOLDING:
            self._seen_to = found[-1]
            found = [*self._admission.holding, *self._seen]
        else:
            found, self._seen, self._seen_to = [*self._seen], set(), ""
        found = [*filter(is_table_gate, found), *self._capabilities.holding]
        self._admission.holding = {name: self._admission.holding.get(name) or GateTimer() for name in found}
        self._looked_at = time.monotonic()

    def _recount(self) -> None:
        if time.monotonic() - self._recounted_at >= _READ_EVERY:
            self._recounted_at = time.monotonic()
            strays = self._admission.counts.strays(self._dispatcher.in_hand.rows.keys())
            self._dispatcher.in_hand.announced -= strays
            self._admission.left(strays)

    async def _note_left(self) -> None:
        changed, self._admission.counts.changed = self._admission.counts.changed, set()
        if changed:
            connection = await self._link.get()
            parted = await by_halves(sorted(changed), partial(self._note_use, connection))
            self._admission.counts.changed.update(
                parted.untried, [culprit.row for culprit in parted.culprits]
            )  # for the next turn

    async def _note_use(self, connection: Connection, names: Sequence[str]) -> None:
        async with connection.transaction():  # a claim that has locked a gate writes the count before it unlocks it
            busy = (await gates.lock(connection, names, worker=self._assignment.number)).busy
            use = {name: self._admission.counts.running[name] for name in names if name not in busy}
            await gates.note_use(connection, self._assignment.number, use)
        self._admission.counts.changed |= busy

    async def _feed_on(self, name: str, here: GateTimer) -> None:
        """Claims from a gate. If a row makes the claim fail, sets it aside, and the next turn claims without it."""
        try:
            await self._feed(name, here)
        except Exception as error:
            if not is_of_a_row(error):
                raise
            here.due = time.monotonic() + _TRY_AGAIN
            await self.leases.give_back()
            connection, lease = await self._link.get(), self.leases.ask(timedelta(0))
            parked = await claim_culprits.sift_held(
                connection,
                lease,
                name,
                self._assignment.open,
                batch=_MOST_FED,
                attempt=partial(self._try_out, connection),
            )
            self.leases.answered(lease)
            self.leases.tell(parked)

    async def _try_out(self, connection: Connection, rows: list[ClaimedExecution]) -> None:
        """Performs the steps of a claim for these rows, in a transaction that is rolled back."""
        await self._admission.queue_up(connection, rows)
        self._admission.gates_of(rows)
        await with_own_tokens(connection, rows)

    async def _feed(self, name: str, here: GateTimer) -> None:
        """Claims as many rows as a gate has room for. The rows pass, or wait at a wider gate that holds other rows."""
        connection = await self._link.get()
        lease = self.leases.ask(timedelta(0))
        async with connection.transaction():
            if not self._assignment.number or not await gates.try_feeding(connection, name):
                self.leases.answered(lease)
                here.due = time.monotonic() + _TRY_AGAIN
                return
            gate, ahead, room = await self._room_at(connection, name, here)
            batch = room if gate.is_probing else min(room * here.spare, _MOST_FED)
            rows = await self._claim_held(connection, lease, name, batch) if batch else []
            held = await self._admission.queue_up(connection, rows)
            held |= self._admission.undeliverable(rows, held)
            wanted = self._admission.gates_of(row for row in rows if row.id not in held)
            moved = {} if gate.is_probing else self._moved_on(name, wanted)
            held |= moved
            soon_eligible = await self._count_soon_eligible(connection, moved)
            locked = await self._admission.lock(connection, wanted, held)
            passing = await self._admission.let_pass(connection, rows, wanted, held, locked)
            passing = await with_own_tokens(connection, passing)
        self.leases.answered(lease, rows if batch else None)
        self._dispatcher.submit(passing, lease.sure_until)
        if len(rows) < batch and name not in held.values():
            self._admission.holding.pop(name, None)
            return
        elsewhere = sum(other != name for other in held.values()) - soon_eligible
        here.record_feed_result(passed=len(passing), moved=soon_eligible, elsewhere=elsewhere)
        here.due = self._due_after(locked.get(name, gate), here, ahead)
        if soon_eligible and (soon_eligible >= room or not elsewhere):
            # The moved rows count at this gate when they pass the wider gate.
            here.due = max(here.due, from_now(AHEAD // 2, LATEST))
        elif gate.is_probing and not passing:
            here.due = max(here.due, from_now(AHEAD, LATEST))
        elif name in held.values() and name not in locked:  # another transaction has locked this gate
            here.due = max(here.due, time.monotonic() + _TRY_AGAIN)

    async def _claim_held(self, connection: Connection, lease: Lease, name: str, batch: int) -> list[ClaimedExecution]:
        """Claims rows behind a gate, except those that this worker leaves to other workers."""
        left = self._capabilities.left_in(self._assignment.open)
        return await gates.claim_held(connection, lease, name, self._assignment.open, batch=batch, left=left)

    def _due_after(self, gate: Gate, here: GateTimer, ahead: int) -> float:
        now = self._clock.now()
        latest = _READ_EVERY if gate.concurrency is None or gate.shut_until is not None else LATEST
        return from_now(here.look_at(gate.earliest(now), ahead) - now, latest)

    async def _count_soon_eligible(self, connection: Connection, moved: dict[bytes, str]) -> int:
        """Returns the number of moved rows whose new gate lets rows pass soon."""
        if not moved:
            return 0
        soon = self._clock.now() + 2 * AHEAD
        found = await self._admission.read(connection, set(moved.values()))
        return sum(name not in found or found[name].earliest(soon) <= soon for name in moved.values())

    def _moved_on(self, name: str, wanted: dict[bytes, list[str]]) -> dict[bytes, str]:
        """Returns the rows that must queue up at a wider gate that holds executions, each with that gate's name."""
        width = self._admission.known_gates.width
        wider = {other for other in self._admission.holding if width(other) > width(name)}
        if not wider:
            return {}
        found = {id: [other for other in names if other in wider] for id, names in wanted.items()}
        return {id: min(others, key=width) for id, others in found.items() if others}

    async def _room_at(self, connection: Connection, name: str, here: GateTimer) -> tuple[Gate, int, int]:
        """Returns the gate's state, the microseconds by which to claim ahead, and the number of rows that the gate may
        let pass in that time."""
        found = await self._admission.read(connection, [name, *here.beside])
        gate = found.pop(name, None) or Gate(name=name, running=self._admission.counts.running[name])
        now = self._clock.now()
        ahead = here.ahead(found.values(), now)
        return gate, ahead, gate.room(min(self._dispatcher.free_for_held, _MOST_FED), now=now, last=now + ahead)

    async def _tidy(self) -> None:
        """Holds due rows of the clients that claims skip."""
        clients = self._admission.clients_held
        own = self._assignment.own
        if not clients or not own or not self._tidying.is_due:
            return
        async with self._tidying.work_on(self._link) as connection:
            await self._round.work_off(own, _TIDIED, partial(gates.hold_due, connection, clients=clients))

    def _pause(self) -> float:
        now = time.monotonic()
        until = min([self._looked_at + _LOOK_EVERY, *(held.due for held in self._admission.holding.values())]) - now
        return max(min(until, self._tidying.pause) if self._admission.clients_held else until, SOONEST)
