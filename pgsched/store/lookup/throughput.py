"""Reads from the rollups the work done over time, by queue and by client."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, Literal

from psycopg import AsyncConnection

from pgsched.domain.histogram import quantile, share_within
from pgsched.store.core.query import rows, value
from pgsched.store.live.rollups import EVERYBODY

By = Literal["time", "queue", "client"]
LONGEST = {"time": timedelta(days=31), "queue": timedelta(days=31), "client": timedelta(hours=6)}
"""The longest span that may be queried. By client, the limit is lower, because a minute may have a thousand rows."""
_STEPS = [timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 360)]
_WANTED = 120
_MOST_OBJECTIVES = 100
MOST_ITEMS = 50
"""Maximum number of queues or clients listed, those with the most attempts first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Percentiles in seconds: half of the attempts took no longer than ``p50``, and 99 percent no longer than ``p99``.
    Both are None if there were no attempts.
    """

    p50: float | None
    p99: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The work done in the step that began at ``starts_at``, in a queue or for a client. It counts executions by how
    they ended, all attempts, and failed attempts. ``lateness`` is how late attempts began; ``duration`` is how long
    they took.
    """

    starts_at: datetime | None = None
    queue: str | None = None
    client: str | None = None
    ended: int
    succeeded: int
    failed: int
    cancelled: int
    expired: int
    skipped: int
    attempts: int
    failed_attempts: int
    lateness: Percentiles
    duration: Percentiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span of time, for some clients or all (None), and for one queue or all (None)."""

    start: datetime
    end: datetime
    clients: Sequence[str] | None = None
    queue: str | None = None


def step_for(span: Span) -> timedelta:
    """Returns a round step length that divides the span into about 120 steps."""
    return next((step for step in _STEPS if (span.end - span.start) / step <= _WANTED), _STEPS[-1])


async def over_time(connection: AsyncConnection[Any], span: Span, *, step: float) -> list[Done]:
    """Returns the steps of ``step`` seconds in which any work was done, earliest first."""
    return await _done(connection, "time", span, clients=_together(span), step=step)


async def by_queue(connection: AsyncConnection[Any], span: Span) -> list[Done]:
    """Returns the busiest queues."""
    return await _done(connection, "queue", span, clients=_together(span), limit=MOST_ITEMS)


async def by_client(connection: AsyncConnection[Any], span: Span) -> list[Done]:
    """Returns the busiest clients."""
    clients = None if span.clients is None else list(span.clients)
    return await _done(connection, "client", span, clients=clients, limit=MOST_ITEMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """A client's objective, and the share of the last hour's attempts that met the objective (None without attempts).
    ``burn`` is the number of late attempts divided by the number that may be late.
    """

    client: str
    late_after: timedelta
    on_time_share: float
    attempts: int
    on_time: float | None
    burn: float | None


async def objectives(connection: AsyncConnection[Any]) -> list[Objective]:
    """Returns the objectives of up to a hundred clients, by name, and how well the last hour met each."""
    return [_measured(aim) for aim in await _aims(connection, None)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Punctuality:
    """How many attempts of a client began, how many of them began later than the client's objective allows, and the
    share that must be on time.
    """

    client: str
    attempts: int
    late: float
    on_time_share: float


async def punctuality(connection: AsyncConnection[Any], *, start: datetime) -> list[Punctuality]:
    """Returns the punctuality of each client with an objective since the minute ``start``, according to the rollups."""
    return [_punctual(aim) for aim in await _aims(connection, start)]


def _punctual(aim: SimpleNamespace) -> Punctuality:
    counts = [count or 0 for count in aim.lateness]
    attempts, on_time = sum(counts), share_within(counts, aim.late_after.total_seconds())
    late = 0.0 if on_time is None else round((1 - on_time) * attempts, 3)
    return Punctuality(client=aim.client, attempts=attempts, late=late, on_time_share=aim.on_time_share)


async def _aims(connection: AsyncConnection[Any], start: datetime | None) -> list[SimpleNamespace]:
    return await rows(connection, SimpleNamespace, "lookup/objectives", most=_MOST_OBJECTIVES, start=start)


def _measured(aim: SimpleNamespace) -> Objective:
    on_time = share_within([count or 0 for count in aim.lateness], aim.late_after.total_seconds())
    return Objective(
        client=aim.client,
        late_after=aim.late_after,
        on_time_share=aim.on_time_share,
        attempts=aim.attempts,
        on_time=on_time,
        burn=None if on_time is None else (1 - on_time) / (1 - aim.on_time_share),
    )


async def busiest_minute(connection: AsyncConnection[Any]) -> int | None:
    """Returns the number of attempts in the workers' busiest minute of the last 7 days, or None if there were none."""
    found: int | None = await value(connection, "lookup/busiest_minute")
    return found


def _together(span: Span) -> list[str]:
    return [EVERYBODY] if span.clients is None else list(span.clients)


async def _done(
    connection: AsyncConnection[Any],
    by: By,
    span: Span,
    *,
    clients: list[str] | None,
    step: float | None = None,
    limit: int | None = None,
) -> list[Done]:
    asked = {"by": by, "start": span.start, "end": span.end, "queue": span.queue}
    found = await rows(connection, dict, "lookup/done", "rolled_up", **asked, clients=clients, step=step, limit=limit)
    return [Done(**row | {name: _spread(row[name]) for name in ("lateness", "duration")}) for row in found]


def _spread(counts: Sequence[int | None]) -> Percentiles:
    known = [count or 0 for count in counts]
    return Percentiles(p50=quantile(known, 0.5), p99=quantile(known, 0.99))
