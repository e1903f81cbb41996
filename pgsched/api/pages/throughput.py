"""The throughput of the past hours on the page *now*: over time, by queue and by client."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from pgsched.api.cached import Cached
from pgsched.api.connection_pool import Database
from pgsched.api.pages.charts import Chart, chart
from pgsched.domain.api_key import Grant
from pgsched.store import verbs
from pgsched.store.lookup import throughput
from pgsched.store.lookup.throughput import Done, Span, step_for

_HOUR = timedelta(hours=1)
SPANS = {"1h": _HOUR, "6h": timedelta(hours=6), "24h": timedelta(hours=24)}
_KEPT = 20.0  # seconds


class ThroughputCharts:
    """Reads the rollups on request, at most once every 20 seconds for the last hour and for each span. ``database``
    acts for all clients."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hour = Cached(self._last_hour, seconds=_KEPT)
        self._charts = {span: Cached(partial(self._over_time, span), seconds=_KEPT) for span in SPANS}

    async def look(self, grant: Grant, span: str) -> dict[str, Any]:
        """Returns the throughput over time within ``span``, and by queue and client in the last hour. Raises Refused
        and Unavailable."""
        return {"span": span, "charts": await self._charts[span].get(grant)} | await self._hour.get(grant)

    async def _over_time(self, span: str) -> list[Chart]:
        async with self._database.glance() as connection:
            now = await verbs.now(connection)
            asked = Span(start=now - SPANS[span], end=now)
            step = step_for(asked)
            done = await throughput.over_time(connection, asked, step=step.total_seconds())
        return _charts(done, asked, step)

    async def _last_hour(self) -> dict[str, list[Done]]:
        async with self._database.glance() as connection:
            now = await verbs.now(connection)
            hour = Span(start=now - _HOUR, end=now)
            queues = await throughput.by_queue(connection, hour)
            return {"queues": queues, "clients": await throughput.by_client(connection, hour)}


def _charts(done: Sequence[Done], span: Span, step: timedelta) -> list[Chart]:
    """Draws the charts of all finished steps of the span. If no execution started in a step, its lateness is missing
    rather than 0, because executions that are still waiting may be very late."""
    by_step = {one.starts_at: one for one in done}
    seconds = step.total_seconds()
    first = span.start.timestamp() // seconds + 1
    starts = [
        datetime.fromtimestamp(number * seconds, span.start.tzinfo)
        for number in range(int(first), int(span.end.timestamp() // seconds))
    ]
    steps = [by_step.get(start) for start in starts]
    at = [start.timestamp() + seconds for start in starts]
    minutes = seconds / 60
    return [
        chart(
            "Executions a minute",
            "/min",
            at,
            ended=[one.ended / minutes if one else 0.0 for one in steps],
            failed=[one.failed / minutes if one else 0.0 for one in steps],
        ),
        chart(
            "Lateness",
            "s",
            at,
            p99=[one.lateness.p99 if one else None for one in steps],
            median=[one.lateness.p50 if one else None for one in steps],
        ),
    ]
