"""Capabilities: what a worker needs in order to deliver to a target.

Any worker can send callbacks and notifications. But a worker can call only the Python handlers that it has, and can
send to Kafka only if brokers are configured. What a target needs is a **capability**: ``python:send_email`` (the target
itself), ``kafka:``, or ``sql:`` (functions of clients that have no role of their own). Workers declare their
capabilities in ``pgsched.workers``.

An execution that no running worker can deliver is held at a gate named after the missing capability. Such a gate has no
row in the table of gates.
"""

from collections.abc import Iterable, Mapping, Sequence

_HANDLER = "python:"
KAFKA, SQL = "kafka:", "sql:"

WORKER = "worker:"
"""The name prefix of the gates for executions that no worker can deliver. These gates sort after all others."""
QUARANTINE = "error"
"""The gate that holds executions that the database fails to claim or settle."""


def needs(target: str) -> str | None:
    """Returns the capability that a target needs, or None if every worker can deliver it."""
    if target.startswith(_HANDLER):
        return target
    return next((capability for capability in (KAFKA, SQL) if target.startswith(capability)), None)


def handler_of(name: str) -> str:
    """Returns the capability that calling the handler ``name`` needs."""
    return _HANDLER + name


def is_table_gate(gate: str) -> bool:
    """Whether a gate that holds executions has a row in the table of gates."""
    return not gate.startswith(WORKER) and gate not in {QUARANTINE, "order"}


def crews(mine: Iterable[str], peers: Mapping[int, frozenset[str]]) -> set[tuple[int, ...]]:
    """Returns each group of peers with which a worker shares partitions. ``mine`` are the worker's capabilities;
    ``peers`` are the capabilities of all workers, by worker number. One group contains all peers. Each of the worker's
    capabilities that some peers lack adds a group of the peers that have it."""
    kinds = list(set(peers.values()))
    having = {tuple(capability in kind for kind in kinds) for capability in mine}
    place = {kind: number for number, kind in enumerate(kinds)}
    whole = {tuple(peers)}
    return whole | {tuple(id for id, kind in peers.items() if has[place[kind]]) for has in having}


def left_to_others(mine: frozenset[str], peers: Sequence[frozenset[str]]) -> tuple[str, ...]:
    """Returns the capabilities, sorted, that some of these peers have but this worker lacks."""
    return tuple(sorted(frozenset[str]().union(*peers) - mine))
