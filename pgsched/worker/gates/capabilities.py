"""Tracks what this worker and the other workers can deliver, to decide which rows this worker claims.

Each worker declares its capabilities (``domain.capability``) in ``pgsched.workers``, and reads the other running
workers' capabilities there. Its claims skip rows that only other workers can deliver. If no worker can deliver a row,
any worker claims it and holds it behind a gate for the capability (``worker:python:send_email``). When a worker with
the capability starts, it claims the row from there. A worker that does not know a new worker yet may also hold rows
that the new worker could deliver. This delays such rows a little, but uses up no attempt.

If there are many due rows that no worker can deliver, claims do not hold these rows one by one, but skip them. This
service then holds the rows, in a limited share of the time.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pgsched.domain.capability import SQL, WORKER, left_to_others, needs
from pgsched.domain.queue_partitions import queue_of
from pgsched.service import DutyCycle, Service, Signal
from pgsched.store.admin import worker_registry
from pgsched.store.admin.worker_registry import RegisteredWorker
from pgsched.store.core.connect import Connection, Link
from pgsched.store.gates import gates
from pgsched.telemetry import Events
from pgsched.worker.assignment import Assignment
from pgsched.worker.gates.gate_timers import Round

_EVERY, _NOT_YET = 1.0, 0.1
_LOOK_EVERY, _LOOK_SELDOM = 2.0, 10.0
_UNTIL_KNOWN = 4.0  # seconds within which all workers notice a change among the workers
_MANY = 50  # if a turn misses a capability this many times, claims skip the capability's rows
_MOST_MISSED = 16
_READ_PAST_FOR = 5.0
_HELD_AT_ONCE, _HOLDING_ONE_IN, _SOONEST = 500, 10, 0.1


class Capabilities(Service):
    """The capabilities of all workers. The function ``mine`` returns this worker's current capabilities; the
    application may register more handlers later.

    The signal ``changed`` means that claims must now leave different rows to other workers. The signal ``found`` passes
    the gates that hold executions that this worker can deliver.
    """

    name = "capabilities"

    def __init__(
        self, link: Link, events: Events, assignment: Assignment, *, mine: Callable[[], frozenset[str]]
    ) -> None:
        super().__init__(events, link)
        self._link, self._own_ones, self._assignment = link, mine, assignment
        self.changed: Signal[[]] = Signal()
        self.found: Signal[[Sequence[str]]] = Signal()
        self.mine = mine()
        """The capabilities of this worker at the last turn."""
        self.known = False
        """Whether the other workers' capabilities are known."""
        self.left: Mapping[int, tuple[str, ...]] = {}
        """The capabilities that this worker leaves to others, by queue number."""
        self.missed: tuple[str, ...] = ()
        """The capabilities that many due rows need but no worker has."""
        self.holding: tuple[str, ...] = ()
        """The gates that hold executions that this worker can deliver."""
        self._declared: tuple[int, frozenset[str]] = (0, frozenset())
        self._misses: Counter[str] = Counter()
        self._read_past_until: dict[str, float] = {}
        self._looked_at = self._changed_at = float("-inf")
        self._holding_due = DutyCycle(_HOLDING_ONE_IN, every=_SOONEST)
        self._others: dict[int, frozenset[str]] = {}
        self._round = Round()

    def gate_of(self, target: str) -> str | None:
        """Returns the gate at which executions for this target wait, or None if this worker can deliver them."""
        needed = needs(target)
        # For SQL, this depends on the client: any worker can make calls for a client that has a database role.
        return None if needed is None or needed == SQL or needed in self.mine else WORKER + needed

    def note_others(self, alive: Sequence[RegisteredWorker], number: int) -> None:
        """Takes the capabilities of the running workers."""
        peers: dict[int, list[frozenset[str]]] = {}
        for worker in alive:
            if worker.id != number and not (worker.gone or worker.lost or worker.draining):
                for first in worker.served:
                    peers.setdefault(queue_of(first), []).append(frozenset(worker.delivers))
        others = {worker.id: frozenset(worker.delivers) for worker in alive if not worker.gone}
        if others != self._others:
            self._others, self._changed_at = others, time.monotonic()
        self.mine = self._own_ones()
        left = {queue: rest for queue, some in peers.items() if (rest := left_to_others(self.mine, some))}
        is_news = left != self.left or not self.known
        self.left, self.known = left, True
        if is_news:
            self.changed()

    def left_in(self, partitions: Sequence[int]) -> tuple[str, ...]:
        """Returns the capabilities that this worker leaves to others in every queue of these partitions."""
        queues = {queue_of(partition) for partition in partitions}
        rests = [set(self.left.get(queue, ())) for queue in queues]
        return tuple(sorted(set.intersection(*rests))) if rests else ()

    def note_held(self, gate: str) -> None:
        """Records that an execution that this worker cannot deliver is now held at this gate."""
        self._misses[gate.removeprefix(WORKER)] += 1
        self._read_past([name for name, count in self._misses.items() if count >= _MANY])

    def look(self) -> None:
        """Looks at once for executions that wait for this worker. Must be called when the worker has registered."""
        self._looked_at, self._changed_at = float("-inf"), time.monotonic()
        self.wake()

    def _read_past(self, capabilities: Sequence[str]) -> None:
        now = time.monotonic()
        for name in capabilities:
            if name in self._read_past_until or len(self._read_past_until) < _MOST_MISSED:
                self._read_past_until[name] = now + _READ_PAST_FOR
        self._read_past_until = {
            name: until for name, until in self._read_past_until.items() if until > now and name not in self.mine
        }
        before, self.missed = self.missed, tuple(sorted(self._read_past_until))
        if self.missed and not before:
            self.wake()

    async def turn(self) -> float:
        if not self._assignment.number:
            return _NOT_YET
        self.mine = self._own_ones()
        await self._declare()
        now = time.monotonic()
        if now - self._looked_at >= self._look_interval(now):
            await self._look()
        self._misses.clear()
        if not self.missed:
            return _EVERY
        async with self._holding_due.work_on(self._link) as connection:
            await self._hold(connection)
        return self._holding_due.pause

    async def _declare(self) -> None:
        """Declares this worker's capabilities if they have changed."""
        saying = (self._assignment.number, self.mine)
        if saying != self._declared:
            await worker_registry.declare(await self._link.get(), saying[0], sorted(saying[1]))
            self._declared, self._looked_at = saying, float("-inf")

    def _look_interval(self, now: float) -> float:
        """Returns the seconds between looks. Looks are rare once all workers know this worker, because they then hold
        no more rows that this worker can deliver."""
        is_likely = self.holding or now - self._changed_at < _UNTIL_KNOWN
        return _LOOK_EVERY if is_likely else _LOOK_SELDOM

    async def _look(self) -> None:
        """Looks for gates at which executions wait for this worker."""
        self._looked_at = time.monotonic()
        names = [WORKER + capability for capability in self.mine]
        self.holding = tuple(await gates.holding_among(await self._link.get(), names)) if names else ()
        if self.holding:
            self.found(self.holding)

    async def _hold(self, connection: Connection) -> None:
        """Holds some of the due rows that no worker can deliver."""
        hold = partial(gates.hold_due, connection, capabilities=self.missed)
        held = await self._round.work_off(self._assignment.own, _HELD_AT_ONCE, hold)
        self._read_past(self.missed if held else ())
