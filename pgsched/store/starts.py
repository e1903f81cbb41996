"""When a planned row starts: at its instant, a little later by jitter, or when its window is emptiest."""

from datetime import datetime
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import tuple_row

from pgsched.domain.jitter import emptiest, jittered, slots
from pgsched.domain.recurrence import Recurrence
from pgsched.domain.rules import Rules
from pgsched.store.definitions import Definition
from pgsched.store.sql import statement_in
from pgsched.store.wire import to_datetime, to_instant


async def start_of(connection: AsyncConnection[Any], definition: Definition, partition: int, instant: int) -> int:
    """The start of a definition's row for this instant; wire counts."""
    rules = definition.parsed()
    if rules.jitter is None and rules.window is None:
        return instant
    found = await start_within(
        connection, definition.recurrence(), rules, definition.identity, partition, to_datetime(instant)
    )
    return to_instant(found)


async def start_within(
    connection: AsyncConnection[Any],
    recurrence: Recurrence,
    rules: Rules,
    identity: str,
    partition: int,
    instant: datetime,
) -> datetime:
    """The start of a job's row for this instant."""
    following = recurrence.next_instant(instant)
    if rules.jitter is not None:
        return jittered(identity, instant, rules.jitter, following)
    if rules.window is None:
        return instant
    begins = slots(instant, rules.window, following)
    end = instant + rules.window if following is None else min(instant + rules.window, following)
    counts = await _waiting(connection, partition, [*begins, end])
    return emptiest(identity, instant, rules.window, counts, following)


async def _waiting(connection: AsyncConnection[Any], partition: int, edges: list[datetime]) -> list[int]:
    parameters = {"lows": edges[:-1], "highs": edges[1:]}
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(statement_in("crowding", partition), parameters)
        return [row[0] for row in await cursor.fetchall()]
