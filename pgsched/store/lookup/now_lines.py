"""What a look at the installation comes to, line by line, with rates since the look before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pgsched.domain.gate import CLIENT
from pgsched.store.gates.sidelined_targets import COUNTED_OF_A_TARGET, Sidelined
from pgsched.store.lookup.now import HELD, Edge, Flow, HeldByGate, Now
from pgsched.store.lookup.overview import LivingWorker

_NOTHING = Edge()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLine:
    """A queue. ``scheduled`` and ``ended`` are executions a second since the look before; None at the first."""

    name: str
    edge: Edge
    scheduled: float | None
    ended: float | None
    stall: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLine:
    """A living worker and what it has in hand."""

    worker: LivingWorker
    edge: Edge


@dataclass(frozen=True, slots=True, kw_only=True)
class GateLine:
    """What holds executions back, and how many; where there are ``more``, they were counted up to a bound. ``target``
    is a host that is left alone, ``found`` what is known of anything else."""

    name: str
    held: int
    more: bool = False
    target: Sidelined | None = None
    found: HeldByGate | None = None

    @property
    def state(self) -> str | None:
        """Of a host that is left alone, and of what is on hold."""
        if self.target is not None:
            return self.target.state
        return "held" if self.found is not None and self.found.on_hold else None

    @property
    def client(self) -> str | None:
        """The only client whose executions it holds back; None where it may hold those of several."""
        if self.target is not None:
            return self.target.client
        return self.name.removeprefix(CLIENT) if self.name.startswith(CLIENT) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """All lines, in an order."""

    queues: Sequence[QueueLine]
    clients: Sequence[Edge]
    workers: Sequence[WorkerLine]
    gates: Sequence[GateLine]


def lines_of(now: Now, before: Now | None = None) -> Shown:
    """The lines of a look, queues and workers in the order of the database."""
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
    """The gates that hold the most first, then the hosts for which nothing waits."""
    targets = {one.gate: one for one in now.sidelined}
    held = {one.gate: one for one in now.held_back}
    lines = [_gate(held.get(gate, HeldByGate(gate=gate, held=0)), targets.get(gate)) for gate in {**held, **targets}]
    return sorted(lines, key=lambda line: (-line.held, line.name))


def _gate(found: HeldByGate, target: Sidelined | None) -> GateLine:
    if target is not None:  # what a target holds is counted further
        held = max(found.held, target.held)
        return GateLine(name=found.gate, held=held, more=target.held >= COUNTED_OF_A_TARGET, target=target)
    return GateLine(name=found.gate, held=found.held, more=found.held >= HELD, found=found)


def _rates(now: Flow | None, before: Flow | None) -> Mapping[str, float | None]:
    if now is None or before is None or now.at <= before.at or now.ended < before.ended:
        return {"scheduled": None, "ended": None}  # or the server has begun to count anew
    passed = now.at - before.at
    return {
        "scheduled": max(now.scheduled - before.scheduled, 0) / passed,
        "ended": (now.ended - before.ended) / passed,
    }
