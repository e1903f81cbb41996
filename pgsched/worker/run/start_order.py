"""The order in which due rows start.

Even rows that fail at once, such as those with a refused connection, take some of the process's time, and a client may
have hundreds of them. So that other clients' rows do not wait behind all of them, due rows start in rounds. In each
round, a client starts a few rows, in order of arrival, and its other rows wait for the next rounds.
"""

from collections import deque
from collections.abc import Callable, Iterator

from pgsched.domain.execution import ClaimedExecution

_EACH = 8


class StartOrder:
    """Due rows, in rounds. Lanes take rows from ``now``. ``behind`` contains the rows for later rounds, by client. The
    lane that takes the last row of a round begins the next round. ``is_wanted`` returns whether there are several
    clients."""

    def __init__(self, is_wanted: Callable[[], bool]) -> None:
        self.now: deque[ClaimedExecution] = deque()
        self._is_wanted = is_wanted
        self._given: dict[str, int] = {}
        self.behind: dict[str, deque[ClaimedExecution]] = {}

    def __len__(self) -> int:
        return len(self.now) + sum(map(len, self.behind.values()))

    def __iter__(self) -> Iterator[ClaimedExecution]:
        yield from self.now
        for rows in self.behind.values():
            yield from rows

    def add(self, row: ClaimedExecution) -> None:
        """Adds a row to this round, or to a later round if its client has used up its share of this round."""
        if not self._is_wanted() and not self.behind:
            self.now.append(row)
            return
        if not self.now:
            self._given.clear()
        client = row.client_id
        given = self._given.get(client, 0)
        if client in self.behind:
            self.behind[client].append(row)
        elif given < _EACH:
            self._given[client] = given + 1
            self.now.append(row)
        else:
            self.behind[client] = deque((row,))

    def begin_next(self) -> None:
        """Begins the next round. Must be called when all rows of a round have started."""
        self._given.clear()
        for client, rows in list(self.behind.items()):
            count = self._given[client] = min(_EACH, len(rows))
            self.now.extend(rows.popleft() for _ in range(count))
            if not rows:
                del self.behind[client]

    def take_last(self) -> ClaimedExecution:
        """Removes and returns one of the rows that would start last."""
        if not self.behind:
            return self.now.pop()
        client = max(self.behind, key=lambda client: len(self.behind[client]))
        row = self.behind[client].pop()
        if not self.behind[client]:
            del self.behind[client]
        return row

    def take(self, wanted: Callable[[ClaimedExecution], bool]) -> list[ClaimedExecution]:
        """Removes and returns the rows that match."""
        taken = [row for row in self if wanted(row)]
        if taken:
            ids = {row.id for row in taken}
            for rows in (self.now, *self.behind.values()):
                kept = [row for row in rows if row.id not in ids]
                rows.clear()
                rows.extend(kept)
            self.behind = {client: rows for client, rows in self.behind.items() if rows}
            if self.behind and not self.now:
                self.begin_next()
        return taken
