"""Shares a worker's lanes among clients in the same way as other slots (``delivery.slots``).

Rows beyond a client's share wait like rows that find no slot. Claims skip a client while many of its rows wait.
"""

from collections.abc import Callable, Mapping

from pgsched.delivery.slots import NoFreeSlot, Slots
from pgsched.service import Signal

_FEWEST_CROWDING = 16


class Shares(Slots):
    """The lanes as slots. ``idle`` returns how many lanes sleep. While at least ``scarce`` lanes sleep, lanes are not
    shared, because quick rows need few lanes. ``is_wanted`` returns whether there are several clients. ``crowded``
    contains the clients that claims skip. The signal ``relieved`` means that a client is no longer crowded."""

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
        """Takes an awake lane for an attempt of this client. Raises NoFreeSlot if the client has used up its share."""
        if self._share_of(client, self.idle() + 1) < 1:
            raise NoFreeSlot(self)
        self._count(client)

    def give_back(self, client: str) -> None:
        self._discount(client)
        self._returned = 1  # the lane has yet to go to sleep
        self.tell()
        self._returned = 0

    def look(self, waiting: Mapping[str, int]) -> None:
        """Decides whether lanes are shared and, by their numbers of waiting rows, which clients are crowded."""
        self.wanted = self._is_wanted()
        before = self.crowded
        if before or waiting:
            crowded = [client for client, count in waiting.items() if count >= self._most(client)]
            self.crowded = frozenset(crowded if self.wanted else ())
        if before - self.crowded:
            self.relieved()

    def _most(self, client: str) -> int:
        """Returns the number of waiting rows at which a client is crowded."""
        return self._crowd // 2 if client in self.crowded else self._crowd
