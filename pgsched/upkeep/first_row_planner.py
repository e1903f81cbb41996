"""Plans the first row of new and edited jobs, and checks that every active job has a row.

After the first row, each claim plans the next row. A sweep looks for active jobs without a row. It should never find
such a job; if it does, it plans the job's row and reports the repair.
"""

import time

from pgsched.service import DutyCycle, Service
from pgsched.store.core.connect import Connection, Link
from pgsched.store.jobs import unplanned_jobs
from pgsched.telemetry import Events

_BATCH = 500
_SWEPT = 2000  # maximum number of jobs that one part of the sweep checks
_SWEEPING_ONE_IN = 20
_LONG = 0.005  # if planning takes more seconds per job than this, the instants are rare
_EVERY, _SWEEP_EVERY = 5.0, 60.0


class Planner(Service):
    """The service is woken when a job changes, polls every few seconds, and sweeps every minute."""

    name = "planner"
    rest = 3.0  # limits wake-ups, because any login can wake this service with a notification
    longest_turn = 300.0

    def __init__(self, link: Link, events: Events) -> None:
        super().__init__(events, link)
        self._link = link
        self._sweeping, self._swept_to = DutyCycle(_SWEEPING_ONE_IN, every=_SWEEP_EVERY), unplanned_jobs.FIRST

    async def turn(self) -> float:
        connection = await self._link.get()
        if self._sweeping.is_due:
            await self._sweep(connection)
        began = time.monotonic()
        planned = await unplanned_jobs.plan_jobs(connection, batch=_BATCH)
        took = time.monotonic() - began
        for job, reason in planned.invalid:
            self.events.emit("job.invalid", job=str(job), reason=reason)
        if planned.more:
            # A search for rare instants, in a thread, takes half of the event loop's time, so pause for as long.
            return took if took > planned.jobs * _LONG else 0.0
        return min(_EVERY, self._sweeping.pause)

    async def _sweep(self, connection: Connection) -> None:
        """Checks the next part of all jobs, and starts over after the last one. Skips jobs that cannot be planned."""
        with self._sweeping.work():
            found, invalid = await unplanned_jobs.repair_others(connection, after=self._swept_to, most=_SWEPT)
        for job, reason in invalid:
            self.events.emit("job.invalid", job=str(job), reason=reason)
        self._swept_to = found.after or unplanned_jobs.FIRST
        if found.after:
            self._sweeping.go_on()
        if found.jobs:
            self.events.emit("job.repaired", count=found.jobs)
