"""Locks gates in the database, draws on them, and feeds in the executions that they hold."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from pgsched.domain.execution import ClaimedExecution, by_partition
from pgsched.domain.gate import Gate
from pgsched.store.core.connect import Connection
from pgsched.store.core.query import column, rows, value
from pgsched.store.core.sql import statement, statement_among, statement_in, statement_with
from pgsched.store.core.wire import Instants, Tokens, Uuids
from pgsched.store.live.executions import Lease


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownGate:
    """An existing gate. The rate (in events per second) and the limit of concurrent executions are infinite if
    unlimited. The partition is the first of the gate's queue. The time until which an operator has shut the gate is in
    microseconds since 1970.
    """

    name: str
    rate: float
    concurrency: float
    first_partition: int | None
    shut_until: int | None = None


async def known_gates(connection: Connection) -> list[KnownGate]:
    """Returns all gates."""
    return await rows(connection, KnownGate, "gates/gates")


async def holding(connection: Connection, *, after: str, most: int) -> list[str]:
    """Returns up to ``most`` gates that hold executions, in order of name, after the gate ``after``."""
    return await column(connection, "gates/holding_gates", after=after, most=most)


async def read(connection: Connection, names: Iterable[str], *, worker: int) -> dict[str, Gate]:
    """Reads the state of these gates, except those that no longer exist. Their running counts exclude this worker's
    executions.
    """
    return await _read(connection, names, (), worker)


class Locked(NamedTuple):
    """Gates that are locked until the transaction ends, and gates that another transaction has locked."""

    gates: dict[str, Gate]
    busy: frozenset[str]


async def lock(connection: Connection, names: Iterable[str], *, worker: int) -> Locked:
    """Like ``read``, but locks the gates. Waits briefly for a gate that another worker has locked. A gate that an
    operator has changed stays locked until the operator's transaction ends.
    """
    found = await _read(connection, names, ("locked",), worker)
    missing = set(names) - found.keys()
    if not missing:
        return Locked(found, frozenset())
    cursor = await connection.execute(statement("gates/try_gates"), {"names": sorted(missing)})
    [(busy,)] = await cursor.fetchall()
    return Locked(found | await _read(connection, missing.difference(busy), ("locked",), worker), frozenset(busy))


async def _read(connection: Connection, names: Iterable[str], clauses: tuple[str, ...], worker: int) -> dict[str, Gate]:
    parameters = {"names": sorted(names), "worker": worker}
    gates = await connection.execute(statement_with("gates/read_gates", clauses), parameters, binary=True)
    uses = await connection.execute(statement("gates/gate_use"), parameters)
    found = {
        row[0]: Gate(
            name=row[0], interval=row[1], burst=row[2], concurrency=row[3], next_at=row[4], shut_until=row[5],
            recovers_from=row[6],
        )
        for row in await gates.fetchall()
    }  # fmt: skip
    for name, running in await uses.fetchall():
        if name in found:
            found[name].running += running
    return found


async def try_feeding(connection: Connection, gate: str) -> bool:
    """Makes this transaction the only one that feeds in executions from a gate. Returns False if another transaction is
    doing so.
    """
    return bool(await value(connection, "gates/feed_gate", gate=gate))


async def note_draws(connection: Connection, gates: Iterable[Gate]) -> None:
    """Stores what was drawn on locked gates."""
    drawn = [gate for gate in gates if gate.drawn]
    if drawn:
        await connection.execute(
            statement("gates/draw_gates"),
            {
                "names": [gate.name for gate in drawn],
                "nexts": Instants(ceil(gate.next_at) for gate in drawn),
                "shuts": [gate.shut_until for gate in drawn],
            },
        )


async def note_use(connection: Connection, worker: int, running: Mapping[str, int]) -> None:
    """Stores, for each of these gates, the number of this worker's running executions that passed the gate."""
    if running:
        names = sorted(running)
        counts = [running[name] for name in names]
        await connection.execute(statement("gates/note_gate_use"), {"worker": worker, "names": names, "counts": counts})


class HeldRow(NamedTuple):
    """A claimed row that is to wait behind a gate."""

    id: bytes
    token: int
    gate: str


async def hold(connection: Connection, held: Sequence[tuple[ClaimedExecution, str]]) -> None:
    """Makes claimed rows wait behind their gates."""
    partitions: dict[int, list[HeldRow]] = defaultdict(list)
    for row, gate in held:
        partitions[row.partition].append(HeldRow(row.id, row.token, gate))
    for partition, some in partitions.items():
        await hold_in(connection, partition, some)


async def hold_in(connection: Connection, partition: int, held: Sequence[HeldRow]) -> None:
    """Makes claimed rows of one partition wait behind their gates."""
    parameters = {
        "ids": Uuids(row.id for row in held),
        "tokens": Tokens({row.token for row in held}),
        "gates": [row.gate for row in held],
    }
    await connection.execute(statement_in("gates/hold", partition), parameters)


async def appoint(connection: Connection, rows: Iterable[ClaimedExecution]) -> None:
    """Makes claimed rows fire when their gates let them pass."""
    for partition, some in by_partition(rows).items():
        parameters = {
            "ids": Uuids(row.id for row in some),
            "tokens": Tokens({row.token for row in some}),
            "starts": Instants(row.fire_at for row in some),
        }
        await connection.execute(statement_in("gates/appoint", partition), parameters)


async def hold_due(
    connection: Connection,
    partition: int,
    batch: int,
    *,
    clients: Sequence[str] = (),
    capabilities: Sequence[str] = (),
) -> int:
    """Makes up to ``batch`` due one-shots wait behind the gates of these clients and capabilities, and returns their
    number.
    """
    parameters = {"clients": list(clients), "capabilities": list(capabilities), "batch": batch}
    cursor = await connection.execute(statement_in("gates/hold_due", partition), parameters)
    return cursor.rowcount


async def holding_among(connection: Connection, names: Sequence[str]) -> list[str]:
    """Returns which of these gates hold executions."""
    return await column(connection, "gates/holding_among", names=list(names))


async def claim_held(
    connection: Connection,
    lease: Lease,
    gate: str,
    partitions: Sequence[int],
    *,
    batch: int,
    left: Sequence[str] = (),
) -> list[ClaimedExecution]:
    """Leases executions that a gate holds, by priority and then by time, except those that need a capability ``left``
    to other workers.
    """
    clauses = ("left",) if left else ()
    cursor = await connection.execute(
        statement_among("gates/claim_held", tuple(partitions), clauses),
        {
            "left": list(left), "gate": gate, "batch": batch,
            "owner": lease.owner, "token": lease.token, "lease": lease.length,
        },
        binary=True,
    )  # fmt: skip
    return [ClaimedExecution._make(row) for row in await cursor.fetchall()]
