"""What claimed rows of recurring jobs are carried on by: their jobs' definitions, read once for each revision.

Held by id and revision, so that nothing here is ever out of date: what is planned by an old revision is not inserted.
Jobs whose instants follow from cron or interval alone are planned on the wire's counts, without a datetime.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.execution import Execution
from pgsched.domain.reckoning import Reckoning, reckon, reckon_put_off
from pgsched.domain.recurrence import Recurrence, recurrence
from pgsched.domain.rules import NO_RULES, Rules, parse_rules
from pgsched.domain.schedule import from_parts, next_instant
from pgsched.domain.spread import identity_of, spread
from pgsched.errors import InvalidSchedule
from pgsched.store.sql import statement
from pgsched.store.wire import Uuids, to_datetime, to_instant

_MOST = 50_000  # about 400 bytes each


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
        anchor = to_datetime(self.anchor)
        return _recurrence(
            self.cron, self.timezone, self.gap, self.overlap, self.interval, anchor, self.identity, self.rules
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
        """Whether a row fires later than planned (``was_put_off``)."""
        if row.fire_at <= row.scheduled_for:
            return False
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


@lru_cache(maxsize=4096)
def _recurrence(
    cron: str | None,
    timezone: str,
    gap: str,
    overlap: str,
    every: timedelta | None,
    anchor: datetime,
    identity: str,
    rules: bytes | None,
) -> Recurrence:
    return recurrence(
        cron=cron,
        every=every,
        timezone=timezone,
        gap=gap,
        overlap=overlap,
        anchor=anchor,
        identity=identity,
        rules=parse_rules(rules),
    )


_known: dict[tuple[bytes | None, int | None], Definition] = {}
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
    if len(_known) > _MOST:
        _known.clear()
        _counting.clear()
    named = {"jobs": Uuids(row.job_id for row in rows if row.job_id is not None)}
    cursor = await connection.execute(statement("jobs_in_hand"), named, binary=True)
    read: dict[bytes | None, Definition] = {}
    for found in map(Definition._make, await cursor.fetchall()):
        read[found.id] = _known[found.id, found.revision] = found.resolved()
        _counting[found.id] = found.rules is not None and b'"pause_after"' in found.rules
    return read
