"""Runs executions that may have ended their workers' processes, one at a time, in a process of their own.

Executions that several lost workers had in hand are held at a gate (``alone:python:send_email``). A worker is started
for them, and this service claims them from there, those first that were lost least often. Before each it says which one
it is about to run, so that the worker which started the process knows the culprit if the process ends (``witness``).
All other work is left to other workers.
"""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from pgsched.domain.capability import ALONE
from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import FAR_OFF
from pgsched.store.ends.deferred import with_own_tokens
from pgsched.store.gates import gates
from pgsched.store.gates.gates import Suspects
from pgsched.store.live import looking
from pgsched.worker.directory import Directory
from pgsched.worker.gates.admission import Admission
from pgsched.worker.gates.gatekeeper import Gatekeeper
from pgsched.worker.leases import Claiming, Leases
from pgsched.worker.run.dispatcher import Dispatcher

_NOT_YET, _LOOK_EVERY, _IN_HAND = 0.05, 0.25, 60.0
_PATIENCE = 5.0
_FEWEST, _MOST = 10, 500


class Trial(Claiming):
    """``tell`` is called with each execution before it runs, and with None when it is not in hand any more. ``over`` is
    called once no execution has waited for five seconds, and where one that is not in hand any more ``goes_on``
    in a thread. The executions of the clients in ``without`` are for another process."""

    name = "trial"

    def __init__(
        self,
        leases: Leases,
        dispatcher: Dispatcher,
        *,
        admission: Admission,
        gatekeeper: Gatekeeper,
        mine: Callable[[], frozenset[str]],
        directory: Directory,
        tell: Callable[[ClaimedExecution | None], None],
        over: Callable[[], None],
        goes_on: Callable[[], bool],
        without: Sequence[str] = (),
    ) -> None:
        super().__init__(leases)
        self._dispatcher, self._admission = dispatcher, admission
        self._gatekeeper, self._mine = gatekeeper, mine
        self._directory, self._tell, self._over = directory, tell, over
        self._goes_on, self._without = goes_on, without
        self._idle_since: float | None = None
        self._turn = 0
        self._batch = _FEWEST

    async def turn(self) -> float:
        if not self._roster.number or not self._directory.loaded:
            return _NOT_YET
        await self._gatekeeper.keep_up()
        if self._dispatcher.in_hand:
            return _IN_HAND  # woken when it has left
        self._tell(None)
        if self._goes_on():  # a function whose attempt is over: what it does to the process is not the next one's doing
            self._over()
            return _LOOK_EVERY
        await self.leases.give_back()
        await self._read_clock()
        names = sorted(ALONE + name for name in self._mine())
        found = await gates.suspects(await self._link.get(), names, without=self._without)
        for suspects in self._in_turn(found):
            if row := await self._next_of(suspects):
                self._turn += 1
                self._idle_since = None
                self._tell(row)
                self._dispatcher.submit([row])
                return _IN_HAND
        return self._idle()

    def _in_turn(self, found: list[Suspects]) -> list[Suspects]:
        """The gates whose executions are least likely to end the process come first, so that they do not wait for the
        others; gates that are equally likely take turns."""
        alike = [one for one in found if one[1:] == found[0][1:]]
        first = self._turn % max(len(alike), 1)
        return [*alike[first:], *alike[:first], *found[len(alike) :]]

    def _idle(self) -> float:
        now = time.monotonic()
        self._idle_since = self._idle_since or now
        if now - self._idle_since >= _PATIENCE:
            self._over()
        return _LOOK_EVERY

    async def _read_clock(self) -> None:
        if self._roster.partitions:
            sent = time.monotonic()
            lows = dict.fromkeys(self._roster.partitions[:1], FAR_OFF)
            _, now, _ = await looking.next_due(await self._link.get(), lows)
            self._clock.observe(now, sent, time.monotonic())

    async def _next_of(self, suspects: Suspects) -> ClaimedExecution | None:
        """The first execution at this gate that may pass all others on its way: one of those with the fewest losses,
        unless none of them may pass. The rest waits on."""
        name, batch = suspects.name, self._batch
        losses = suspects.losses if batch == _FEWEST else None
        connection = await self._link.get()
        own = self._roster.open
        lease = self.leases.ask(timedelta(0))
        async with connection.transaction():
            rows = await gates.claim_held(
                connection, lease, name, own, batch=batch, losses=losses, without=self._without
            )
            found = len(rows)
            passing: list[ClaimedExecution] = []
            while rows and not passing:
                passing = await self._admit(connection, rows.pop(0), name)
            await gates.hold(connection, [(row, name) for row in rows])
            passing = await with_own_tokens(connection, passing)
        self.leases.answered(lease, passing)
        self._batch = _FEWEST if passing or not found else min(self._batch * 4, _MOST)
        return passing[0] if passing else None

    async def _admit(self, connection: Connection, row: ClaimedExecution, name: str) -> list[ClaimedExecution]:
        """The execution, unless it may not pass. Then it stays at this gate, and not at one from which it would be run
        beside others."""
        passing = await self._admission.admit(connection, [row])
        if not passing:
            await gates.keep_at(connection, row, name)
        return passing
