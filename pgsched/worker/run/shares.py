"""Shares the lanes among the clients of a worker, as all places are shared (``delivery.places``).

Rows beyond a client's share wait like rows that find no place. Claims pass over a client while many of its rows wait
here. They also pass over a client whose handlers take too much of the process's time (``process_time``); none of its
attempts begins until other clients have had their part.
"""

from collections.abc import Callable, Mapping

from pgsched.delivery.places import NoPlace, Places

_FEWEST_CROWDING = 16
_WHY = "this client's handlers have kept their process from everything else for too long"


class Shares(Places):
    """``idle`` returns how many lanes sleep. Lanes are counted only while fewer than ``scarce`` sleep, because quick
    rows need few. ``is_wanted`` says whether there are several clients, and ``relieved`` is called when claims no
    longer pass over a client. ``crowded`` are the clients that claims pass over, ``over`` those of which no attempt may
    begin."""

    def __init__(self, *, lanes: int, is_wanted: Callable[[], bool], relieved: Callable[[], None]) -> None:
        super().__init__("lanes", lanes, is_shared=is_wanted)
        self.lanes, self.scarce = lanes, lanes * 3 // 4
        self.idle: Callable[[], int] = lambda: lanes
        self._is_wanted, self._relieved = is_wanted, relieved
        self._crowd = max(lanes // 4, _FEWEST_CROWDING)
        self._returned = 0
        self.wanted = False
        self.crowded: frozenset[str] = frozenset()
        self.over: frozenset[str] = frozenset()

    @property
    def free(self) -> int:
        return self.idle() + self._returned

    def take(self, client: str) -> None:
        """Takes a lane, which is awake already, for an attempt of this client. Raises NoPlace."""
        self.check(client)
        if self._share_of(client, self.idle() + 1) < 1:
            raise NoPlace(self)
        self._count(client)

    def check(self, client: str) -> None:
        """Raises NoPlace where no attempt of this client may begin, although a lane has its row already."""
        if client in self.over:
            raise NoPlace(self)

    def give_back(self, client: str) -> None:
        self._discount(client)
        self._returned = 1  # the lane goes to sleep only now
        self.tell()
        self._returned = 0

    def free_for(self, client: str) -> int:
        return 0 if client in self.over else super().free_for(client)

    def why(self, client: str) -> str | None:
        return _WHY if client in self.over else None

    def hold_back(self, clients: frozenset[str]) -> None:
        """Lets no attempt of these clients begin until it is called again. For a thread beside the loop."""
        self.scarce = self.lanes + 1 if clients else self.lanes * 3 // 4  # counted from the first lane on
        self.over = clients

    def look(self, waiting: Mapping[str, int]) -> None:
        """Decides whether lanes are shared now, and which clients crowd, by how many rows of each client wait."""
        self.wanted = self._is_wanted()
        before = self.crowded
        if before or waiting:
            crowded = [client for client, count in waiting.items() if count >= self._most(client)]
            self.crowded = frozenset(crowded if self.wanted else ())
        if before - self.crowded:
            self._relieved()

    def _most(self, client: str) -> int:
        """The number of waiting rows from which a client crowds."""
        if client in self.over:
            return 1
        return self._crowd // 2 if client in self.crowded else self._crowd
