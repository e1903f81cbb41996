"""Which clients have streams of their own, and what share of the room each has.

When there is more to do than this worker can, clients are served by weight and not by who came first. A claim reads in
the order of instants, so a client with a backlog stands before all who came later. Once a full claim shows a client
with more than its share of overdue rows, that client gets a stream of its own, and the claims of all others pass its
rows over. Each stream then has its share of the room (deficit round robin; Shreedhar and Varghese, 1995), and no more
than its share of the rows in hand, so that there is room for newcomers. A client that leaves half of its share unused
is one among the others again.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from pgsched.domain.execution import ClaimedExecution
from pgsched.worker.claim.streams import Stream
from pgsched.worker.known_settings import KnownSettings

_OVERDUE = 100_000  # microseconds by which a full claim's last row is late where there is more than can be done
_MOST_APART = 16
_SMALLEST_PART = 1 / (2 * _MOST_APART)  # of a claim: many clients have as much, and cannot all have streams
_TOLERANCE = 1.1


class Fairness:
    """``apart`` has the streams of single clients, by client."""

    def __init__(self, clients: KnownSettings) -> None:
        self.known = clients
        self.apart: dict[str, Stream] = {}
        self._others: Counter[str] = Counter()
        self.is_behind = False
        """Whether the last claim for all other clients left overdue rows: there are more clients than can have streams,
        or many with few rows each."""

    def leave(self, held: Iterable[str]) -> None:
        """Ends the streams of these clients: their gates hold their rows back, so claims would only hold rows."""
        for client in held:
            self.apart.pop(client, None)

    def observe(self, taken: Sequence[ClaimedExecution], asked: int, now: int) -> None:
        """Notes that a claim for all other clients asked for so many rows and took these."""
        self.is_behind = False
        if not self.known.are_several():
            self.apart.clear()
            return
        self._others = Counter(row.client_id for row in taken)
        if not taken or len(taken) < asked or now - max(row.fire_at for row in taken) < _OVERDUE:
            return
        self.is_behind = True
        whole = sum(map(self.known.weight, {*self._others, *self.apart}))
        for client, count in self._others.items():
            share = self.known.weight(client) / whole
            most = max(_TOLERANCE * share, _SMALLEST_PART) * len(taken)
            if (count > most or len(self._others) == 1) and len(self.apart) < _MOST_APART:
                self.apart[client] = Stream(client)

    def rooms(self, queues: Collection[int], free: int) -> dict[int, int]:
        """The room of each of these queues (by its number), all of which have due rows."""
        whole = sum(map(self.known.queue_weight, queues))
        return {queue: max(free * self.known.queue_weight(queue) // whole, 1) for queue in queues}

    def budgets(self, free: int, *, capacity: int, taken: Callable[[str], int]) -> Iterator[tuple[Stream, int]]:
        """The room of each client that has a stream; what is left is for all others. ``taken`` tells how much of the
        whole ``capacity`` a client has already: it is asked for each in its turn, since the claims before it took a
        while."""
        whole = sum(map(self.known.weight, self.apart)) + self._weight_of_others()
        for client, stream in list(self.apart.items()):
            share = self.known.weight(client) / whole
            stream.deficit = min(stream.deficit + free * share, free)
            if stream.deficit < 1:
                continue
            left = max(capacity * share, 1) - taken(client)
            if (budget := int(min(stream.deficit, left))) > 0:
                yield stream, budget

    def served(self, stream: Stream, asked: int, taken: int) -> None:
        """Notes how many rows of a client's stream were asked for, and how many there were."""
        stream.deficit -= taken
        if taken < asked / 2:
            self.apart.pop(stream.client, None)

    def _weight_of_others(self) -> int:
        return sum(map(self.known.weight, self._others.keys() - self.apart.keys()))
