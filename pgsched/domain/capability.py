"""Capabilities: what a worker needs to have before it can deliver to a target.

Any worker can send callbacks and notifications. But only a worker with a Python handler can call it, and only one with
brokers configured can send to Kafka. What a target needs is a **capability**: ``python:send_email`` (the target
itself), ``kafka:``, ``sql:`` (functions of clients that have no role of their own). Workers declare theirs in
``pgsched.workers``.

An execution that no living worker can deliver is held at a gate named after its capability. This gate is not a row in
the table of gates.
"""

from collections.abc import Iterable, Mapping, Sequence

_HANDLER = "python:"
KAFKA, SQL = "kafka:", "sql:"

WORKER = "worker:"
"""The prefix of gates for executions that no worker can deliver. It sorts after all other gates."""
QUARANTINE = "error"
"""The gate of executions that the database refuses to claim or settle."""


def needs(target: str) -> str | None:
    """Returns the capability that a target needs, or None if every worker can deliver it."""
    if target.startswith(_HANDLER):
        return target
    return next((capability for capability in (KAFKA, SQL) if target.startswith(capability)), None)


def handler_of(name: str) -> str:
    """Returns the capability to call the handler of this name."""
    return _HANDLER + name


def is_table_gate(gate: str) -> bool:
    """Whether a gate that holds executions is in the table of gates, from which workers feed on."""
    return not gate.startswith(WORKER) and gate not in {QUARANTINE, "order"}


def crews(mine: Iterable[str], peers: Mapping[int, frozenset[str]]) -> set[tuple[int, ...]]:
    """Returns the groups of peers with which a worker with these capabilities shares partitions. ``peers`` are all
    workers' capabilities, by number. One group is all peers; each capability that not all of them have adds another.
    """
    kinds = list(set(peers.values()))
    having = {tuple(capability in kind for kind in kinds) for capability in mine}
    place = {kind: number for number, kind in enumerate(kinds)}
    whole = {tuple(peers)}
    return whole | {tuple(id for id, kind in peers.items() if has[place[kind]]) for has in having}


def left_to_others(mine: frozenset[str], peers: Sequence[frozenset[str]]) -> tuple[str, ...]:
    """Returns the capabilities of these peers that this worker lacks, in order."""
    return tuple(sorted(frozenset[str]().union(*peers) - mine))
