"""The rows for which this worker is responsible, and until when they are surely its own.

A lease is good for a time from when it was asked for or renewed, and a worker for a time from when it last said that
it lives. After that other workers may have the rows, and this process may be the last to find out: its loop stood
still, its machine was frozen, or the database was away. So each row is compared with the moment at which it is
started, and nothing is claimed while it is uncertain whether the others count this worker among the living. Moments
are of the monotonic clock.

While the loop stands still a thread may give up what has not begun (``run.blocked_loop_stand_in``). It first takes
the rows' leases by ``give_up``. Whenever the loop goes on, it starts none of these rows before it has handed all of
them back (``emptied``).
"""

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any

from pgsched.domain.execution import ClaimedExecution
from pgsched.service import Signal

_NEVER = float("-inf")
_QUICKEST = 1e-5
_MOST_WAITING = 4_000
_MOST_TOKENS = 10_000
_ID: Callable[[Any], bytes] = itemgetter(ClaimedExecution._fields.index("id"))
_TOKEN: Callable[[Any], int] = itemgetter(ClaimedExecution._fields.index("token"))
_CLIENT: Callable[[Any], str] = itemgetter(ClaimedExecution._fields.index("client_id"))
WEIGHT = 0.02
"""How much one attempt counts in the typical duration."""


class InHand:
    """Rows by their ids. ``left`` names rows that are not in hand any more, of those whose leaving is ``announced``:
    somebody counts them. ``eased`` says that there is more room."""

    def __init__(self) -> None:
        self.rows: dict[bytes, ClaimedExecution] = {}
        self.claimed_at: dict[int, float] = {}
        """The monotonic moment at which the rows of a token were taken, of the last few thousand tokens."""
        self.announced: set[bytes] = set()
        self.unrecorded: set[bytes] = set()
        """Rows that have ended but cannot be recorded yet, because somebody has locked them. They take no room."""
        self.left: Signal[[Sequence[bytes]]] = Signal()
        self.eased: Signal[[]] = Signal()

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Sequence[ClaimedExecution]) -> None:
        """Takes the rows of a claim. A row that is claimed again is in hand under its new token only."""
        self.rows.update(zip(map(_ID, rows), rows, strict=True))
        self.claimed_at |= dict.fromkeys(map(_TOKEN, rows), time.monotonic())
        while len(self.claimed_at) > _MOST_TOKENS:
            del self.claimed_at[next(iter(self.claimed_at))]

    def has(self, row: ClaimedExecution) -> bool:
        """Whether the row is in hand under this token."""
        held = self.rows.get(row.id)
        return held is not None and held.token == row.token

    def leave(self, ids: Sequence[bytes], tokens: Sequence[int]) -> list[str]:
        """Removes rows that were settled or handed back, each under its token. Returns the client of each."""
        gone = [*map(self.rows.pop, ids, repeat(None))]
        if not all(gone) or [*map(_TOKEN, gone)] != [*tokens]:
            self.rows |= {row.id: row for row in gone if row is not None}
            gone = self._leave_one_by_one(ids, tokens)
        if self.announced and (announced := [id for id in map(_ID, gone) if id in self.announced]):
            self.announced.difference_update(announced)
            self.left(announced)
        if self.unrecorded:
            self.unrecorded &= self.rows.keys()
        self.eased()
        return [*map(_CLIENT, gone)]

    def _leave_one_by_one(self, ids: Sequence[bytes], tokens: Sequence[int]) -> list[ClaimedExecution | None]:
        """The same where some are not in hand any more, or under another token. An id may come twice."""
        gone = list[ClaimedExecution | None]()
        for id, token in zip(ids, tokens, strict=True):
            row = self.rows.get(id)
            if row is not None and row.token == token:
                gone.append(self.rows.pop(id))
        return gone

    def keep_unrecorded(self, ids: Iterable[bytes]) -> None:
        """Keeps rows that have ended and wait to be recorded, without their payloads, which are not needed any more."""
        for id in ids:
            if id in self.rows and id not in self.unrecorded:
                self.rows[id] = self.rows[id]._replace(payload=None)
                self.unrecorded.add(id)
        self.eased()


class LeaseValidity:
    """Every row in hand may be started up to the moment ``until``. ``doubts`` counts how often rows that had not begun
    were handed back."""

    def __init__(self) -> None:
        self.until = float("inf")
        self.doubts = 0
        self.is_given_up = False
        """Whether a thread has given up the rows in hand that have not begun, so that others may have them."""
        self._alive_until = self._fresh_until = float("inf")
        self._void_until = _NEVER

    @property
    def is_alive(self) -> bool:
        """Whether rows that are claimed now will belong to this worker."""
        return time.monotonic() <= self._alive_until and not self.is_given_up

    def claimed(self, until: float) -> None:
        """More rows are in hand, under leases that are good until then."""
        if until <= self._void_until:  # asked for before all was given up, and answered afterwards
            self.is_given_up = True
        self._fresh_until = min(self._fresh_until, until)
        self._count_until(min(self.until, until))

    def emptied(self) -> None:
        """All rows that had not begun were handed back."""
        self.is_given_up = False
        self.doubts += 1
        self.until = self._alive_until

    def renewing(self) -> None:
        """The leases of the rows in hand are about to be renewed."""
        self._fresh_until = float("inf")

    def renewed(self, until: float) -> None:
        """These leases and the worker's own were renewed until then, at least."""
        self._alive_until = until
        self._count_until(min(until, self._fresh_until))

    def _count_until(self, until: float) -> None:
        self.until = until
        if self.is_given_up:  # asked afterwards: it may have come about between these two lines
            self.until = _NEVER

    def give_up(self, void_until: float) -> None:
        """Keeps the loop from starting rows that have not begun, and rows that are claimed under leases asked for until
        now, which are good until ``void_until`` at most. For a thread beside the loop: each step is atomic, and the
        order of the steps matters."""
        self._void_until = void_until
        self.is_given_up = True
        self.until = _NEVER


class AttemptPace:
    """Decides how many rows to have in hand. ``typical`` is the seconds that an attempt takes; the last count most."""

    def __init__(self, *, concurrency: int, ahead: float) -> None:
        self._concurrency, self._ahead = concurrency, ahead
        self.typical = ahead

    @property
    def capacity(self) -> int:
        """As many rows as there are lanes, and as many more as the lanes can finish within the look-ahead.

        Quick handlers need more rows than lanes, or a lane would wait for each claim and each settle; slow ones no
        more, or their rows would wait here while another worker has lanes to spare.
        """
        finished = int(self._concurrency * self._ahead / max(self.typical, _QUICKEST))
        return self._concurrency + min(finished, _MOST_WAITING)

    def observe_running(self, seconds: float) -> None:
        """Takes the seconds that all attempts under way have taken together up to now."""
        self.typical = max(self.typical, seconds / self._concurrency)
