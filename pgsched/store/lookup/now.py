"""What is due, in hand and late at this moment, by queue, client and worker, at a cost that has a bound.

Counted are the oldest rows of each partition, no more than ``MOST``; what flows through is told by the server's
statistics, for which no row is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import AsyncConnection

from pgsched.domain.attempt_outcome import NO_SLOT
from pgsched.store.core.query import first, rows
from pgsched.store.gates.sidelined_targets import Sidelined, sidelined
from pgsched.store.lookup.overview import LivingWorker, QueueState, living_workers, queue_states

MOST = 250
"""So many rows of each partition are counted, the oldest first: of a queue 4,000 at the most."""
QUEUES = 50
"""So many queues are looked at, the first by name."""
_GATES = 20
HELD = 1_000
"""What a gate holds is counted up to this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """What is due and in nobody's hand, and what is in hand, of a queue, a client or a worker. Of what is due so many
    are in ``paused`` queues. Where it was ``cut`` there may be more of all."""

    queue: str | None = None
    client: str | None = None
    worker: int | None = None
    due: int = 0
    in_hand: int = 0
    paused: int = 0
    cut: bool = False
    oldest_due: float | None = None
    oldest_in_hand: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """How many executions a queue was given and has lost since the server began to count, at the server's time."""

    queue: str
    scheduled: int
    ended: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldByGate:
    """What executions are held by, such as ``client:shop`` or ``host:shop.example``, and how many, counted up to a
    thousand; when the first in line was due, unless the gate is a circuit. Of a limit: what it lets pass, and whether
    it is ``on_hold``, which lets nothing pass until somebody releases it, and for what ``reason``."""

    gate: str
    held: int
    first_due: datetime | None = None
    on_hold: bool = False
    reason: str | None = None
    rate: int | None = None
    per: timedelta | None = None
    concurrency: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """One look. ``edges`` are those of queues, clients and workers at which something is due or in hand. A host that is
    left alone is ``sidelined`` though nothing waits for it."""

    edges: Sequence[Edge]
    flows: Mapping[str, Flow]
    queues: Sequence[QueueState]
    workers: Sequence[LivingWorker]
    held_back: Sequence[HeldByGate]
    sidelined: Sequence[Sidelined]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOfClient:
    """How many executions the limit or the hold of a client keeps back, counted up to a thousand; and one of the hosts
    that fail for it."""

    client: str
    held: int
    failing: str | None


async def held_of_clients(connection: AsyncConnection[Any], clients: Sequence[str]) -> dict[str, HeldOfClient]:
    """That of each of these clients, by name."""
    found = await rows(connection, HeldOfClient, "lookup/held_of_clients", clients=list(clients), most=HELD)
    return {one.client: one for one in found}


async def open_letters(connection: AsyncConnection[Any], *, most: int) -> int:
    """How many of the newest dead letters nobody has dealt with, of so many in history and of those that outlived
    it."""
    _, found, _ = await first(connection, "lookup/wal_and_dead_letters", most=most) or (0, 0, 0)
    return int(found)


async def edges_of_queues(connection: AsyncConnection[Any]) -> list[Edge]:
    """What is due and in hand by queue, by client and by worker, in fifty queues at the most."""
    return await rows(connection, Edge, "lookup/now_edges", queues=QUEUES, most=MOST, no_slot=NO_SLOT)


async def look(connection: AsyncConnection[Any]) -> Now:
    """Looks at it all; at fifty queues and twenty gates at the most."""
    flows = await rows(connection, Flow, "lookup/now_flows", queues=QUEUES)
    return Now(
        edges=await edges_of_queues(connection),
        flows={flow.queue: flow for flow in flows},
        queues=(await queue_states(connection))[:QUEUES],
        workers=await living_workers(connection),
        held_back=await rows(connection, HeldByGate, "lookup/held_back", gates=_GATES, most=HELD),
        sidelined=await sidelined(connection, limit=_GATES),
    )
