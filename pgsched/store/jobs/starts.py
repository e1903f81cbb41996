"""When a planned row starts: at its instant, a little later by jitter, or when its window is emptiest."""

from datetime import datetime
from typing import Any, Protocol

from psycopg import AsyncConnection

from pgsched.domain.jitter import emptiest, jittered, slots
from pgsched.domain.recurrence import Recurrence
from pgsched.domain.rules import Rules
from pgsched.store.core.sql import statement_in
from pgsched.store.core.wire import to_datetime, to_instant


class Job(Protocol):
    """The attributes of a job that decide when its rows start."""

    @property
    def identity(self) -> str: ...
    def parsed(self) -> Rules: ...
    def recurrence(self) -> Recurrence: ...


async def start_of(connection: AsyncConnection[Any], job: Job, partition: int, instant: int) -> int:
    """The start of a job's row for this instant; wire counts. Raises InvalidSchedule."""
    rules = job.parsed()
    if rules.spread is None:
        return instant
    return to_instant(await _start_within(connection, job, rules, partition, to_datetime(instant)))


async def _start_within(
    connection: AsyncConnection[Any], job: Job, rules: Rules, partition: int, instant: datetime
) -> datetime:
    following = job.recurrence().next_instant(instant)
    if rules.jitter is not None:
        return jittered(job.identity, instant, rules.jitter, following)
    assert rules.window is not None
    begins = slots(instant, rules.window, following)
    end = instant + rules.window if following is None else min(instant + rules.window, following)
    counts = await _waiting(connection, partition, [*begins, end])
    return emptiest(job.identity, instant, rules.window, counts, following)


async def _waiting(connection: AsyncConnection[Any], partition: int, edges: list[datetime]) -> list[int]:
    parameters = {"lows": edges[:-1], "highs": edges[1:]}
    cursor = await connection.execute(statement_in("jobs/crowding", partition), parameters)
    return [row[0] for row in await cursor.fetchall()]
