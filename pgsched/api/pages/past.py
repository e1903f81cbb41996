"""What the page *now* shows of the hours before and after: what was done, by queue and client, and what falls due."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pgsched.api.access import check_everywhere
from pgsched.api.database import Database
from pgsched.api.pages.charts import Bar, Chart, bars, chart
from pgsched.domain.api_key import Grant
from pgsched.store.core.pinned import DOCTOR_LOCALLY
from pgsched.store.lookup import throughput
from pgsched.store.lookup.forecast import bound_of_workers, forecast
from pgsched.store.lookup.listings import time_of
from pgsched.store.lookup.throughput import Done, Span, step_for

SPANS = {"1h": timedelta(hours=1), "6h": timedelta(hours=6), "24h": timedelta(hours=24)}
_AHEAD = 60  # minutes
_MOST_COUNTED = 10_000
_KEPT = 20.0  # seconds
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The coming hour, minute by minute. More than ``busiest`` is more than workers have done in any minute of the last
    7 days; ``hot`` are the minutes with more, where so many are counted at all."""

    bars: Sequence[Bar]
    most: int
    busiest: int | None
    hot: Sequence[datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What was done in a span, and in the last hour by queue and client; and the forecast."""

    span: str
    charts: Sequence[Chart]
    queues: Sequence[Done]
    clients: Sequence[Done]
    forecast: Forecast


class Looking:
    """Looks when somebody asks, and at each span not more often than every 20 seconds. ``database`` acts for all
    clients."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = asyncio.Lock()
        self._seen: dict[str, tuple[float, Past]] = {}

    async def look(self, grant: Grant, span: str) -> Past:
        """Raises Refused, Unavailable."""
        check_everywhere(grant)
        async with self._turn:
            at, past = self._seen.get(span, (float("-inf"), None))
            if past is None or time.monotonic() - at > _KEPT:
                past = await self._look(span)
                self._seen[span] = time.monotonic(), past
            return past

    async def _look(self, span: str) -> Past:
        async with self._database.page() as connection, connection.transaction():
            await connection.execute(DOCTOR_LOCALLY)
            now = await time_of(connection)
            asked = Span(start=now - SPANS[span], end=now)
            step = step_for(asked)
            done = await throughput.over_time(connection, asked, step=step.total_seconds())
            hour = Span(start=now - _HOUR, end=now)
            queues = await throughput.by_queue(connection, hour)
            clients = await throughput.by_client(connection, hour)
            bound = await bound_of_workers(connection)
            counted = min(bound.per_minute, _MOST_COUNTED)
            coming = await forecast(connection, minutes=_AHEAD, per_minute=counted)
        is_known = bound.busiest is not None and bound.busiest <= counted
        hot = [one.minute for one in coming if one.hot and is_known]
        first = now.replace(second=0, microsecond=0)
        due = {int((one.minute - first) / timedelta(minutes=1)): one.due for one in coming}
        return Past(
            span=span,
            charts=_charts(done, asked, step),
            queues=queues,
            clients=clients,
            forecast=Forecast(
                bars=bars(
                    [due.get(minute, 0) for minute in range(_AHEAD)], above=bound.per_minute if is_known else None
                ),
                most=max(due.values(), default=0),
                busiest=bound.busiest,
                hot=hot,
            ),
        )


def _charts(done: Sequence[Done], span: Span, step: timedelta) -> list[Chart]:
    """Of every step of the span; where nothing was done there is a zero. The step that has not ended is left out."""
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
            p99=[(one.lateness.p99 if one else None) or 0.0 for one in steps],
            median=[(one.lateness.p50 if one else None) or 0.0 for one in steps],
        ),
    ]
