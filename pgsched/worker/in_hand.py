"""The rows that this worker holds, and until when it certainly holds them.

A lease is valid for a fixed time after it was requested or renewed, and so is a worker's registration. After that,
other workers may have taken the rows, and this process may be the last to notice: its loop was blocked, its machine was
frozen, or the database was away. So each row's lease is checked when the row starts, and nothing is claimed while the
other workers may consider this worker lost. All times are monotonic.

While the loop is blocked, a thread may give up the rows that have not begun (``run.blocked_loop_stand_in``). It first
invalidates their leases in memory (``give_up``). When the loop resumes, it hands all these rows back before it starts
any of them (``emptied``).
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
"""The weight of one attempt in the typical duration."""


class InHand:
    """Rows by id. The signal ``left`` passes the ids of rows that leave, if they are ``announced``: another part counts
    them. ``eased`` means that there is more room."""

    def __init__(self) -> None:
        self.rows: dict[bytes, ClaimedExecution] = {}
        self.claimed_at: dict[int, float] = {}
        """The monotonic time at which a token's rows were taken, for the last few thousand tokens."""
        self.announced: set[bytes] = set()
        self.unrecorded: set[bytes] = set()
        """Rows that have ended but cannot be recorded yet, because they are locked. They take no room."""
        self.left: Signal[[Sequence[bytes]]] = Signal()
        self.eased: Signal[[]] = Signal()

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Sequence[ClaimedExecution]) -> None:
        """Adds the rows of a claim. A row that is claimed again is in hand only under its new token."""
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
        """``leave`` for rows of which some are no longer in hand or have another token. An id may occur twice."""
        gone = list[ClaimedExecution | None]()
        for id, token in zip(ids, tokens, strict=True):
            row = self.rows.get(id)
            if row is not None and row.token == token:
                gone.append(self.rows.pop(id))
        return gone

    def keep_unrecorded(self, ids: Iterable[bytes]) -> None:
        """Keeps rows that have ended and wait to be recorded. Drops their payloads, which are no longer needed."""
        for id in ids:
            if id in self.rows and id not in self.unrecorded:
                self.rows[id] = self.rows[id]._replace(payload=None)
                self.unrecorded.add(id)
        self.eased()


class LeaseValidity:
    """Rows in hand may start before ``until``. ``doubts`` counts how often the rows that had not begun were handed
    back."""

    def __init__(self) -> None:
        self.until = float("inf")
        self.doubts = 0
        self.is_given_up = False
        """Whether a thread has given up the rows that have not begun, so that other workers may have them."""
        self._alive_until = self._fresh_until = float("inf")
        self._void_until = _NEVER

    @property
    def is_alive(self) -> bool:
        """Whether this worker may claim rows now."""
        return time.monotonic() <= self._alive_until and not self.is_given_up

    def claimed(self, until: float) -> None:
        """Notes newly claimed rows, whose leases are valid until then."""
        if until <= self._void_until:  # requested before the rows were given up, and answered afterwards
            self.is_given_up = True
        self._fresh_until = min(self._fresh_until, until)
        self._count_until(min(self.until, until))

    def emptied(self) -> None:
        """Notes that all rows that had not begun were handed back."""
        self.is_given_up = False
        self.doubts += 1
        self.until = self._alive_until

    def renewing(self) -> None:
        """Notes that the leases of the rows in hand are about to be renewed."""
        self._fresh_until = float("inf")

    def renewed(self, until: float) -> None:
        """Notes that these leases and the worker's registration were renewed until at least then."""
        self._alive_until = until
        self._count_until(min(until, self._fresh_until))

    def _count_until(self, until: float) -> None:
        self.until = until
        if self.is_given_up:  # checked last, because a thread may set it between these two lines
            self.until = _NEVER

    def give_up(self, void_until: float) -> None:
        """Keeps the loop from starting rows that have not begun, including rows of claims in flight, whose leases are
        valid until ``void_until`` at most. Called in another thread: each step is atomic, and the order matters."""
        self._void_until = void_until
        self.is_given_up = True
        self.until = _NEVER


class AttemptPace:
    """Decides how many rows to hold. ``typical`` is a moving average of the seconds that an attempt takes."""

    def __init__(self, *, concurrency: int, ahead: float) -> None:
        self._concurrency, self._ahead = concurrency, ahead
        self.typical = ahead

    @property
    def capacity(self) -> int:
        """One row for each lane, plus the rows that the lanes can finish within the look-ahead.

        With quick handlers, a lane would otherwise wait for each claim and each settle. With slow handlers, further
        rows would wait here while another worker has idle lanes.
        """
        finished = int(self._concurrency * self._ahead / max(self.typical, _QUICKEST))
        return self._concurrency + min(finished, _MOST_WAITING)

    def observe_running(self, seconds: float) -> None:
        """Takes the total seconds that all running attempts have taken so far."""
        self.typical = max(self.typical, seconds / self._concurrency)
