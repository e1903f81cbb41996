"""The rows that this worker holds, and how long it is certain to hold them.

A lease or a worker's registration is valid for a fixed time after it was requested or renewed. After that time, other
workers may have taken the rows, and this process may be the last to notice: its loop may have been blocked, its machine
frozen, or the database unreachable. So each row's lease is checked when the row starts, and nothing is claimed while
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
"""The weight of one attempt in the moving average of durations."""


class InHand:
    """The rows in hand, by id. ``announced`` lists the ids of rows that other parts of the worker count. When such rows
    leave, the signal ``left`` passes their ids. The signal ``eased`` means that there is more room."""

    def __init__(self) -> None:
        self.rows: dict[bytes, ClaimedExecution] = {}
        self.claimed_at: dict[int, float] = {}
        """The monotonic times at which the rows of the last few thousand tokens were taken."""
        self.announced: set[bytes] = set()
        self.unrecorded: set[bytes] = set()
        """Rows that have ended, but whose end cannot be recorded yet because they are locked. Such rows take no
        room."""
        self.left: Signal[[Sequence[bytes]]] = Signal()
        self.eased: Signal[[]] = Signal()

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Sequence[ClaimedExecution]) -> None:
        """Adds the rows of a claim. If a row in hand is claimed again, its new token replaces the old one."""
        self.rows.update(zip(map(_ID, rows), rows, strict=True))
        self.claimed_at |= dict.fromkeys(map(_TOKEN, rows), time.monotonic())
        while len(self.claimed_at) > _MOST_TOKENS:
            del self.claimed_at[next(iter(self.claimed_at))]

    def has(self, row: ClaimedExecution) -> bool:
        """Whether the row is in hand under this token."""
        held = self.rows.get(row.id)
        return held is not None and held.token == row.token

    def leave(self, ids: Sequence[bytes], tokens: Sequence[int]) -> list[str]:
        """Removes rows that were settled or handed back, if they are in hand under these tokens. Returns the client of
        each removed row."""
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
        """Removes and returns the rows that are in hand under these tokens. An id may occur twice."""
        gone = list[ClaimedExecution | None]()
        for id, token in zip(ids, tokens, strict=True):
            row = self.rows.get(id)
            if row is not None and row.token == token:
                gone.append(self.rows.pop(id))
        return gone

    def keep_unrecorded(self, ids: Iterable[bytes]) -> None:
        """Keeps rows whose end has yet to be recorded. Drops their payloads, which are no longer needed."""
        for id in ids:
            if id in self.rows and id not in self.unrecorded:
                self.rows[id] = self.rows[id]._replace(payload=None)
                self.unrecorded.add(id)
        self.eased()


class LeaseValidity:
    """How long the leases of rows in hand are valid. ``until`` is the time after which no row may start. ``doubts``
    counts how often all rows that had not begun were handed back."""

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
        """Records that rows were claimed; ``until`` is the end of their leases' validity."""
        if until <= self._void_until:  # the claim was requested before rows were given up, and answered afterwards
            self.is_given_up = True
        self._fresh_until = min(self._fresh_until, until)
        self._count_until(min(self.until, until))

    def emptied(self) -> None:
        """Must be called when all rows that had not begun have been handed back."""
        self.is_given_up = False
        self.doubts += 1
        self.until = self._alive_until

    def renewing(self) -> None:
        """Must be called before the leases of the rows in hand are renewed."""
        self._fresh_until = float("inf")

    def renewed(self, until: float) -> None:
        """Must be called when the leases of the rows in hand and the worker's registration have been renewed. ``until``
        is the earliest end of their validity."""
        self._alive_until = until
        self._count_until(min(until, self._fresh_until))

    def _count_until(self, until: float) -> None:
        self.until = until
        if self.is_given_up:  # checked after ``until`` is set, because a thread may set it in between
            self.until = _NEVER

    def give_up(self, void_until: float) -> None:
        """Keeps the loop from starting rows that have not begun. This includes rows of claims in flight, whose leases
        end at ``void_until`` at the latest. Called from another thread, so each step is atomic, and their order
        matters."""
        self._void_until = void_until
        self.is_given_up = True
        self.until = _NEVER


class AttemptPace:
    """Decides how many rows the worker holds. ``typical`` is a moving average of the seconds that an attempt takes."""

    def __init__(self, *, concurrency: int, ahead: float) -> None:
        self._concurrency, self._ahead = concurrency, ahead
        self.typical = ahead

    @property
    def capacity(self) -> int:
        """The number of rows to hold: one for each lane, plus those that the lanes can finish within the look-ahead.

        With fewer rows, lanes with quick handlers would wait for each claim and for each batch to be settled. With more
        rows, some would wait for slow handlers here while another worker has idle lanes.
        """
        finished = int(self._concurrency * self._ahead / max(self.typical, _QUICKEST))
        return self._concurrency + min(finished, _MOST_WAITING)

    def observe_running(self, seconds: float) -> None:
        """Updates ``typical`` from the total seconds that all running attempts have taken so far."""
        self.typical = max(self.typical, seconds / self._concurrency)
