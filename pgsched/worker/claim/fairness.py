"""Decides which clients have streams of their own, and what share of the room each gets.

An overloaded worker serves clients by weight, not in order of arrival. A claim reads rows by instant, so a client's
backlog would come before all rows that became due later. If a full claim shows that a client has more than its share of
overdue rows, the client gets its own stream, and claims for other clients skip its rows. Each stream gets its share of
the room (deficit round robin; Shreedhar and Varghese, 1995), but no more than its share of the rows in hand, so that
there is room for new clients. A client that leaves more than half of its share unused loses its stream.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from pgsched.domain.execution import ClaimedExecution
from pgsched.worker.claim.client_streams import Stream
from pgsched.worker.known_settings import KnownSettings

_OVERDUE = 100_000  # microseconds; if the last row of a full claim is this late, the worker is overloaded
_MOST_APART = 16
_SMALLEST_PART = 1 / (2 * _MOST_APART)  # a client with less than this part of a claim gets no stream
_TOLERANCE = 1.1


class Fairness:
    """Gives clients streams of their own. ``apart`` maps each such client to its stream."""

    def __init__(self, clients: KnownSettings) -> None:
        self.known = clients
        self.apart: dict[str, Stream] = {}
        self._others: Counter[str] = Counter()
        self.is_behind = False
        """Whether the last claim for clients without a stream left overdue rows. If so, there are more clients than
        streams, or many clients with few rows each."""

    def leave(self, held: Iterable[str]) -> None:
        """Ends the streams of these clients, whose gates hold executions: rows claimed there would only be held too."""
        for client in held:
            self.apart.pop(client, None)

    def observe(self, taken: Sequence[ClaimedExecution], asked: int, now: int) -> None:
        """Records the result of a claim for the clients that have no stream of their own. ``asked`` is the number of
        rows requested, and ``taken`` contains the rows that were claimed."""
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
        """Divides the room by weight among these queues, which all have due rows."""
        whole = sum(map(self.known.queue_weight, queues))
        return {queue: max(free * self.known.queue_weight(queue) // whole, 1) for queue in queues}

    def budgets(self, free: int, *, capacity: int, taken: Callable[[str], int]) -> Iterator[tuple[Stream, int]]:
        """Yields each stream with its part of the room. The rest is for clients without a stream. ``taken`` returns how
        much of the ``capacity`` a client already uses. Because earlier claims take a while, it is called only when the
        client's stream comes up."""
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
        """Records how many rows a claim from a stream asked for, and how many it took."""
        stream.deficit -= taken
        if taken < asked / 2:
            self.apart.pop(stream.client, None)

    def _weight_of_others(self) -> int:
        return sum(map(self.known.weight, self._others.keys() - self.apart.keys()))
