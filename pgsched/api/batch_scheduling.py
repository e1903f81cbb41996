"""Schedules the lines of a batch: loaded together, and looked into only where the database refuses some."""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import psycopg
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import tuple_row

from pgsched.api.batch_lines import LineOrder, RefusedLine
from pgsched.errors import PgschedError, QueueFull, SchemaMismatch, Unavailable
from pgsched.store.core.query import first
from pgsched.store.core.refusals import refusal
from pgsched.store.core.wire import register_arrays
from pgsched.store.schedule import calls
from pgsched.store.schedule.bulk import Load, OneShot, Start, send

_OF_THE_DATABASE = (Unavailable, SchemaMismatch)  # and not of a line


class ScheduledLine(NamedTuple):
    """A line that is scheduled once the transaction commits."""

    number: int
    id: str
    kind: str
    outcome: str


class BatchRefused(Exception):
    """The first line that is refused where all are asked for or none."""

    def __init__(self, refused: RefusedLine) -> None:
        super().__init__(str(refused.error))
        self.refused = refused


async def schedule_all(
    connection: AsyncConnection[Any], wanted: list[LineOrder | RefusedLine], start: Start
) -> list[ScheduledLine]:
    """Schedules all of the lines. Raises BatchRefused for the first that cannot be, and its transaction has to end."""
    readable: list[LineOrder] = []
    unreadable: RefusedLine | None = None
    for line in wanted:
        if isinstance(line, RefusedLine):
            unreadable = line
            break
        readable.append(line)
    found: list[ScheduledLine] = []
    async for result in _scheduled(connection, readable, start):
        if isinstance(result, RefusedLine):
            raise BatchRefused(result)
        found.append(result)
    if unreadable is not None:
        raise BatchRefused(unreadable)
    return found


async def schedule_each(
    connection: AsyncConnection[Any], wanted: list[LineOrder | RefusedLine], start: Start
) -> list[ScheduledLine | RefusedLine]:
    """Schedules what can be of the lines; returns the result of each."""
    found: list[ScheduledLine | RefusedLine] = [line for line in wanted if isinstance(line, RefusedLine)]
    readable = [line for line in wanted if isinstance(line, LineOrder)]
    found += [result async for result in _scheduled(connection, readable, start)]
    return sorted(found, key=lambda result: result.number)


async def begin(connection: AsyncConnection[Any]) -> Start:
    """The instant from which the batch counts its delays, and its ids."""
    found = await first(connection, "schedule/start_many")
    assert found is not None
    return Start._make(found)


async def _scheduled(
    connection: AsyncConnection[Any], lines: list[LineOrder], start: Start
) -> AsyncIterator[ScheduledLine | RefusedLine]:
    """The results in order. Where the database refuses the lines together, each half of them is tried by itself."""
    try:
        async with connection.transaction():
            kept = await _together(connection, lines, start)
    except (psycopg.Error, PgschedError) as error:
        found = error if isinstance(error, PgschedError) else refusal(error)
        if found is None or isinstance(found, _OF_THE_DATABASE):
            raise
        refused = found
    else:
        for line in kept:
            yield line
        return
    if len(lines) == 1 or (isinstance(refused, QueueFull) and all(map(_is_loaded, lines))):
        for number, _ in lines:
            yield RefusedLine(number, refused)
        return
    middle = len(lines) // 2
    for half in (lines[:middle], lines[middle:]):
        async for result in _scheduled(connection, half, start):
            yield result


def _is_loaded(line: LineOrder) -> bool:
    """Whether it is for the queue ``default``, as all that COPY loads."""
    return isinstance(line.order, OneShot) and line.order.on_conflict is None


async def _together(connection: AsyncConnection[Any], lines: list[LineOrder], start: Start) -> list[ScheduledLine]:
    found: list[ScheduledLine] = []
    waiting: list[tuple[int, OneShot]] = []
    for number, order in lines:
        if isinstance(order, OneShot):
            waiting.append((number, order))
            continue
        found += await _loaded(connection, waiting, start)
        waiting = []
        placed = await calls.schedule(connection, order)
        kind = "job" if order.when.recurs else "execution"
        found.append(ScheduledLine(number, str(placed.id), kind, placed.outcome))
    return found + await _loaded(connection, waiting, start)


async def _loaded(
    connection: AsyncConnection[Any], lines: list[tuple[int, OneShot]], start: Start
) -> list[ScheduledLine]:
    if not lines:
        return []
    orders = iter([order for _, order in lines])
    load = Load(start=start, encoding=connection.info.encoding, orders=orders, count=lines[0][0])
    async with AsyncCursor(connection, row_factory=tuple_row) as cursor:
        register_arrays(cursor)
        await send(cursor, load)
    digits, outcomes = load.ids.hex(), load.outcomes
    return [
        ScheduledLine(
            number, _written(digits[32 * place : 32 * place + 32]), "execution", outcomes.get(place, "created")
        )
        for place, (number, _) in enumerate(lines)
    ]


def _written(digits: str) -> str:
    """A UUID of 32 digits as text."""
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
