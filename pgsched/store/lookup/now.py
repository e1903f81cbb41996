"""Counts the executions that are due, running and late now, by queue, client and worker, at a bounded cost.

Only the oldest rows of each partition are counted, at most ``MOST``. Throughput comes from the server's statistics,
without reading any rows.
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
"""Maximum number of rows counted in each partition, oldest first: at most 4,000 in a queue."""
QUEUES = 50
"""Maximum number of queues examined, in order of name."""
_GATES = 20
HELD = 1_000
"""Maximum number of executions counted for each gate that holds them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """The executions of a queue, a client or a worker that are ``due`` but unclaimed, and those that are claimed
    (``in_hand``). ``paused`` is how many of the due executions are in paused queues. If ``cut``, these numbers are
    lower bounds.
    """

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
    """How many executions were added to a queue, and how many have left it, since the server began to count. ``at`` is
    the server's time.
    """

    queue: str
    scheduled: int
    ended: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldByGate:
    """A gate that holds executions, such as ``client:shop`` or ``host:shop.example``. ``held`` is how many, counted up
    to a thousand, and ``first_due`` is when the first of them was due (None for a circuit). A limit also has the
    numbers that it lets pass. If the gate is ``on_hold``, nothing passes until an operator releases it.
    """

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
    """A snapshot. ``edges`` are the queues, clients and workers with due or claimed executions. ``sidelined`` includes
    hosts for which no execution waits.
    """

    edges: Sequence[Edge]
    flows: Mapping[str, Flow]
    queues: Sequence[QueueState]
    workers: Sequence[LivingWorker]
    held_back: Sequence[HeldByGate]
    sidelined: Sequence[Sidelined]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOfClient:
    """How many executions a client's limit or hold keeps back, counted up to a thousand. ``failing`` is one of the
    client's failing hosts.
    """

    client: str
    held: int
    failing: str | None


async def held_of_clients(connection: AsyncConnection[Any], clients: Sequence[str]) -> dict[str, HeldOfClient]:
    """Returns the held executions of each of these clients, by client name."""
    found = await rows(connection, HeldOfClient, "lookup/held_of_clients", clients=list(clients), most=HELD)
    return {one.client: one for one in found}


async def open_letters(connection: AsyncConnection[Any], *, most: int) -> int:
    """Returns how many of the newest dead letters are open. Examines up to ``most`` in history, and up to ``most`` that
    are kept longer.
    """
    _, found, _ = await first(connection, "lookup/wal_and_dead_letters", most=most) or (0, 0, 0)
    return int(found)


async def edges_of_queues(connection: AsyncConnection[Any]) -> list[Edge]:
    """Returns the due and claimed executions by queue, client and worker, for at most fifty queues."""
    return await rows(connection, Edge, "lookup/now_edges", queues=QUEUES, most=MOST, no_slot=NO_SLOT)


async def look(connection: AsyncConnection[Any]) -> Now:
    """Takes a snapshot of everything, with at most fifty queues and twenty gates."""
    flows = await rows(connection, Flow, "lookup/now_flows", queues=QUEUES)
    return Now(
        edges=await edges_of_queues(connection),
        flows={flow.queue: flow for flow in flows},
        queues=(await queue_states(connection))[:QUEUES],
        workers=await living_workers(connection),
        held_back=await rows(connection, HeldByGate, "lookup/held_back", gates=_GATES, most=HELD),
        sidelined=await sidelined(connection, limit=_GATES),
    )
