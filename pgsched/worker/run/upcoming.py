"""Rows in hand whose instant is in the future. One timer serves all of them."""

import heapq
import time
from collections.abc import Callable

from pgsched.domain.execution import ClaimedExecution
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.run.precise_timer import PreciseTimer

_APART = 0.0005  # seconds; rows whose instants are closer together than this may start together


class Upcoming:
    """Passes each row to ``due`` at its instant, and then calls ``rung``. ``far`` contains the rows that a gate lets
    pass only after the look-ahead of claims. Such rows take no room yet."""

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
        """Adds a row. ``set_alarm`` must be called after the last row."""
        self._order += 1
        if row.fire_at > now + self._ahead:
            self.far.add(row.id)
        heapq.heappush(self._rows, (row.fire_at, self._order, row))

    def set_alarm(self) -> None:
        if self._rows and self._alarm:
            moment = self._clock.monotonic(self._rows[0][0])
            self._alarm.set(max(moment, self._rang_at + _APART))

    def take(self, wanted: Callable[[ClaimedExecution], bool]) -> list[ClaimedExecution]:
        """Removes and returns the rows that match."""
        rows = [row for _, _, row in self._rows if wanted(row)]
        if rows:
            ids = {row.id for row in rows}
            self._rows = [one for one in self._rows if one[2].id not in ids]
            heapq.heapify(self._rows)
            self.far -= ids
        return rows

    def copy(self) -> list[ClaimedExecution]:
        """Copies all rows, for another thread."""
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
