"""Rows in hand that have not begun, wherever they wait in the worker, and what keeps them from beginning.

While a row waits for its instant, a lane or a slot, it may be cancelled, edited, paused or held in the database. After
the worker is notified of a change, no affected row begins without a check:

- Rows that a notification names are kept back until the database has confirmed that they still belong to this worker
  and are unchanged (``renewer``). Any login may notify, so a notification alone ends no row.
- Rows whose gate was shut or whose queue was paused are recalled: they are handed back, so that the next claim checks
  them. Rows that are kept back at that time are handed back after their check.

A claim that is in flight when the notification arrives may return such rows later. So named rows and recalls are
remembered, and applied to the rows of that claim. Named rows are also looked for in later claims, because a change
skips rows that a claim has just locked, and such a claim may fail. A row in its lane is checked too, after it has
waited for the database: for its payload, or for the record of its only attempt.
"""

import time
from collections.abc import Callable, Collection, Iterable
from itertools import islice

from pgsched.domain.attempt_outcome import Released
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import DEFAULT_OPTIONS
from pgsched.service import Signal
from pgsched.worker.in_hand import InHand
from pgsched.worker.run.start_order import StartOrder
from pgsched.worker.run.upcoming import Upcoming
from pgsched.worker.run.waiting_for_slot import Settle, WaitingForSlot

Wanted = Callable[[ClaimedExecution], bool]
_NEVER = float("-inf")
_MOST_NAMED, _MOST_RECALLS = 10_000, 100


class UnbegunRows:
    """The rows that have not begun. Rows in ``kept_back`` must not begin before the database has confirmed them; the
    signal ``asks`` means that there are new rows to confirm. ``sure`` is the number of seconds after a claim's request
    in which the claim's rows may begin.
    """

    def __init__(
        self,
        rounds: StartOrder,
        upcoming: Upcoming,
        waiting: WaitingForSlot,
        *,
        in_hand: InHand,
        settle: Settle,
        sure: float = 0.0,
    ) -> None:
        self._rounds, self._upcoming, self._waiting, self._in_hand = rounds, upcoming, waiting, in_hand
        self._settle, self._sure = settle, sure
        self.kept_back: dict[bytes, ClaimedExecution] = {}
        self.asks: Signal[[]] = Signal()
        self.told_until = _NEVER
        """A claim whose leases are valid until this time or earlier was requested before the last notified change."""
        self.named: dict[bytes, float] = {}
        """Rows that were named lately, each with the value of ``told_until`` when it was named."""
        self._recalls: list[tuple[float, Wanted]] = []
        self._recalled: set[bytes] = set()  # rows in ``kept_back`` that were recalled

    def __len__(self) -> int:
        return len(self._rounds) + len(self._upcoming) + self._waiting.count + len(self.kept_back)

    def copy(self) -> list[ClaimedExecution]:
        """Copies all rows, for another thread. Raises RuntimeError if they change during the copy."""
        return [*self._rounds, *self._upcoming.copy(), *self._waiting.copy(), *self.kept_back.values()]

    def take_all(self) -> list[ClaimedExecution]:
        """Removes and returns all rows."""
        rows = [*self._take(lambda _: True), *self.kept_back.values()]
        self.kept_back.clear()
        self._recalled.clear()
        return rows

    def name(self, ids: Collection[bytes]) -> None:
        """Keeps these rows back, including those that a claim in flight may return."""
        self._tell()
        for id in ids:
            self.named.pop(id, None)
            self.named[id] = self.told_until
        for id in [*islice(self.named, max(len(self.named) - _MOST_NAMED, 0))]:
            del self.named[id]
        if not self._in_hand.rows.keys().isdisjoint(ids):
            self._keep_back(self._take(lambda row: row.id in ids))

    def recall(self, wanted: Wanted) -> None:
        """Hands back the rows that match, including those that a claim in flight may return."""
        self._tell()
        self._recalls = [*self._recalls[1 - _MOST_RECALLS :], (self.told_until, wanted)]
        self._recalled.update(id for id, row in self.kept_back.items() if wanted(row))
        self._hand_back(self._take(wanted))

    def sift(self, rows: list[ClaimedExecution], sure_until: float) -> list[ClaimedExecution]:
        """Returns the rows of a claim that may begin. Keeps back or hands back the others."""
        named = {row.id for row in rows if row.id in self.named}
        recalls = [wanted for until, wanted in self._recalls if until >= sure_until]
        recalled = {row.id for row in rows if any(wanted(row) for wanted in recalls)}
        self._keep_back(row for row in rows if row.id in named)
        self._recalled |= recalled & named
        self._hand_back(row for row in rows if row.id in recalled - named)
        return [row for row in rows if row.id not in named and row.id not in recalled]

    def may_begin(self, row: ClaimedExecution, since: float) -> bool:
        """Returns whether a row that has waited in its lane may begin; if not, keeps it back or hands it back. The row
        was taken at ``since`` (monotonic)."""
        return bool(self.sift([row], since + self._sure))

    def take(self, ids: Collection[bytes]) -> list[ClaimedExecution]:
        """Removes and returns these rows."""
        return [*self._take(lambda row: row.id in ids), *self._take_kept_back(ids)]

    def let_go_on(self, ids: Iterable[bytes], asked_at: float) -> list[ClaimedExecution]:
        """Removes and returns the rows among these that are kept back, except rows that were named after the query at
        ``asked_at``, which stay. Rows that were recalled in the meantime are handed back instead."""
        ids = [id for id in ids if self.named.get(id, _NEVER) <= asked_at + self._sure]
        recalled = self._recalled.intersection(ids)
        rows = self._take_kept_back(ids)
        self._hand_back(row for row in rows if row.id in recalled)
        return [row for row in rows if row.id not in recalled]

    def _take_kept_back(self, ids: Collection[bytes]) -> list[ClaimedExecution]:
        self._recalled.difference_update(ids)
        for id in ids:
            self.named.pop(id, None)
        return [row for id in ids if (row := self.kept_back.pop(id, None))]

    def _tell(self) -> None:
        now = time.monotonic()
        self.told_until = now + self._sure
        while self.named and (oldest := next(iter(self.named.items())))[1] <= now:
            del self.named[oldest[0]]
        self._recalls = [one for one in self._recalls if one[0] > now]

    def _take(self, wanted: Wanted) -> list[ClaimedExecution]:
        return [*self._rounds.take(wanted), *self._upcoming.take(wanted), *self._waiting.take(wanted)]

    def _keep_back(self, rows: Iterable[ClaimedExecution]) -> None:
        before = len(self.kept_back)
        self.kept_back.update((row.id, row) for row in rows)
        if len(self.kept_back) > before:
            self.asks()

    def _hand_back(self, rows: Iterable[ClaimedExecution]) -> None:
        for row in rows:
            self._settle(row, DEFAULT_OPTIONS, Released(), 0.0)
