"""Fair shares, and how much one claim asks for.

When there is more to do than this worker can, clients are served by weight and not by who came first. A claim reads in
the order of instants, so a client with a backlog stands before all who came later. Once a claim that was filled to the
last row shows a client with more than its share of overdue rows, that client is claimed from apart, with a mark of its
own of how far it has been read, and the claims of all the others pass its rows over. Each then has its share of the
room (deficit round robin; Shreedhar and Varghese, 1995), and no more than its share of the rows in hand, so that there
is room for newcomers. A client that leaves half of its share unused is one among the others again.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pgsched.domain.execution import ClaimedExecution
from pgsched.worker.claim.marks import Marks
from pgsched.worker.claim.precedence import Precedence
from pgsched.worker.directory import Directory

_LONG = 0.03
_FEWEST = 64
_OVERDUE = 100_000  # microseconds by which a full claim's last row is late where there is more than can be done
_MOST_APART = 16
_SMALLEST_PART = 1 / (2 * _MOST_APART)  # of a claim: many clients have as much, and cannot all be claimed from apart
_TOLERANCE = 1.1
FIRST = 500
"""How many rows a claim that others wait for may ask for, before it is known how long such a claim takes."""
_LONGEST_APART = 0.03  # seconds that a claim for one client is to take: those of the others wait for it


class Stride:
    """Bounds how many rows one claim asks for. A claim decides row by row whose turn it is under an ordering key, and
    what a gate lets pass. Claims for other clients wait for it, and so do settles in the same partitions. So a claim
    that took long is followed by smaller ones, until they are quick."""

    def __init__(self, *, long: float = _LONG, most: float = math.inf) -> None:
        self._long = long
        self.most = most
        """How many rows one claim may ask for."""

    def took(self, seconds: float, admitted: int, *, of: int) -> None:
        """Notes how long a claim took, of whose ``of`` rows so many had to be admitted. Only these count, by their part
        of the time: other rows, such as runs of jobs, cost less each the more there are. More may have been admitted
        than were claimed in the end: the connection broke, or the claim was tried again without them."""
        theirs = seconds * admitted / max(of, admitted) if admitted else 0.0
        if theirs > self._long:
            self.most = max(min(self.most, admitted) // 2, _FEWEST)
        elif theirs < self._long / 2:
            self.most = self.most * 2 if self.most < 1 << 16 else math.inf


class Backlog(Marks):
    """A client that is claimed from apart, and how far it has been read."""

    def __init__(self, client: str) -> None:
        super().__init__()
        self.client = client
        self.deficit = 0.0
        self.stride = Stride(long=_LONGEST_APART, most=FIRST)
        self.precedence = Precedence()


class Fairness:
    """Which clients are claimed from ``apart``, and what share of the room each has."""

    def __init__(self, clients: Directory) -> None:
        self.known = clients
        self.apart: dict[str, Backlog] = {}
        self._others: Counter[str] = Counter()
        self.is_behind = False
        """Whether the last claim for all other clients left overdue rows: there are more clients than can be claimed
        from apart, or many with few rows each."""

    def leave(self, held: Iterable[str]) -> None:
        """Claims from these clients apart no more: their gates hold their rows back, so claims would only hold rows."""
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
                self.apart[client] = Backlog(client)

    def rooms(self, queues: Collection[int], free: int) -> dict[int, int]:
        """The room of each of these queues (by its number), all of which have due rows."""
        whole = sum(map(self.known.queue_weight, queues))
        return {queue: max(free * self.known.queue_weight(queue) // whole, 1) for queue in queues}

    def budgets(self, free: int, *, capacity: int, taken: Mapping[str, int]) -> Iterator[tuple[Backlog, int]]:
        """The budget of each client that is claimed from apart; the rest of the room is for all others. Of the whole
        ``capacity`` each client has ``taken`` so much already."""
        whole = sum(map(self.known.weight, self.apart)) + self._weight_of_others()
        for backlog in list(self.apart.values()):
            share = self.known.weight(backlog.client) / whole
            backlog.deficit = min(backlog.deficit + free * share, free)
            left = max(capacity * share, 1) - taken.get(backlog.client, 0)
            if (budget := int(min(backlog.deficit, left))) > 0:
                yield backlog, budget

    def served(self, backlog: Backlog, asked: int, taken: int) -> None:
        """Notes how many rows of a client's share were asked for, and how many there were."""
        backlog.deficit -= taken
        if taken < asked / 2:
            self.apart.pop(backlog.client, None)

    def _weight_of_others(self) -> int:
        return sum(map(self.known.weight, self._others.keys() - self.apart.keys()))
