"""Turns a snapshot of the installation into lines, with rates since the previous snapshot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pgsched.domain.gate import CLIENT
from pgsched.store.gates.sidelined_targets import COUNTED_OF_A_TARGET, Sidelined
from pgsched.store.lookup.now import HELD, Edge, Flow, HeldByGate, Now
from pgsched.store.lookup.overview import LivingWorker

_NOTHING = Edge()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLine:
    """A queue. ``scheduled`` and ``ended`` are executions per second since the previous snapshot; None in the first
    snapshot.
    """

    name: str
    edge: Edge
    scheduled: float | None
    ended: float | None
    stall: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLine:
    """A running worker and the executions that it holds."""

    worker: LivingWorker
    edge: Edge


@dataclass(frozen=True, slots=True, kw_only=True)
class GateLine:
    """A gate, and how many executions it holds. If there are ``more``, counting stopped at a limit. ``target`` is a
    sidelined host; ``found`` describes any other gate.
    """

    name: str
    held: int
    more: bool = False
    target: Sidelined | None = None
    found: HeldByGate | None = None

    @property
    def state(self) -> str | None:
        """The state of a sidelined host, or of a limit that is on hold."""
        if self.target is not None:
            return self.target.state
        return "held" if self.found is not None and self.found.on_hold else None

    @property
    def client(self) -> str | None:
        """The client whose executions the gate holds, or None if there may be several."""
        if self.target is not None:
            return self.target.client
        return self.name.removeprefix(CLIENT) if self.name.startswith(CLIENT) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """All lines, in order."""

    queues: Sequence[QueueLine]
    clients: Sequence[Edge]
    workers: Sequence[WorkerLine]
    gates: Sequence[GateLine]


def lines_of(now: Now, before: Now | None = None) -> Shown:
    """Returns the lines of a snapshot, with queues and workers in the database's order."""
    queues = {edge.queue: edge for edge in now.edges if edge.queue is not None}
    lines = [
        QueueLine(
            name=one.name,
            edge=queues.get(one.name, _NOTHING),
            stall=one.stall,
            **_rates(now.flows.get(one.name), before.flows.get(one.name) if before else None),
        )
        for one in now.queues
    ]
    in_hand = {edge.worker: edge for edge in now.edges if edge.worker is not None}
    workers = [WorkerLine(worker=one, edge=in_hand.get(one.id, _NOTHING)) for one in now.workers]
    clients = [edge for edge in now.edges if edge.client is not None]
    return Shown(queues=lines, clients=clients, workers=workers, gates=_gates(now))


def _gates(now: Now) -> list[GateLine]:
    """Returns the gates that hold the most executions first, and sidelined hosts for which nothing waits last."""
    targets = {one.gate: one for one in now.sidelined}
    held = {one.gate: one for one in now.held_back}
    lines = [_gate(held.get(gate, HeldByGate(gate=gate, held=0)), targets.get(gate)) for gate in {**held, **targets}]
    return sorted(lines, key=lambda line: (-line.held, line.name))


def _gate(found: HeldByGate, target: Sidelined | None) -> GateLine:
    if target is not None:  # executions held by a target are counted up to a higher limit
        held = max(found.held, target.held)
        return GateLine(name=found.gate, held=held, more=target.held >= COUNTED_OF_A_TARGET, target=target)
    return GateLine(name=found.gate, held=found.held, more=found.held >= HELD, found=found)


def _rates(now: Flow | None, before: Flow | None) -> Mapping[str, float | None]:
    if now is None or before is None or now.at <= before.at or now.ended < before.ended:
        return {"scheduled": None, "ended": None}  # or the server has reset its counters
    passed = now.at - before.at
    return {
        "scheduled": max(now.scheduled - before.scheduled, 0) / passed,
        "ended": (now.ended - before.ended) / passed,
    }
