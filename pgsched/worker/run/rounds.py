"""In which order the rows in hand start, where several clients have some.

A client whose rows take long to begin (functions that fail, hosts that refuse, all of which cost a moment of the
process each) would keep every other waiting behind the hundreds that were claimed with its. So rows start in rounds:
in each a client has a few, in the order in which they came, and the rest of its rows stay behind for the next rounds.
"""

from collections import deque
from collections.abc import Callable, Iterator

from pgsched.domain.execution import Execution

_EACH = 8


class Rounds:
    """``now`` is what the lanes take from: empty only where nothing is behind. Whoever has taken its last row begins
    the next round. ``is_wanted`` says whether there are several clients."""

    def __init__(self, is_wanted: Callable[[], bool]) -> None:
        self.now: deque[Execution] = deque()
        self._is_wanted = is_wanted
        self._given: dict[str, int] = {}
        self._behind: dict[str, deque[Execution]] = {}

    def __len__(self) -> int:
        return len(self.now) + sum(map(len, self._behind.values()))

    def __iter__(self) -> Iterator[Execution]:
        yield from self.now
        for rows in self._behind.values():
            yield from rows

    def add(self, row: Execution) -> None:
        """It starts in this round, or as soon as those of its client that came before it have."""
        if not self._is_wanted() and not self._behind:
            self.now.append(row)
            return
        if not self.now:
            self._given.clear()
        client = row.client_id
        given = self._given.get(client, 0)
        if client in self._behind:
            self._behind[client].append(row)
        elif given < _EACH:
            self._given[client] = given + 1
            self.now.append(row)
        else:
            self._behind[client] = deque((row,))

    def begin_next(self) -> None:
        """To be called when all of a round have started."""
        self._given.clear()
        for client, rows in list(self._behind.items()):
            count = self._given[client] = min(_EACH, len(rows))
            self.now.extend(rows.popleft() for _ in range(count))
            if not rows:
                del self._behind[client]

    def take_last(self) -> Execution:
        """One that would be among the last to start."""
        if not self._behind:
            return self.now.pop()
        client = max(self._behind, key=lambda client: len(self._behind[client]))
        row = self._behind[client].pop()
        if not self._behind[client]:
            del self._behind[client]
        return row

    def clear(self) -> None:
        for rows in (self.now, self._given, self._behind):
            rows.clear()
