"""Rows in hand that have not begun: those whose instant is still to come, and the order in which due rows start.

One alarm serves all rows that are still to come. Where several clients have due rows, a client whose rows take long to
begin (functions that fail, or hosts that refuse, each of which costs a moment of the process) would keep every other
client waiting behind the hundreds that were claimed with its rows. So due rows start in rounds: in each round a client
has a few, in the order in which they came, and its other rows wait for the next rounds.
"""

import heapq
import time
from collections import deque
from collections.abc import Callable, Iterator

from pgsched.domain.execution import ClaimedExecution
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.run.precise_timer import PreciseTimer

_APART = 0.0005  # rows whose instants are closer than this may start together
_EACH = 8


class Upcoming:
    """Gives ``due`` each row at its instant, and then calls ``rung``. ``far`` are rows that a gate lets pass later
    than claims look ahead: they take no room yet."""

    def __init__(
        self, clock: DatabaseClock, *, ahead: float, due: Callable[[ClaimedExecution], None], rung: Callable[[], None]
    ) -> None:
        self._clock, self._ahead, self._due, self._rung = clock, int(ahead * 1e6), due, rung
        self._rows: list[tuple[int, int, ClaimedExecution]] = []
        self.far: set[bytes] = set()
        self._order = 0
        self._alarm: PreciseTimer | None = None
        self._rang_at = float("-inf")

    def __len__(self) -> int:
        return len(self._rows)

    def start(self) -> None:
        self._alarm = PreciseTimer(self._ring)

    def add(self, row: ClaimedExecution, now: int) -> None:
        """Adds a row. ``set_alarm`` must be called after the last one."""
        self._order += 1
        if row.fire_at > now + self._ahead:
            self.far.add(row.id)
        heapq.heappush(self._rows, (row.fire_at, self._order, row))

    def set_alarm(self) -> None:
        if self._rows and self._alarm:
            moment = self._clock.monotonic(self._rows[0][0])
            self._alarm.set(max(moment, self._rang_at + _APART))

    def take(self, wanted: Callable[[ClaimedExecution], bool]) -> list[ClaimedExecution]:
        """Removes the rows for which this is so, and returns them."""
        rows = [row for _, _, row in self._rows if wanted(row)]
        if rows:
            ids = {row.id for row in rows}
            self._rows = [one for one in self._rows if one[2].id not in ids]
            heapq.heapify(self._rows)
            self.far -= ids
        return rows

    def copy(self) -> list[ClaimedExecution]:
        """A copy of all rows. For a thread beside the loop."""
        return [row for _, _, row in [*self._rows]]

    def close(self) -> None:
        if self._alarm:
            self._alarm.close()
            self._alarm = None

    def _ring(self) -> None:
        self._rang_at = time.monotonic()
        now = self._clock.now()
        while self._rows and self._rows[0][0] <= now:
            row = heapq.heappop(self._rows)[2]
            self.far.discard(row.id)
            self._due(row)
        self._rung()
        self.set_alarm()


class StartOrder:
    """The order in which due rows start. Lanes take rows from ``now``; whoever takes the last one begins the next round
    if rows are left ``behind`` for it, by client. ``is_wanted`` says whether there are several clients."""

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
        """Adds a row to this round, or to a later one if its client has had its share of this one."""
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
        """To be called when all rows of a round have started."""
        self._given.clear()
        for client, rows in list(self.behind.items()):
            count = self._given[client] = min(_EACH, len(rows))
            self.now.extend(rows.popleft() for _ in range(count))
            if not rows:
                del self.behind[client]

    def take_last(self) -> ClaimedExecution:
        """Removes and returns a row that would be among the last to start."""
        if not self.behind:
            return self.now.pop()
        client = max(self.behind, key=lambda client: len(self.behind[client]))
        row = self.behind[client].pop()
        if not self.behind[client]:
            del self.behind[client]
        return row

    def take(self, wanted: Callable[[ClaimedExecution], bool]) -> list[ClaimedExecution]:
        """Removes the rows for which this is so, and returns them."""
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
