"""Who is next where clients share something: each client in turn, however much of it waits and however it asks."""

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Generic, TypeVar

_Waiting = TypeVar("_Waiting")

Payers = frozenset[str]
"""The clients for which something is done. Whoever may act for several takes from the share of each."""


class Turns(Generic[_Waiting]):
    """What waits, by payers: of each the first that came, and among them those who were served longest ago."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Payers, deque[_Waiting]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, payers: Payers, one: _Waiting) -> None:
        """It waits from now on."""
        self._waiting.setdefault(payers, deque()).append(one)

    def remove(self, payers: Payers, one: _Waiting) -> None:
        """It waits no more, if it did."""
        line = self._waiting.get(payers)
        if line is not None and one in line:
            line.remove(one)
            if not line:
                del self._waiting[payers]

    def take(
        self, may: Callable[[Payers], bool] = lambda _: True, *, has: Callable[[Payers], float] = lambda _: 0.0
    ) -> tuple[Payers, _Waiting] | None:
        """Takes the next of those payers who ``may`` be served and have the least; None where there is none."""
        payers = min((one for one in self._waiting if may(one)), key=has, default=None)
        if payers is None:
            return None
        line = self._waiting.pop(payers)
        found = line.popleft()
        if line:
            self._waiting[payers] = line  # behind all others
        return payers, found
