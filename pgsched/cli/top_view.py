"""What of a look at the installation is shown by ``pgsched top``, in which order; keys change that."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pgsched.store.lookup.now import Edge, Flow, Now
from pgsched.store.lookup.overview import LivingWorker

SORTS = ("late", "due", "in hand", "name")
HELP = "q quits  s sorts  / filters  p pauses"
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
    """What holds executions back, how many (counted up to a thousand), and of a host that is left alone its state."""

    name: str
    held: int
    state: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The lines of a frame, in the order of the view."""

    queues: Sequence[QueueLine]
    clients: Sequence[Edge]
    workers: Sequence[WorkerLine]
    gates: Sequence[GateLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How it is looked at. While ``typing``, keys are letters of the filter."""

    sort: str = SORTS[0]
    filter: str = ""
    typing: bool = False
    paused: bool = False
    done: bool = False

    def press(self, key: str) -> "View":
        """The view after a key."""
        if self.typing:
            return self._typed(key)
        match key:
            case "q" | "\x04":
                return replace(self, done=True)
            case "s":
                return replace(self, sort=SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)])
            case "/":
                return replace(self, typing=True, filter="")
            case "p" | " ":
                return replace(self, paused=not self.paused)
            case "\x1b":
                return replace(self, filter="")
        return self

    def _typed(self, key: str) -> "View":
        match key:
            case "\r" | "\n":
                return replace(self, typing=False)
            case "\x1b":
                return replace(self, typing=False, filter="")
            case "\x7f" | "\x08":
                return replace(self, filter=self.filter[:-1])
        return replace(self, filter=(self.filter + key)[:40]) if key.isprintable() else self

    def of(self, now: Now, before: Now | None = None) -> Shown:
        """What is shown of a look, with rates since the one before."""
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
        return Shown(
            queues=self._ordered(lines, lambda line: line.name, lambda line: line.edge),
            clients=self._ordered(clients, lambda edge: edge.client or "", lambda edge: edge),
            workers=self._ordered(workers, lambda line: line.worker.name, lambda line: line.edge),
            gates=_gates(now),
        )

    def _ordered(self, lines: Sequence[Any], name: Callable[[Any], str], edge: Callable[[Any], Edge]) -> list[Any]:
        found = sorted((line for line in lines if self.filter.lower() in name(line).lower()), key=name)
        match self.sort:
            case "due":
                found.sort(key=lambda line: -edge(line).due)
            case "in hand":
                found.sort(key=lambda line: -edge(line).in_hand)
            case "late":
                found.sort(key=lambda line: -(edge(line).oldest_due or 0.0))
        return found


def _gates(now: Now) -> list[GateLine]:
    """The gates that hold the most first, then the hosts for which nothing waits."""
    states = {one.gate: one.state for one in now.sidelined}
    held = {one.gate: one.held for one in now.held_back}
    lines = [GateLine(name=gate, held=held.get(gate, 0), state=states.get(gate)) for gate in {**held, **states}]
    return sorted(lines, key=lambda line: (-line.held, line.name))


def _rates(now: Flow | None, before: Flow | None) -> Mapping[str, float | None]:
    if now is None or before is None or now.at <= before.at or now.ended < before.ended:
        return {"scheduled": None, "ended": None}  # or the server has begun to count anew
    passed = now.at - before.at
    return {
        "scheduled": max(now.scheduled - before.scheduled, 0) / passed,
        "ended": (now.ended - before.ended) / passed,
    }
