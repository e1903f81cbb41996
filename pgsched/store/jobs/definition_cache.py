"""Caches the definitions of claimed jobs, so that each revision is read only once.

Definitions are stored by id and revision. If a job has changed, a row that was planned from the old revision is not
inserted.

A job with only a cron expression or an interval is planned on wire counts, without a datetime.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property, lru_cache
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.bounded_cache import Memo
from pgsched.domain.duration import MICROSECOND
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.job_definition import Definition
from pgsched.domain.misfire_and_overlap import InstantDecision, decide_delayed, decide_instant
from pgsched.domain.recurrence import Recurrence
from pgsched.domain.recurrence_rules import Rules
from pgsched.domain.schedule import from_parts, next_instant
from pgsched.domain.start_jitter import resolve_hashes
from pgsched.errors import InvalidSchedule
from pgsched.store.core.sql import statement
from pgsched.store.core.wire import Uuids, to_datetime, to_instant

_ENTRY = 1000  # bytes for a job without rules
_TIMES_ITS_TEXT = 24
_NO_RULES = b"{}"  # an insert may write this; pgsched.schedule writes null; neither needs parsing
_MOST_BYTES = 64 * 1024 * 1024
_MOST_COUNTING = 100_000


@dataclass(frozen=True, kw_only=True)
class ClaimedDefinition(Definition):
    """A job at one revision. ``raw_id``, ``interval`` and ``origin`` are ``id``, ``every`` and ``anchor`` in wire
    format.
    """

    revision: int
    raw_id: bytes
    interval: int | None
    origin: int

    def resolved(self) -> "ClaimedDefinition":
        """Returns the definition with each ``H`` replaced by its value."""
        if self.cron is None:
            return self
        try:
            return replace(self, cron=resolve_hashes(self.cron, self.identity))
        except InvalidSchedule:  # ``decided`` raises this again, and ``decide_rows`` handles it
            return self

    def recurrence(self) -> Recurrence:
        """Returns the job's recurrence. Raises InvalidSchedule if the schedule is invalid."""
        return self._recurrence

    @cached_property
    def _recurrence(self) -> Recurrence:
        return Definition.recurrence(self)

    @property
    def weight(self) -> int:
        """The approximate number of bytes that the definition uses, including its parsed rules."""
        return _ENTRY + _TIMES_ITS_TEXT * len(self.rules or b"")

    def following(self, instant: int) -> int | None:
        """Returns the instant after this one, for a job without rules. Raises InvalidSchedule if the schedule is
        invalid."""
        if self.interval is not None:
            return max(instant + self.interval - (instant - self.origin) % self.interval, self.origin)
        second = instant - instant % 1_000_000  # whole seconds, so that instants within a second share a cache entry
        return _following(self.cron or "", self.timezone, self.gap, self.overlap, second)

    def decided(self, row: ClaimedExecution, now: int) -> InstantDecision | int | None:
        """Returns the decision about the row and its successor. If the row simply runs, returns only the job's next
        instant as a wire count, or None if there is none.

        Raises InvalidSchedule if the schedule is invalid.
        """
        if self.rules is None and not self.exceptions:
            following = self.following(row.scheduled_for)
            if following is None or following > now:
                return following
        rules = self.parsed()
        nominal, moment = to_datetime(row.scheduled_for), to_datetime(now)
        if fires_late(row, rules):
            return decide_delayed(self.recurrence(), rules, nominal, moment)
        return decide_instant(self.recurrence(), rules, nominal, moment)


def fires_late(row: ClaimedExecution, rules: Rules) -> bool:
    """Whether a row fires later than planned, because it has waited for an earlier run or replaces missed ones."""
    spread = 0 if rules.spread is None else rules.spread // timedelta(microseconds=1)
    return row.fire_at > row.scheduled_for + spread


@lru_cache(maxsize=16384)
def _following(cron: str, timezone: str, gap: str, overlap: str, instant: int) -> int | None:
    """Returns the instant after this one. Memoised by the schedule's text, so that jobs with the same schedule share
    entries.
    """
    found = next_instant(from_parts(cron=cron, timezone=timezone, gap=gap, overlap=overlap), to_datetime(instant))
    return None if found is None else to_instant(found)


class Definitions:
    """The definitions that a worker has read, up to a size limit."""

    def __init__(self) -> None:
        self._known = Memo[ClaimedDefinition](_MOST_BYTES)
        self._counting: dict[bytes, bool] = {}

    def counts_failures(self, job_id: bytes) -> bool:
        """Whether the job counts its consecutive failures, which a success resets. True for an unknown job."""
        return self._counting.get(job_id, True)

    async def of_rows(
        self, connection: AsyncConnection[Any], rows: Iterable[ClaimedExecution]
    ) -> dict[bytes, ClaimedDefinition]:
        """Returns the definitions of the rows' jobs by row id, leaving out jobs that no longer exist. Each definition
        is at the row's revision, or else at the job's current one.
        """
        rows = list(rows)
        known = {row.id: found for row in rows if (found := self._known.get((row.job_id, row.plan)))}
        unknown = [row for row in rows if row.id not in known]
        if unknown:
            read = await self._read(connection, unknown)
            known |= {row.id: found for row in unknown if (found := read.get(row.job_id))}
        return known

    async def _read(
        self, connection: AsyncConnection[Any], rows: list[ClaimedExecution]
    ) -> dict[bytes | None, ClaimedDefinition]:
        if len(self._counting) > _MOST_COUNTING:
            self._counting.clear()
        named = {"jobs": Uuids(row.job_id for row in rows if row.job_id is not None)}
        cursor = await connection.execute(statement("jobs/jobs_in_hand"), named, binary=True)
        read: dict[bytes | None, ClaimedDefinition] = {}
        for row in await cursor.fetchall():
            found = claimed_definition(*row)
            read[found.raw_id] = self._known.put((found.raw_id, found.revision), found, found.weight)
            self._counting[found.raw_id] = found.rules is not None and b'"pause_after"' in found.rules
        return read


def claimed_definition(
    raw_id: bytes,
    revision: int,
    cron: str | None,
    timezone: str,
    gap: str,
    overlap: str,
    interval: int | None,
    origin: int,
    client: str,
    key: str | None,
    rules: bytes | None,
    exceptions: Sequence[int] | None,
) -> ClaimedDefinition:
    """Builds a job's definition from a result row of ``jobs_in_hand``."""
    return ClaimedDefinition(
        id=UUID(bytes=raw_id),
        client=client,
        key=key,
        cron=cron,
        timezone=timezone,
        every=None if interval is None else interval * MICROSECOND,
        anchor=to_datetime(origin),
        gap=gap,
        overlap=overlap,
        rules=None if rules == _NO_RULES else rules,
        exceptions=None if exceptions is None else [to_datetime(at) for at in exceptions],
        revision=revision,
        raw_id=raw_id,
        interval=interval,
        origin=origin,
    ).resolved()
