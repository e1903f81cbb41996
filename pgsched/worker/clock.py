"""The database's clock, read off this machine's monotonic one.

Every instant is the database's. A worker learns the difference to its own monotonic clock from the answers it gets
anyway, and keeps the reading with the shortest round trip. The reading counts as taken when the answer came in, so
the clock is behind by at most that round trip and never ahead: nothing starts before its instant.
"""

import time

from pgsched.store.core.wire import UNIX_TO_WIRE

_FORGET_AFTER = 30.0
_STEP = 0.01  # more than two readings can differ by their round trips: one of the clocks was set


class DatabaseClock:
    """Converts between instants (microseconds since 2000-01-01 UTC, as on the wire) and monotonic seconds."""

    def __init__(self) -> None:
        self._offset = 0.0
        self._round_trip = float("inf")
        self._read_at = float("-inf")

    @property
    def known(self) -> bool:
        return self._round_trip != float("inf")

    def observe(self, instant: int, sent: float, received: float) -> None:
        """Takes a reading: the server said ``instant`` between the two monotonic moments."""
        round_trip = received - sent
        offset = instant / 1e6 - received
        stepped = abs(offset - self._offset) > round_trip + self._round_trip + _STEP
        if round_trip <= self._round_trip or stepped or received - self._read_at > _FORGET_AFTER:
            self._offset = offset
            self._round_trip, self._read_at = round_trip, received

    def now(self) -> int:
        """The database's time, as an instant."""
        return int((time.monotonic() + self._offset) * 1e6)

    def age(self, instant: int) -> float:
        """Seconds since an instant; negative before it."""
        return (self.now() - instant) / 1e6

    def monotonic(self, instant: int) -> float:
        """When an instant comes, on the monotonic clock."""
        return instant / 1e6 - self._offset

    def epoch_seconds(self) -> int:
        """The database's time in seconds since 1970, for headers."""
        return (self.now() + UNIX_TO_WIRE) // 1_000_000
