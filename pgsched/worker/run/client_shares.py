"""Shares the lanes among the clients of a worker, as all slots are shared (``delivery.slots``).

Rows beyond a client's share wait like rows that find no slot. Claims pass over a client while many of its rows wait
here.
"""

from collections.abc import Callable, Mapping

from pgsched.delivery.slots import NoFreeSlot, Slots
from pgsched.service import Signal

_FEWEST_CROWDING = 16


class Shares(Slots):
    """``idle`` returns how many lanes sleep. Lanes are counted only while fewer than ``scarce`` sleep, because quick
    rows need few. ``is_wanted`` says whether there are several clients, and ``relieved`` says that claims no
    longer pass over a client. ``crowded`` are the clients that claims pass over."""

    def __init__(self, *, lanes: int, is_wanted: Callable[[], bool]) -> None:
        super().__init__("lanes", lanes, is_shared=is_wanted)
        self.scarce = lanes * 3 // 4
        self.idle: Callable[[], int] = lambda: lanes
        self._is_wanted = is_wanted
        self.relieved: Signal[[]] = Signal()
        self._crowd = max(lanes // 4, _FEWEST_CROWDING)
        self._returned = 0
        self.wanted = False
        self.crowded: frozenset[str] = frozenset()

    @property
    def free(self) -> int:
        return self.idle() + self._returned

    def take(self, client: str) -> None:
        """Takes a lane, which is awake already, for an attempt of this client. Raises NoFreeSlot."""
        if self._share_of(client, self.idle() + 1) < 1:
            raise NoFreeSlot(self)
        self._count(client)

    def give_back(self, client: str) -> None:
        self._discount(client)
        self._returned = 1  # the lane goes to sleep only now
        self.tell()
        self._returned = 0

    def look(self, waiting: Mapping[str, int]) -> None:
        """Decides whether lanes are shared now, and which clients crowd, by how many rows of each client wait."""
        self.wanted = self._is_wanted()
        before = self.crowded
        if before or waiting:
            crowded = [client for client, count in waiting.items() if count >= self._most(client)]
            self.crowded = frozenset(crowded if self.wanted else ())
        if before - self.crowded:
            self.relieved()

    def _most(self, client: str) -> int:
        """The number of waiting rows from which a client crowds."""
        return self._crowd // 2 if client in self.crowded else self._crowd
