"""Until when what is in hand is surely this worker's, by the monotonic clock.

A lease is good for a time from when it was asked for or renewed, and a worker for a time from when it last said that
it lives. After that others may have the rows, and this process may be the last to find out: its loop stood still, its
machine was frozen, the database was away. So each row is compared with the moment at which it is started, and nothing
is claimed while it is uncertain whether the others count this worker among the living.
"""

import time


class Tenure:
    """``until`` is the moment up to which every row in hand may be started."""

    def __init__(self) -> None:
        self.until = float("inf")
        self._alive_until = self._fresh_until = float("inf")

    @property
    def is_alive(self) -> bool:
        """Whether what is claimed now will be this worker's."""
        return time.monotonic() <= self._alive_until

    def claimed(self, until: float) -> None:
        """More is in hand, under leases that are good until then."""
        self._fresh_until = min(self._fresh_until, until)
        self.until = min(self.until, until)

    def emptied(self) -> None:
        """Nothing is in hand that has not been started."""
        self.until = self._alive_until

    def renewing(self) -> None:
        """The leases of what is in hand now are about to be renewed."""
        self._fresh_until = float("inf")

    def renewed(self, until: float) -> None:
        """They are, and the worker's own, until then at least."""
        self._alive_until = until
        self.until = min(until, self._fresh_until)
