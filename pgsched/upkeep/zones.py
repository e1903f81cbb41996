"""Moves planned rows when time zone rules change.

Rows are planned by the time zone rules of the planning process, and the database records the version of these rules. A
process that starts with a later version rechecks the active jobs whose instants depend on a zone. It moves the rows for
which the new rules give another instant, and then records its version.

A process with an older version moves no rows. It may plan wrong instants, so it leaves a note, and the next process
that starts with the later version rechecks all jobs.
"""

import contextlib
from dataclasses import dataclass, field
from uuid import UUID

import psycopg

from pgsched.domain.time_zone import version_in_use
from pgsched.service import Service
from pgsched.store.core.connect import Link
from pgsched.store.jobs import unplanned_jobs, zone_rules
from pgsched.telemetry import Events
from pgsched.worker.assignment import Assignment

_EVERY = 60.0
_BATCH = 50
_BUSY = 2.0  # seconds until locked jobs are rechecked


@dataclass(slots=True, kw_only=True)
class _Round:
    """The progress of a recheck. ``left`` lists the jobs that were locked, which are rechecked later."""

    old: str
    locked: bool = False
    after: UUID = zone_rules.FIRST
    left: list[UUID] = field(default_factory=list)
    checked: int = 0
    moved: int = 0


class Zones(Service):
    """Checks the version every minute. During a recheck, each turn rechecks one batch of jobs."""

    name = "zones"

    def __init__(
        self,
        chores: Link,
        link: Link,
        events: Events,
        assignment: Assignment,
        *,
        version: str | None = None,
    ) -> None:
        super().__init__(events, chores)
        self._chores, self._link, self._assignment = chores, link, assignment
        self._version = version or version_in_use()
        self._round: _Round | None = None
        self._has_looked = self._has_warned = False

    async def turn(self) -> float:
        if self._version is None:
            return _EVERY
        if not self._assignment.number:
            return _BUSY
        if self._round is None:
            self._round = await self._look(self._version)
        return _EVERY if self._round is None else await self._recheck_batch(self._version, self._round)

    async def recover(self, error: Exception) -> None:
        await self._forget_round()
        await super().recover(error)

    async def _look(self, version: str) -> _Round | None:
        """Starts and returns a recheck, or returns None if the version requires no recheck."""
        found = await zone_rules.versions(await self._chores.get())
        first, self._has_looked = not self._has_looked, True
        if found.planned_by is None:
            await zone_rules.note_version(await self._chores.get(), version)
        elif found.planned_by > version:
            await self._note_older_rules(version, found.planned_by)
        elif found.planned_by < version:
            return _Round(old=found.planned_by)
        elif found.behind is not None and first:
            return _Round(old=found.behind)
        return None

    async def _note_older_rules(self, version: str, planned_by: str) -> None:
        await zone_rules.note_behind(await self._chores.get(), version)
        if not self._has_warned:
            self.events.emit("tzdata.behind", version=version, planned_by=planned_by)
            self._has_warned = True

    async def _recheck_batch(self, version: str, round: _Round) -> float:
        connection = await self._link.get()
        if not round.locked:
            round.locked = await zone_rules.try_lock(connection, self._assignment.number)
        if not round.locked:  # another process is rechecking
            await self._forget_round()
            return _BUSY
        jobs = await zone_rules.zoned_jobs(connection, after=round.after, batch=_BATCH)
        again = not jobs
        if again:
            jobs, round.left = round.left[:_BATCH], round.left[_BATCH:]
        if not jobs:
            await self._end(version, round)
            return _EVERY
        found, failed = await zone_rules.recheck_others(connection, jobs, old=round.old, new=version)
        for job, error in failed:
            reason = await unplanned_jobs.give_up(connection, job, error)
            self.events.emit("job.invalid", job=str(job), reason=reason)
        round.checked, round.moved = round.checked + len(jobs) - len(found.left), round.moved + found.moved
        round.left += found.left
        round.after = max(round.after, jobs[-1])
        return _BUSY if again and found.left else 0.0

    async def _end(self, version: str, round: _Round) -> None:
        await zone_rules.note_version(await self._link.get(), version)
        self.events.emit("tzdata.changed", old=round.old, new=version, checked=round.checked, moved=round.moved)
        await self._unlock()

    async def _forget_round(self) -> None:
        self._has_looked = False
        await self._unlock()

    async def _unlock(self) -> None:
        locked, self._round = self._round is not None and self._round.locked, None
        if locked:
            with contextlib.suppress(psycopg.Error, OSError):  # the lock ends with this worker's registration
                await zone_rules.unlock(await self._link.get(), self._assignment.number)
        await self._link.drop()
