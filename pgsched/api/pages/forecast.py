"""What falls due in the coming hour, counted a few minutes at a time so that no page waits for all of it."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import AsyncConnection

from pgsched.api.access import check_everywhere
from pgsched.api.connection_pool import Database
from pgsched.api.pages.charts import Bar, bars
from pgsched.domain.api_key import Grant
from pgsched.store import verbs
from pgsched.store.lookup.forecast import bound_of_workers, forecast

MOST_COUNTED = 10_000
"""Executions of a minute are counted up to this."""
_MINUTES, _AT_ONCE = 60, 2
_LONGEST = 0.06
"""Seconds after which a look counts no further; the next one goes on."""
_KEPT, _BOUND_KEPT, _FORGOTTEN = 20.0, 300.0, 60.0  # seconds
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The coming hour, minute by minute, as far as it has been counted: ``missing`` minutes have not been. More than
    ``busiest`` is more than workers have done in any minute of the last 7 days; ``hot`` are the minutes with more,
    where so many are counted at all. Where ``cut``, a minute may have more than ``most``."""

    bars: Sequence[Bar]
    most: int
    cut: bool
    busiest: int | None
    hot: Sequence[datetime]
    missing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    due: int
    at: float


class HourForecast:
    """Counts when somebody asks: first the minutes that were not counted yet, then those counted longest ago, each not
    more often than every 20 seconds. ``database`` acts for all clients."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = asyncio.Lock()
        self._hour: list[datetime] = []
        self._counted: dict[datetime, _Counted] = {}
        self._busiest: int | None = None
        self._busiest_at = self._looked_at = float("-inf")

    def known(self) -> Forecast:
        """What has been counted so far, unless the last look was more than a minute ago."""
        if time.monotonic() - self._looked_at > _FORGOTTEN:
            self._hour, self._counted = [], {}
        counts = [self._counted[minute].due if minute in self._counted else 0 for minute in self._hour]
        is_known = self._busiest is not None and self._busiest <= MOST_COUNTED
        above = self._busiest if is_known else None
        return Forecast(
            bars=bars(counts, above=above),
            most=min(max(counts, default=0), MOST_COUNTED),
            cut=max(counts, default=0) > MOST_COUNTED,
            busiest=self._busiest,
            hot=[minute for minute, due in zip(self._hour, counts, strict=True) if above is not None and due > above],
            missing=_MINUTES - len(self._counted),
        )

    async def look(self, grant: Grant) -> Forecast:
        """Counts for a moment, or waits while somebody else does. Raises Refused, Unavailable."""
        check_everywhere(grant)
        somebody_counts = self._turn.locked()
        async with self._turn:
            if not somebody_counts:
                await self._count()
        return self.known()

    async def _count(self) -> None:
        until = time.monotonic() + _LONGEST
        async with self._database.glance() as connection:
            self._move_on(await verbs.now(connection))
            if time.monotonic() - self._busiest_at > _BOUND_KEPT:
                self._busiest = (await bound_of_workers(connection)).busiest
                self._busiest_at = time.monotonic()
            while (start := self._next()) is not None:
                await self._count_from(connection, start)
                if time.monotonic() > until:
                    break
        self._looked_at = time.monotonic()

    def _move_on(self, now: datetime) -> None:
        """Forgets the minutes that have passed."""
        first = now.replace(second=0, microsecond=0)
        self._hour = [first + number * _MINUTE for number in range(_MINUTES)]
        self._counted = {minute: one for minute, one in self._counted.items() if minute in self._hour}

    def _next(self) -> datetime | None:
        """The first minute that was not counted, or else the one counted longest ago if that is too long."""
        for minute in self._hour:
            if minute not in self._counted:
                return minute
        oldest = min(self._hour, key=lambda minute: self._counted[minute].at)
        return oldest if time.monotonic() - self._counted[oldest].at > _KEPT else None

    async def _count_from(self, connection: AsyncConnection[Any], start: datetime) -> None:
        minutes = [minute for minute in self._hour if start <= minute][:_AT_ONCE]
        found = await forecast(connection, start=start, minutes=len(minutes), per_minute=MOST_COUNTED)
        due, at = {one.minute: one.due for one in found}, time.monotonic()
        self._counted |= {minute: _Counted(due=due.get(minute, 0), at=at) for minute in minutes}
