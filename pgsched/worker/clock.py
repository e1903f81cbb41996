"""Estimates the database's clock from this machine's monotonic clock.

Every instant is in database time. A worker computes the offset between the database's clock and its own monotonic clock
from results that it needs anyway, and keeps the reading with the shortest round trip. A reading counts as taken when
its result arrived, so the estimate is at most one round trip behind and never ahead, and no row starts before its
instant.
"""

import time

from pgsched.store.core.wire import UNIX_TO_WIRE

_FORGET_AFTER = 30.0
_STEP = 0.01  # if offsets differ by more than the round trips plus this many seconds, one clock was set


class DatabaseClock:
    """Converts between instants (microseconds since 2000-01-01 UTC, as PostgreSQL sends them) and monotonic seconds."""

    def __init__(self) -> None:
        self._offset = 0.0
        self._round_trip = float("inf")
        self._read_at = float("-inf")

    @property
    def known(self) -> bool:
        return self._round_trip != float("inf")

    def observe(self, instant: int, sent: float, received: float) -> None:
        """Takes a reading: the database's time was ``instant`` at some point between ``sent`` and ``received``."""
        round_trip = received - sent
        offset = instant / 1e6 - received
        stepped = abs(offset - self._offset) > round_trip + self._round_trip + _STEP
        if round_trip <= self._round_trip or stepped or received - self._read_at > _FORGET_AFTER:
            self._offset = offset
            self._round_trip, self._read_at = round_trip, received

    def now(self) -> int:
        """Returns the database's time as an instant."""
        return int((time.monotonic() + self._offset) * 1e6)

    def age(self, instant: int) -> float:
        """Returns the seconds since an instant, which are negative if the instant is in the future."""
        return (self.now() - instant) / 1e6

    def monotonic(self, instant: int) -> float:
        """Converts an instant to monotonic time."""
        return instant / 1e6 - self._offset

    def epoch_seconds(self) -> int:
        """Returns the database's time in seconds since 1970, for headers."""
        return (self.now() + UNIX_TO_WIRE) // 1_000_000
