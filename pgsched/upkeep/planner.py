"""Plans the first row of new and edited jobs, and proves that every active job has one.

From the first row on, each claim plans the next. The sweep should never find anything; what it finds it repairs and
reports.
"""

import time

from pgsched.events import Events
from pgsched.service import Service
from pgsched.store.core.connect import Connection, Link
from pgsched.store.jobs import jobs, sweeping

_BATCH = 500
_SWEPT = 2000  # jobs that one part of the sweep looks at
_SHARE_OF_TIME = 20


class Planner(Service):
    """Woken by a change of a job; looks by itself every few seconds, and sweeps every minute."""

    name = "planner"
    rest = 3.0  # whoever may connect may wake it
    longest_turn = 300.0

    def __init__(self, link: Link, events: Events, *, every: float = 5.0, sweep_every: float = 60.0) -> None:
        super().__init__(events)
        self._link, self._every, self._sweep_every = link, every, sweep_every
        self._sweep_at, self._swept_to = float("-inf"), jobs.FIRST

    async def turn(self) -> float:
        connection = await self._link.get()
        if time.monotonic() >= self._sweep_at:
            await self._sweep(connection)
        planned = await jobs.plan_jobs(connection, batch=_BATCH)
        for job, reason in planned.invalid:
            self.events.emit("job.invalid", job=str(job), reason=reason)
        if planned.more:
            return 0.0
        return min(self._every, max(self._sweep_at - time.monotonic(), 0.0))

    async def _sweep(self, connection: Connection) -> None:
        """A part of all jobs, but for those with which that fails; after the last one begins at the first again."""
        started = time.monotonic()
        self._sweep_at = started + self._sweep_every
        (repaired, after), invalid = await sweeping.repair_others(connection, after=self._swept_to, most=_SWEPT)
        for job, reason in invalid:
            self.events.emit("job.invalid", job=str(job), reason=reason)
        self._swept_to = after or jobs.FIRST
        if after:
            self._sweep_at = time.monotonic() + (_SHARE_OF_TIME - 1) * (time.monotonic() - started)
        if repaired:
            self.events.emit("job.repaired", count=repaired)

    async def recover(self, error: Exception) -> None:
        await self._link.drop(error)
