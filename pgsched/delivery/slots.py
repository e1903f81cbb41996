"""Slots: limited resources that attempts share, such as lanes, threads, sessions and the connections to a host.

An attempt that finds no free slot neither starts nor waits. Its channel raises NoFreeSlot, and the caller keeps the row
until ``freed`` reports a free slot. So a waiting row occupies no lane, and the wait does not count as the target's
time.

Running attempts are never preempted, so a client with slow attempts could occupy all slots. If there are several
clients, each may therefore take only three slots for each slot that stays free: the first client can get three quarters
of all slots, the second three quarters of the rest, and so on. The last slot is left for a client that has none.
"""

from collections.abc import Callable

_TO_ONE_FREE = 3


def alone() -> bool:
    """The ``is_shared`` for a single client: slots are not shared."""
    return False


class Slots:
    """Slots. ``most`` is their number. While rows wait, ``freed`` is called for each slot that becomes free. ``name``
    is used in messages. ``is_shared`` returns whether there are several clients."""

    def __init__(self, name: str, most: int, *, is_shared: Callable[[], bool] = alone) -> None:
        self.name, self.most, self.taken = name, most, 0
        self.freed: Callable[[Slots], None] | None = None
        self._is_shared = is_shared
        self._by_client: dict[str, int] = {}

    @property
    def free(self) -> int:
        """The number of attempts that could begin now."""
        return self.most - self.taken

    def taken_by(self, client: str) -> int:
        """The number of slots that a client has taken."""
        return self._by_client.get(client, 0)

    def free_for(self, client: str) -> int:
        """The number of this client's attempts that could begin now."""
        return self._share_of(client, self.free)

    def why(self, client: str) -> str | None:
        """The reason why this client may get no slot for a long time, or None if the client is not at fault."""
        return None

    def take(self, client: str) -> None:
        """Takes a slot. Raises NoFreeSlot if all slots are taken or the free ones are reserved for other clients."""
        if self.free_for(client) < 1:
            raise NoFreeSlot(self)
        self.taken += 1
        self._count(client)

    def give_back(self, client: str) -> None:
        self.taken -= 1
        self._discount(client)
        self.tell()

    def tell(self) -> None:
        """Notifies ``freed`` that a slot may be free."""
        if self.freed is not None:
            self.freed(self)

    def _share_of(self, client: str, free: int) -> int:
        """The number of free slots that this client may take."""
        if free <= 0:
            return 0
        if not self._is_shared():
            return free
        taken = self.taken_by(client)
        return max((_TO_ONE_FREE * free - taken) // (_TO_ONE_FREE + 1), int(not taken))

    def _count(self, client: str) -> None:
        self._by_client[client] = self._by_client.get(client, 0) + 1

    def _discount(self, client: str) -> None:
        left = self._by_client.get(client, 0) - 1
        if left > 0:
            self._by_client[client] = left
        else:
            self._by_client.pop(client, None)


class NoFreeSlot(Exception):
    """The attempt could not begin because no slot was free for it. The target was not called."""

    def __init__(self, slots: Slots) -> None:
        super().__init__(f"no free slot: {slots.name}")
        self.slots = slots
