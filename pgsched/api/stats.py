"""The route for throughput over time: ended executions, attempts and their lateness, from the rollups."""

from datetime import timedelta
from typing import Annotated, Any

from litestar.params import QueryParameter
from psycopg import AsyncConnection

from pgsched.api.access import grant_of
from pgsched.api.parameters import INSTANT, OnlyClient, Pooled, bound
from pgsched.api.problems import Unreadable
from pgsched.api.request_reading import ApiRequest
from pgsched.api.routing import reads
from pgsched.api_responses import Stats
from pgsched.domain.duration import format_duration, length_of
from pgsched.store import verbs
from pgsched.store.lookup import throughput
from pgsched.store.lookup.throughput import LONGEST, By, Span, step_for

_START = "Start of the period, RFC 3339 with an offset; by default an hour before its end."
_END = "End of the period, exclusive; by default now."
_STEP = "Length of a step, such as 15m or 1d, at least 1m; by default chosen to give about 120 steps."
_MOST_STEPS = 1500


@reads("/stats", "Get throughput and lateness over time, by queue or client")
async def get_stats(
    request: ApiRequest,
    database: Pooled,
    by: Annotated[By, QueryParameter(name="by", description="Group by time, queue or client.")] = "time",
    client: OnlyClient = None,
    queue: Annotated[str | None, QueryParameter(name="queue", max_length=63, description="Only this queue.")] = None,
    start: Annotated[str | None, QueryParameter(name="from", description=_START, schema_extra=INSTANT)] = None,
    end: Annotated[str | None, QueryParameter(name="to", description=_END, schema_extra=INSTANT)] = None,
    step: Annotated[str | None, QueryParameter(name="step", max_length=40, description=_STEP)] = None,
) -> Stats:
    """The data covers the last 30 days, with a resolution of one minute. Empty steps are omitted, and only the 50
    busiest queues or clients are returned. A key that is not for all clients sees only its own clients."""
    allowed = grant_of(request).clients
    clients = [client] if client is not None else None if allowed is None else sorted(allowed)
    given = {"from": bound("from", start), "to": bound("to", end)}
    each = length_of(step) if step is not None else None

    async def answered(connection: AsyncConnection[Any]) -> Stats:
        until = given["to"] or await verbs.now(connection)
        span = Span(start=given["from"] or until - timedelta(hours=1), end=until, clients=clients, queue=queue)
        if (fault := _fault(span, by, each)) is not None:
            raise Unreadable.parameter(*fault, status=422)
        if by == "time":
            took = each or step_for(span)
            items = await throughput.over_time(connection, span, step=took.total_seconds())
            return Stats(start=span.start, end=span.end, step=format_duration(took), items=items)
        ask = throughput.by_queue if by == "queue" else throughput.by_client
        return Stats(start=span.start, end=span.end, step=None, items=await ask(connection, span))

    return await database.ask(answered)


def _fault(span: Span, by: By, step: timedelta | None) -> tuple[str, str] | None:
    """Returns the name of an invalid parameter and the reason, or None if all parameters are valid."""
    if not timedelta() < span.end - span.start <= LONGEST[by]:
        return "from", f"must be before the parameter `to`, by at most {format_duration(LONGEST[by])}"
    if step is not None and step < timedelta(minutes=1):
        return "step", "must be at least a minute"
    if step is not None and (span.end - span.start) / step > _MOST_STEPS:
        return "step", f"would give more than {_MOST_STEPS:,} steps; give a longer step"
    return None
