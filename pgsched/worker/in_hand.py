"""The rows for which this worker is responsible, and until when they are surely its own.

A lease is good for a time from when it was asked for or renewed, and a worker for a time from when it last said that
it lives. After that other workers may have the rows, and this process may be the last to find out: its loop stood
still, its machine was frozen, or the database was away. So each row is compared with the moment at which it is
started, and nothing is claimed while it is uncertain whether the others count this worker among the living. Moments
are of the monotonic clock.

While the loop stands still a thread may give up what has not begun (``run.stand_in``). It first takes the rows' leases
by ``give_up``. Whenever the loop goes on, it starts none of these rows before it has handed all of them back
(``emptied``).
"""

import time
from collections.abc import Iterable, Sequence

from pgsched.domain.execution import Execution
from pgsched.signals import Signal

_NEVER = float("-inf")


class InHand:
    """Rows by their ids. ``left`` tells of the ids of those that are out of hand, ``eased`` that there is more room."""

    def __init__(self) -> None:
        self.rows: dict[bytes, Execution] = {}
        self.unrecorded: set[bytes] = set()
        """Those that have ended, but cannot be recorded yet, since somebody has locked them. They take no room."""
        self.left: Signal[[Sequence[bytes]]] = Signal()
        self.eased: Signal[[]] = Signal()

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Iterable[Execution]) -> None:
        """A row that is claimed again is in hand under its new token alone."""
        self.rows.update((row.id, row) for row in rows)

    def has(self, row: Execution) -> bool:
        """Whether it is in hand, and under this token."""
        held = self.rows.get(row.id)
        return held is not None and held.token == row.token

    def leave(self, rows: Iterable[tuple[bytes, int]]) -> None:
        """These rows, each with its token, were settled or handed back."""
        gone = []
        for id, token in rows:
            held = self.rows.get(id)
            if held is not None and held.token == token:
                del self.rows[id]
                gone.append(id)
        self.unrecorded.difference_update(gone)
        self.left(gone)
        self.eased()

    def keep_unrecorded(self, ids: Iterable[bytes]) -> None:
        """These have ended, and wait to be recorded: what they carry is needed no more."""
        for id in ids:
            if id in self.rows and id not in self.unrecorded:
                self.rows[id] = self.rows[id]._replace(payload=None)
                self.unrecorded.add(id)
        self.eased()


class Tenure:
    """``until`` is the moment up to which every row in hand may be started; ``doubts`` counts how often what had not
    begun was handed back."""

    def __init__(self) -> None:
        self.until = float("inf")
        self.doubts = 0
        self.is_given_up = False
        """Whether what is in hand and has not begun may be with others by a thread's doing."""
        self._alive_until = self._fresh_until = float("inf")
        self._void_until = _NEVER

    @property
    def is_alive(self) -> bool:
        """Whether what is claimed now will be this worker's."""
        return time.monotonic() <= self._alive_until and not self.is_given_up

    def claimed(self, until: float) -> None:
        """More is in hand, under leases that are good until then."""
        if until <= self._void_until:  # asked for before all was given up, and answered afterwards
            self.is_given_up = True
        self._fresh_until = min(self._fresh_until, until)
        self._count_until(min(self.until, until))

    def emptied(self) -> None:
        """Nothing is in hand that has not been started."""
        self.is_given_up = False
        self.doubts += 1
        self.until = self._alive_until

    def renewing(self) -> None:
        """The leases of what is in hand now are about to be renewed."""
        self._fresh_until = float("inf")

    def renewed(self, until: float) -> None:
        """They are, and the worker's own, until then at least."""
        self._alive_until = until
        self._count_until(min(until, self._fresh_until))

    def _count_until(self, until: float) -> None:
        self.until = until
        if self.is_given_up:  # asked afterwards: it may have come about between these two lines
            self.until = _NEVER

    def give_up(self, void_until: float) -> None:
        """What has not begun is not started any more, nor what is claimed under leases asked for until now, which are
        good until ``void_until`` at the most. For a thread beside the loop: each step of this is atomic, and their
        order is what counts."""
        self._void_until = void_until
        self.is_given_up = True
        self.until = _NEVER
