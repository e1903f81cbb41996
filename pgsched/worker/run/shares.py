"""Whose rows have the lanes, where several clients share a worker.

An attempt cannot be taken back, so a client whose target hangs would have every lane for as long as its timeouts
last. With several clients each may have three lanes for each one that is idle: one alone three quarters of them, a
second one three quarters of the rest, and so on; a lane is left for whoever comes. What is over that waits like what
finds no place. A client of which much waits is passed over by claims until less does.
"""

from collections.abc import Callable, Mapping

from pgsched.delivery.places import NoPlace, Places

_TO_ONE_IDLE = 3
_FEWEST_CROWDING = 16


class Share(Places):
    """The lanes that one client has."""

    def __init__(self, shares: "Shares", client: str) -> None:
        super().__init__(f"lanes of client {client}", shares.lanes)
        self._shares, self._client = shares, client

    @property
    def free(self) -> int:
        return max((_TO_ONE_IDLE * self._shares.idle() - self.taken) // (_TO_ONE_IDLE + 1), int(not self.taken))

    def take(self) -> None:
        if self.taken and self.taken >= _TO_ONE_IDLE * self._shares.idle():
            raise NoPlace(self)
        self.taken += 1

    def give_back(self) -> None:
        super().give_back()
        if not self.taken and self.freed is None:
            self._shares.forget(self._client)


class Shares:
    """``idle`` answers with how many lanes sleep, and lanes are counted once fewer than ``scarce`` do: quick rows
    need few. ``is_wanted`` says whether there are several clients, ``relieved`` is called when claims pass a client
    over no longer. ``crowded`` are the clients that they pass over."""

    def __init__(self, *, lanes: int, is_wanted: Callable[[], bool], relieved: Callable[[], None]) -> None:
        self.lanes, self.scarce = lanes, lanes * 3 // 4
        self.idle: Callable[[], int] = lambda: lanes
        self._is_wanted, self._relieved = is_wanted, relieved
        self._of: dict[str, Share] = {}
        self._crowd = max(lanes // 4, _FEWEST_CROWDING)
        self.wanted = False
        self.crowded: frozenset[str] = frozenset()

    def take(self, client: str) -> Share:
        """A lane for an attempt of this client, to be given back. Raises NoPlace where others are to have the rest."""
        share = self._of.get(client)
        if share is None:
            share = self._of[client] = Share(self, client)
        share.take()
        return share

    def forget(self, client: str) -> None:
        """It has no lane, and nothing waits for one."""
        self._of.pop(client, None)

    def look(self, waiting: Mapping[str, int]) -> None:
        """Sees whether lanes are shared now, and who crowds; so many rows of each client wait."""
        self.wanted = self._is_wanted()
        before = self.crowded
        if before or waiting:
            most = {client: self._crowd // 2 if client in before else self._crowd for client in waiting}
            crowded = [client for client, count in waiting.items() if count >= most[client]]
            self.crowded = frozenset(crowded if self.wanted else ())
        if before - self.crowded:
            self._relieved()
