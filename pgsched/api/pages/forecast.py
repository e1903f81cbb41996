"""The forecast on the page *now*: how many executions fall due in each minute of the coming hour."""

from datetime import timedelta
from typing import Any

from pgsched.api.cached import Cached
from pgsched.api.connection_pool import Database
from pgsched.api.pages.charts import bars
from pgsched.domain.api_key import EVERYBODY
from pgsched.store import verbs
from pgsched.store.lookup.forecast import bound_of_workers, forecast

_MOST_COUNTED = 10_000
"""The maximum number of executions that are counted per minute."""
_MINUTES, _MINUTE = 60, timedelta(minutes=1)
_KEPT, _BOUND_KEPT = 20.0, 300.0  # seconds


def hour_forecast(database: Database) -> Cached[dict[str, Any]]:
    """Returns a cache of the forecast for the coming hour, which is computed on request, but at most once every 20
    seconds. ``database`` acts for all clients."""

    async def ask_busiest() -> int | None:
        async with database.glance() as connection:
            return (await bound_of_workers(connection)).busiest

    busiest = Cached(ask_busiest, seconds=_BOUND_KEPT)

    async def count() -> dict[str, Any]:
        return await _count(database, await busiest.get(EVERYBODY))

    return Cached(count, seconds=_KEPT)


async def _count(database: Database, busiest: int | None) -> dict[str, Any]:
    """Counts the executions of the coming hour. ``busiest`` is the highest number of attempts in any minute of the last
    7 days. ``hot`` lists the minutes with more executions than that; it is empty if ``busiest`` exceeds the counting
    limit. ``cut`` is true if some minute has more executions than ``most``."""
    async with database.glance() as connection:
        start = (await verbs.now(connection)).replace(second=0, microsecond=0)
        found = await forecast(connection, start=start, minutes=_MINUTES, per_minute=_MOST_COUNTED)
    due = {one.minute: one.due for one in found}
    hour = [start + number * _MINUTE for number in range(_MINUTES)]
    counts = [due.get(minute, 0) for minute in hour]
    above = busiest if busiest is not None and busiest <= _MOST_COUNTED else None
    return {
        "bars": bars(counts, above=above),
        "most": min(max(counts), _MOST_COUNTED),
        "cut": max(counts) > _MOST_COUNTED,
        "busiest": busiest,
        "hot": [minute for minute, count in zip(hour, counts, strict=True) if above is not None and count > above],
    }
