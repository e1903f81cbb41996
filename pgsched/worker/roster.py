"""Which worker this is, and which partitions it prefers.

Every worker sees the same list of those alive, so each can tell its own share without asking: partition by partition
in turn. Shares are a preference, never a right: a worker with nothing to do helps where rows are overdue.
"""

from collections.abc import Sequence
from datetime import timedelta

from pgsched.store import workers
from pgsched.store.connect import Connection
from pgsched.version import __version__

# A worker counts as frozen after two thirds of a lease, so that others find it out and have its rows within the whole.
_TERM = 2 / 3


class Roster:
    """This worker's number and its share of the partitions."""

    def __init__(self, *, name: str, queues: Sequence[str], lease: timedelta) -> None:
        self._name, self._queues = name, list(queues)
        self._term = lease * _TERM
        self._claims = 0
        self.number = 0
        self.partitions: list[int] = []
        self.own: list[int] = []

    async def join(self, connection: Connection) -> None:
        """Registers, or takes the registration up again, on the session whose life stands for the worker's."""
        self.partitions = await workers.partitions_of(connection, self._queues)
        if self.number and await workers.hold(connection, self.number, self._term):
            return
        self.number = await workers.register(
            connection, name=self._name, queues=self._queues, release=__version__, lease=self._term
        )
        self._claims = 0
        self.own = self.own or list(self.partitions)

    async def renew(self, connection: Connection) -> bool:
        """Says that this worker lives; False when it was declared lost meanwhile."""
        return not self.number or await workers.renew(connection, self.number, self._term)

    def share(self, alive: Sequence[workers.Worker]) -> None:
        """Works out this worker's partitions among the workers that serve the same queues."""
        peers = [worker.id for worker in alive if not worker.gone and set(worker.queues) & set(self._queues)]
        if self.number in peers:
            rank = peers.index(self.number)
            self.own = [p for place, p in enumerate(self.partitions) if place % len(peers) == rank]

    def next_token(self) -> int:
        """A token no claim of any worker has had: the worker's number and a count."""
        self._claims += 1
        return (self.number << 32) | self._claims
