"""Claims for the clients that have their own shares of the room (``fairness``)."""

import time
from collections.abc import Awaitable, Callable, Sequence

from pgsched.store.live.executions import Claimed, Share
from pgsched.store.live.row_filter import RowFilter
from pgsched.worker.claim.fairness import Backlog, Fairness
from pgsched.worker.claim.selection import Selection
from pgsched.worker.roster import Roster
from pgsched.worker.run.dispatcher import Dispatcher

Ask = Callable[[Sequence[Share], RowFilter], Awaitable[Claimed]]


class Apart:
    """``ask`` claims rows by their instants, ``ask_first`` those that go before the rest; both submit them."""

    def __init__(
        self, roster: Roster, dispatcher: Dispatcher, *, selection: Selection, fairness: Fairness, batch: int
    ) -> None:
        self._roster, self._dispatcher = roster, dispatcher
        self._selection, self._fairness, self._batch = selection, fairness, batch

    async def claim(self, free: int, *, most: float, ask: Ask, ask_first: Ask) -> int:
        """Claims from each, at most so many rows at once. Returns how many in all."""
        self._fairness.leave(self._selection.held)
        budgets = self._fairness.budgets(free, capacity=self._dispatcher.capacity, taken=self._dispatcher.taken())
        count = 0
        for backlog, budget in budgets:
            if backlog.client not in self._dispatcher.shares.crowded:
                room = int(min(budget, backlog.stride.most, most))
                count += await self._claim_from(backlog, room, ask, ask_first)
        return count

    async def _claim_from(self, backlog: Backlog, room: int, ask: Ask, ask_first: Ask) -> int:
        partitions, theirs = self._roster.own or self._roster.open, self._selection.only(backlog.client)
        first = await backlog.precedence.claim(ask_first, partitions, room, theirs)
        count = asked = 0
        if room > first:
            shares = backlog.shares(partitions, room - first, self._batch)
            asked, started = sum(share.batch for share in shares), time.monotonic()
            taken = (await ask(shares, theirs)).taken
            count = len(taken)
            backlog.stride.took(time.monotonic() - started, count, of=count)
            backlog.read_to(shares, taken)
            backlog.precedence.went_by_instant(taken, asked=asked)
        self._fairness.served(backlog, asked + first, count + first)
        return count + first
