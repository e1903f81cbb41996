"""The gates that a worker knows, which executions must pass them, and how many such executions the worker has in hand.

While there are no gates, a check costs one look-up in an empty set.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from math import inf

from pgsched.domain.capability import WORKER
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import parse_options
from pgsched.domain.gate import CIRCUIT, CLIENT, HOST, KEY, circuits_of, host_of, key_name
from pgsched.domain.queue_partitions import queue_of
from pgsched.errors import InvalidInput
from pgsched.store.gates.gates import KnownGate

_Limits = tuple[float, float, float]
"""A gate's rate, its concurrency limit, and the negated time until which it is shut. Lower values are stricter."""
_NONE: _Limits = inf, inf, inf


class KnownGates:
    """The gates in the database when they were last read."""

    def __init__(self) -> None:
        self.loaded = False
        self.names: frozenset[str] = frozenset()
        self.counting: frozenset[str] = frozenset()
        """The gates that limit concurrency, for which the executions in hand are counted."""
        self._queues: dict[int, str] = {}
        self._limits: dict[str, _Limits] = {}
        self._by_key = self._by_host = False

    def read(self, gates: Iterable[KnownGate]) -> frozenset[str]:
        """Takes the current gates. Returns the names of the gates that have become stricter."""
        gates, before, self.loaded = list(gates), self._limits, True
        self.names = frozenset(gate.name for gate in gates)
        self.counting = frozenset(gate.name for gate in gates if gate.concurrency < inf)
        self._queues = {queue_of(gate.first_partition): gate.name for gate in gates if gate.first_partition is not None}
        self._limits = {gate.name: (gate.rate, gate.concurrency, -(gate.shut_until or -inf)) for gate in gates}
        self._by_key = any(name.startswith(KEY) for name in self.names)
        self._by_host = any(name.startswith((HOST, CIRCUIT)) for name in self.names)
        return frozenset(name for name, limits in self._limits.items() if _any_less(limits, before.get(name, _NONE)))

    def gates_of(self, row: ClaimedExecution) -> list[str]:
        """Returns the names of the gates that an execution must pass."""
        wanted = [CLIENT + row.client_id]
        if queue_of(row.partition) in self._queues:
            wanted.append(self._queues[queue_of(row.partition)])
        if self._by_host and (host := host_of(row.target)):
            wanted += [HOST + host, *circuits_of(row.target, host, row.client_id)]
        if self._by_key and row.options is not None and (key := _limit_key(row.options)):
            wanted.append(key_name(row.client_id, key))
        return [name for name in wanted if name in self.names]

    def width(self, name: str) -> tuple[bool, float, str]:
        """Returns a sort key that puts the narrowest gate first. Gates for a missing capability come first, then
        circuits, then other gates by rate. Gates that limit concurrency come last, because executions that wait there
        take a free place at once."""
        if name.startswith(WORKER):
            return False, -2.0, name
        return name in self.counting, -1.0 if name.startswith(CIRCUIT) else self._limits.get(name, _NONE)[0], name


def _any_less(limits: _Limits, before: _Limits) -> bool:
    return any(new < old for new, old in zip(limits, before, strict=True))


def _limit_key(options: bytes) -> str | None:
    try:
        return parse_options(options).limit_key
    except InvalidInput:
        return None  # the delivery will report the error


class GateCounts:
    """Counts the executions in hand by gate (``running``). ``changed`` contains the gates whose count has dropped
    since the count was last written to the database."""

    def __init__(self) -> None:
        self.running: Counter[str] = Counter()
        self.changed: set[str] = set()
        self._gates: dict[bytes, Sequence[str]] = {}
        self._missing: set[bytes] = set()

    def add(self, id: bytes, gates: Sequence[str]) -> None:
        """Counts an execution for these gates. Drops an earlier count, left by a transaction that was rolled back."""
        self.take(id)
        if gates:
            self._gates[id] = gates
            self.running.update(gates)

    def take(self, id: bytes) -> Sequence[str]:
        """Stops counting an execution. Returns the gates for which it was counted."""
        gates = self._gates.pop(id, ())
        self.running.subtract(gates)
        self.changed.update(gates)
        return gates

    def strays(self, in_hand: Collection[bytes]) -> set[bytes]:
        """Returns the counted executions that were not in hand in two consecutive calls, because the transaction that
        counted them was rolled back. An execution that has only just been counted will be in hand at the next call."""
        before, self._missing = self._missing, self._gates.keys() - in_hand
        return self._missing & before
