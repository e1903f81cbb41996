"""What falls due in the coming hour, minute by minute, as the page *now* shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pgsched.api.access import check_everywhere
from pgsched.api.cached import Cached
from pgsched.api.connection_pool import Database
from pgsched.api.pages.charts import Bar, bars
from pgsched.domain.api_key import Grant
from pgsched.store import verbs
from pgsched.store.lookup.forecast import bound_of_workers, forecast

_MOST_COUNTED = 10_000
"""Executions of a minute are counted up to this."""
_MINUTES, _MINUTE = 60, timedelta(minutes=1)
_KEPT, _BOUND_KEPT = 20.0, 300.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The coming hour. More than ``busiest`` is more than workers have done in any minute of the last 7 days; ``hot``
    are the minutes with more, where so many are counted at all. Where ``cut``, a minute may have more than ``most``."""

    bars: Sequence[Bar]
    most: int
    cut: bool
    busiest: int | None
    hot: Sequence[datetime]


class HourForecast:
    """Counts when somebody asks, and not more often than every 20 seconds. ``database`` acts for all clients."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._busiest = Cached(self._ask_busiest, seconds=_BOUND_KEPT)
        self._hour = Cached(self._count, seconds=_KEPT)

    async def look(self, grant: Grant) -> Forecast:
        """Raises Refused, Unavailable."""
        check_everywhere(grant)
        return await self._hour.get()

    async def _ask_busiest(self) -> int | None:
        async with self._database.glance() as connection:
            return (await bound_of_workers(connection)).busiest

    async def _count(self) -> Forecast:
        busiest = await self._busiest.get()
        async with self._database.glance() as connection:
            start = (await verbs.now(connection)).replace(second=0, microsecond=0)
            found = await forecast(connection, start=start, minutes=_MINUTES, per_minute=_MOST_COUNTED)
        due = {one.minute: one.due for one in found}
        hour = [start + number * _MINUTE for number in range(_MINUTES)]
        counts = [due.get(minute, 0) for minute in hour]
        above = busiest if busiest is not None and busiest <= _MOST_COUNTED else None
        return Forecast(
            bars=bars(counts, above=above),
            most=min(max(counts), _MOST_COUNTED),
            cut=max(counts) > _MOST_COUNTED,
            busiest=busiest,
            hot=[minute for minute, count in zip(hour, counts, strict=True) if above is not None and count > above],
        )
