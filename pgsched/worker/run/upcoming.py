"""Rows in hand whose instant is still to come; one alarm serves them all."""

import heapq
import time
from collections.abc import Callable

from pgsched.domain.execution import Execution
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.run.alarm import Alarm

_APART = 0.0005  # rows whose instants are closer than this may start together


class Upcoming:
    """``due`` is given each row at its instant, and ``rung`` called when there were any. ``far`` counts what a gate
    lets pass later than claims look ahead: it takes no room yet."""

    def __init__(
        self, clock: DatabaseClock, *, ahead: float, due: Callable[[Execution], None], rung: Callable[[], None]
    ) -> None:
        self._clock, self._ahead, self._due, self._rung = clock, int(ahead * 1e6), due, rung
        self._rows: list[tuple[int, int, Execution]] = []
        self._far: set[bytes] = set()
        self._order = 0
        self._alarm: Alarm | None = None
        self._rang_at = float("-inf")

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def far(self) -> int:
        return len(self._far)

    def start(self) -> None:
        self._alarm = Alarm(self._ring)

    def add(self, row: Execution, now: int) -> None:
        """``set_alarm`` comes after the last."""
        self._order += 1
        if row.fire_at > now + self._ahead:
            self._far.add(row.id)
        heapq.heappush(self._rows, (row.fire_at, self._order, row))

    def set_alarm(self) -> None:
        if self._rows and self._alarm:
            moment = self._clock.monotonic(self._rows[0][0])
            self._alarm.set(max(moment, self._rang_at + _APART))

    def take_all(self) -> list[Execution]:
        """Nothing is to come any more."""
        rows = [row for _, _, row in self._rows]
        self._rows.clear()
        self._far.clear()
        return rows

    def copy(self) -> list[Execution]:
        """All that are to come. For a thread beside the loop."""
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
            self._far.discard(row.id)
            self._due(row)
        self._rung()
        self.set_alarm()
