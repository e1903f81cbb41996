"""What was done over time: executions that ended, attempts and their lateness, as the rollups tell it."""

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

_START = "At or after this, RFC 3339 with an offset; without it, an hour before to."
_END = "Before this; without it, now."
_STEP = "How long a step is, from 1m on, such as 15m or 1d; without it, one with which there are some 120 steps."
_MOST_STEPS = 1500


@reads("/stats", "Get throughput and lateness over time, by queue or client")
async def get_stats(
    request: ApiRequest,
    database: Pooled,
    by: Annotated[
        By, QueryParameter(name="by", description="Whether each item is a step, a queue or a client.")
    ] = "time",
    client: OnlyClient = None,
    queue: Annotated[str | None, QueryParameter(name="queue", max_length=63, description="Only in this queue.")] = None,
    start: Annotated[str | None, QueryParameter(name="from", description=_START, schema_extra=INSTANT)] = None,
    end: Annotated[str | None, QueryParameter(name="to", description=_END, schema_extra=INSTANT)] = None,
    step: Annotated[str | None, QueryParameter(name="step", max_length=40, description=_STEP)] = None,
) -> Stats:
    """Covers the last 30 days, by the minute. Empty steps are left out, and only the 50 busiest queues and clients are
    returned. A key that is not for all clients sees only its own."""
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
    """The parameter that cannot be meant, and why."""
    if not timedelta() < span.end - span.start <= LONGEST[by]:
        return "from", f"it must be before to, by {format_duration(LONGEST[by])} at the most"
    if step is not None and step < timedelta(minutes=1):
        return "step", "it must be a minute at least"
    if step is not None and (span.end - span.start) / step > _MOST_STEPS:
        return "step", f"there would be more than {_MOST_STEPS:,} steps: give a longer one"
    return None
