"""The definitions of the jobs whose rows are claimed, read once for each revision.

Held by id and revision, so that nothing here is ever out of date: what is planned by an old revision is not inserted.
Jobs whose instants follow from cron or interval alone are planned on the wire's counts, without a datetime.
"""

from collections.abc import Iterable
from datetime import timedelta
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.execution import Execution
from pgsched.domain.memo import Memo
from pgsched.domain.reckoning import Reckoning, reckon, reckon_put_off
from pgsched.domain.recurrence import Recurrence, recurrence
from pgsched.domain.rules import NO_RULES, Rules, is_parsed, parse_rules
from pgsched.domain.schedule import from_parts, next_instant
from pgsched.domain.spread import identity_of, spread
from pgsched.errors import InvalidSchedule
from pgsched.store.core.sql import statement
from pgsched.store.core.wire import Uuids, to_datetime, to_instant

_ENTRY = 400  # bytes that a job without rules takes
_TIMES_ITS_TEXT = 12
_MOST_BYTES = 32 * 1024 * 1024
_MOST_COUNTING = 100_000


class Definition(NamedTuple):
    """A job at one revision, as it comes over the wire; ``every`` in microseconds, ``rules`` as JSON."""

    id: bytes
    revision: int
    cron: str | None
    timezone: str
    gap: str
    overlap: str
    every: int | None
    anchor: int
    client: str
    key: str | None
    rules: bytes | None

    @property
    def uuid(self) -> UUID:
        return UUID(bytes=self.id)

    @property
    def interval(self) -> timedelta | None:
        return None if self.every is None else timedelta(microseconds=self.every)

    @property
    def identity(self) -> str:
        return identity_of(self.client, self.key, self.uuid)

    def resolved(self) -> "Definition":
        """With values for each H, so that planning need not draw them again."""
        if self.cron is None:
            return self
        try:
            return self._replace(cron=spread(self.cron, self.identity))
        except InvalidSchedule:  # raised again, and dealt with, by ``reckoned``
            return self

    def parsed(self) -> Rules:
        """Raises InvalidSchedule."""
        return NO_RULES if self.rules is None else parse_rules(self.rules)

    def recurrence(self) -> Recurrence:
        """Raises InvalidSchedule."""
        key = (self.cron, self.timezone, self.gap, self.overlap, self.every, self.anchor, self.identity, self.rules)
        return _recurrences.get(key) or _recurrences.put(key, self._recurrence(), self.weight)

    @property
    def weight(self) -> int:
        """The bytes it takes here, about; more of them what is read from its rules."""
        return _ENTRY + _TIMES_ITS_TEXT * len(self.rules or b"")

    def _recurrence(self) -> Recurrence:
        return recurrence(
            cron=self.cron,
            every=self.interval,
            timezone=self.timezone,
            gap=self.gap,
            overlap=self.overlap,
            anchor=to_datetime(self.anchor),
            identity=self.identity,
            rules=self.parsed(),
        )

    def following(self, instant: int) -> int | None:
        """The instant after this one, where there are no rules. Raises InvalidSchedule."""
        if self.every is not None:
            return max(instant + self.every - (instant - self.anchor) % self.every, self.anchor)
        second = instant - instant % 1_000_000  # without the fraction, all within a second share one search
        return _following(self.cron or "", self.timezone, self.gap, self.overlap, second)

    def reckoned(self, row: Execution, now: int) -> Reckoning | int | None:
        """What becomes of the row and what follows: where it simply runs, the next instant as a count, or None.

        Raises InvalidSchedule.
        """
        if self.rules is None:
            following = self.following(row.scheduled_for)
            if following is None or following > now:
                return following
        rules = self.parsed()
        nominal, moment = to_datetime(row.scheduled_for), to_datetime(now)
        if was_put_off(row, rules):
            return reckon_put_off(self.recurrence(), rules, nominal, moment)
        return reckon(self.recurrence(), rules, nominal, moment)

    def put_off(self, row: Execution) -> bool:
        """Whether a row fires later than planned (``was_put_off``), or may do so: rules are not parsed to find out."""
        if row.fire_at <= row.scheduled_for:
            return False
        if self.rules is not None and not is_parsed(self.rules):
            return True
        try:
            return was_put_off(row, self.parsed())
        except InvalidSchedule:  # raised again, and dealt with, by ``reckoned``
            return False


def was_put_off(row: Execution, rules: Rules) -> bool:
    """Whether a row has waited for an earlier run, or stands for missed ones: it then fires later than planned."""
    spread = 0 if rules.spread is None else rules.spread // timedelta(microseconds=1)
    return row.fire_at > row.scheduled_for + spread


@lru_cache(maxsize=16384)
def _following(cron: str, timezone: str, gap: str, overlap: str, instant: int) -> int | None:
    """Memoised by the text: jobs that share schedule and instant share all of it."""
    found = next_instant(from_parts(cron=cron, timezone=timezone, gap=gap, overlap=overlap), to_datetime(instant))
    return None if found is None else to_instant(found)


_known = Memo[Definition](_MOST_BYTES)
_recurrences = Memo[Recurrence](_MOST_BYTES)
_counting: dict[bytes, bool] = {}


def counts_failures(job_id: bytes) -> bool:
    """Whether a job may pause after failures in a row, so that its successes count too. True too of an unknown one."""
    return _counting.get(job_id, True)


async def define(connection: AsyncConnection[Any], rows: Iterable[Execution]) -> dict[bytes, Definition]:
    """The definitions of the rows' jobs, by the rows' ids; without those that are no more.

    Each is at the row's revision, or at the one that the job has now if that is another.
    """
    rows = list(rows)
    known = {row.id: definition for row in rows if (definition := _known.get((row.job_id, row.plan)))}
    unknown = [row for row in rows if row.id not in known]
    if unknown:
        read = await _read(connection, unknown)
        known |= {row.id: definition for row in unknown if (definition := read.get(row.job_id))}
    return known


async def _read(connection: AsyncConnection[Any], rows: list[Execution]) -> dict[bytes | None, Definition]:
    if len(_counting) > _MOST_COUNTING:
        _counting.clear()
    named = {"jobs": Uuids(row.job_id for row in rows if row.job_id is not None)}
    cursor = await connection.execute(statement("jobs/jobs_in_hand"), named, binary=True)
    read: dict[bytes | None, Definition] = {}
    for found in map(Definition._make, await cursor.fetchall()):
        read[found.id] = _known.put((found.id, found.revision), found.resolved(), found.weight)
        _counting[found.id] = found.rules is not None and b'"pause_after"' in found.rules
    return read
