"""Decides whose turn it is when clients share a resource. Clients take turns, however many waiting items each has."""

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Generic, TypeVar

_Waiting = TypeVar("_Waiting")

Payers = frozenset[str]
"""The clients on whose behalf something is done. Work for several clients counts towards the share of each."""


class Turns(Generic[_Waiting]):
    """The waiting items, by payers. Payers take turns. The items of the same payers are served in the order in which
    they were added."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Payers, deque[_Waiting]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, payers: Payers, one: _Waiting) -> None:
        """Adds an item to the queue."""
        self._waiting.setdefault(payers, deque()).append(one)

    def remove(self, payers: Payers, one: _Waiting) -> None:
        """Removes an item, if it is waiting."""
        line = self._waiting.get(payers)
        if line is not None and one in line:
            line.remove(one)
            if not line:
                del self._waiting[payers]

    def take(
        self, may: Callable[[Payers], bool] = lambda _: True, *, has: Callable[[Payers], float] = lambda _: 0.0
    ) -> tuple[Payers, _Waiting] | None:
        """Chooses the payers with the lowest ``has`` among those for which ``may`` is true. Removes and returns their
        next item, or returns None if no item may be taken."""
        payers = min((one for one in self._waiting if may(one)), key=has, default=None)
        if payers is None:
            return None
        line = self._waiting.pop(payers)
        found = line.popleft()
        if line:
            self._waiting[payers] = line  # behind all other payers
        return payers, found
