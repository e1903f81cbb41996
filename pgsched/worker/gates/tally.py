"""What this process has in hand of the executions that passed gates with a concurrency."""

from collections import Counter
from collections.abc import Collection, Sequence


class Tally:
    """``running`` counts by gate; ``changed`` names the gates whose count is less than was last written."""

    def __init__(self) -> None:
        self.running: Counter[str] = Counter()
        self.changed: set[str] = set()
        self._gates: dict[bytes, Sequence[str]] = {}
        self._missing: set[bytes] = set()

    def __len__(self) -> int:
        """How many executions are counted."""
        return len(self._gates)

    def add(self, id: bytes, gates: Sequence[str]) -> None:
        """An execution passed these gates; what it passed in a transaction that came to nothing is not counted."""
        self.take(id)
        if gates:
            self._gates[id] = gates
            self.running.update(gates)

    def take(self, id: bytes) -> Sequence[str]:
        """An execution is out of this process's hands; the gates that it was counted for."""
        gates = self._gates.pop(id, ())
        self.running.subtract(gates)
        self.changed.update(gates)
        return gates

    def strays(self, in_hand: Collection[bytes]) -> set[bytes]:
        """What was counted in a transaction that came to nothing is not in hand, and never leaves it. What is counted
        but not in hand yet will be by the next time."""
        before, self._missing = self._missing, self._gates.keys() - in_hand
        return self._missing & before
