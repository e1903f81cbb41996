"""POST /v1/jobs/batch: schedules lines of NDJSON as they arrive, either all or none, or each independently.

Neither the request body nor the response is ever held in memory as a whole. The response is collected in a temporary
file and sent last, because few HTTP clients read a response while they are still sending the request.
"""

import asyncio
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, aclosing, closing
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import psycopg
from litestar.di import NamedDependency
from litestar.openapi.spec import OpenAPIFormat, OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema
from litestar.params import QueryParameter
from litestar.response import Stream
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import tuple_row

from pgsched.api.access import check_still, grant_of
from pgsched.api.authentication import Authentication
from pgsched.api.batch_lines import SLICE, RefusedLine, RequestLine, read
from pgsched.api.connection_pool import Database
from pgsched.api.parameters import Pooled
from pgsched.api.problems import Answer, Fault, refused
from pgsched.api.request_reading import ApiRequest, check_parameters
from pgsched.api.routing import acts
from pgsched.errors import PgschedError, QueueFull, SchemaMismatch, Unavailable
from pgsched.store.core.query import first
from pgsched.store.core.refusals import refusal
from pgsched.store.core.wire import register_arrays
from pgsched.store.schedule import calls
from pgsched.store.schedule.many import Load, OneShot, Start, send

NDJSON = "application/x-ndjson"
_OF_THE_DATABASE = (Unavailable, SchemaMismatch)  # errors that are not caused by a line
_IN_MEMORY, _PIECE = 1 << 20, 1 << 16
_Mode = Annotated[
    Literal["all", "each"],
    QueryParameter(
        name="mode",
        description="all: schedule every line, or none if any line is invalid; each: schedule all valid lines.",
    ),
]


class ScheduledLine(NamedTuple):
    """A line that will be scheduled when the transaction commits."""

    number: int
    id: str
    kind: str
    outcome: str


class BatchRefused(Exception):
    """In mode ``all``, a line was refused."""

    def __init__(self, refused: RefusedLine) -> None:
        super().__init__(str(refused.error))
        self.refused = refused


@dataclass
class _TakesLines(Operation):
    """The OpenAPI description of the body, which the route itself reads."""

    def __post_init__(self) -> None:
        words = "NDJSON: each line is a body of POST /v1/jobs."
        schema = Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY, description=words)
        self.request_body = RequestBody(content={NDJSON: OpenAPIMediaType(schema=schema)}, required=True)


class _Results:
    """The response, collected in a temporary file."""

    def __init__(self, request: ApiRequest) -> None:
        self._request = request
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 (closed after it is sent)

    async def add(self, results: Sequence[ScheduledLine | RefusedLine]) -> None:
        """Appends the results, and yields to the event loop between slices."""
        for start in range(0, len(results), SLICE):
            self._file.write(b"".join(map(self._line, results[start : start + SLICE])))
            await asyncio.sleep(0)

    def _line(self, result: ScheduledLine | RefusedLine) -> bytes:
        if isinstance(result, ScheduledLine):
            return b'{"line":%d,"id":"%s","kind":"%s","outcome":"%s"}\n' % (
                result.number,
                result.id.encode(),
                result.kind.encode(),
                result.outcome.encode(),
            )
        problem = refused(self._request, result.error).content
        return msgspec.json.encode({"line": result.number, "problem": problem}) + b"\n"

    def close(self) -> None:
        self._file.close()

    def answer(self) -> Stream:
        self._file.seek(0)
        return Stream(self._pieces(), media_type=NDJSON, status_code=200)

    async def _pieces(self) -> AsyncIterator[bytes]:
        with self._file:
            while piece := self._file.read(_PIECE):
                yield piece


@acts(
    "/jobs/batch",
    "Schedule many jobs or one-shots",
    404,
    409,
    413,
    415,
    429,
    scope="schedule",
    before_request=check_parameters,
    request_max_body_size=None,
    operation_class=_TakesLines,
    media_type=NDJSON,
    response_description="Committed. The response gives each line's number with its result or problem.",
)
async def create_many(
    request: ApiRequest, database: Pooled, authentication: NamedDependency[Authentication], mode: _Mode = "all"
) -> Stream | Answer:
    """Each line is a body of POST /v1/jobs, and is checked in the same way. With ``mode=all``, one invalid line rejects
    the whole batch: nothing is scheduled, and the problem names the first invalid line."""
    request.check_type(NDJSON)
    still_let_in = partial(check_still, authentication, request)
    with ExitStack() as stack:
        results = stack.enter_context(closing(_Results(request)))
        try:
            await (_schedule_all if mode == "all" else _schedule_each)(database, request, results, still_let_in)
        except BatchRefused as error:
            return _refused_for(request, error.refused)
        stack.pop_all()  # the response closes the file
        return results.answer()


async def _schedule_all(
    database: Database, request: ApiRequest, results: _Results, still_let_in: Callable[[], Awaitable[None]]
) -> None:
    async with database.batch() as connection, connection.transaction():
        start = await _begin(connection)
        async with aclosing(read(request.stream(), start, grant_of(request))) as lines:
            async for some in lines:
                found = []
                async for result in _scheduled(connection, some, start):
                    if isinstance(result, RefusedLine):
                        raise BatchRefused(result)
                    found.append(result)
                await results.add(found)
        await still_let_in()


async def _schedule_each(
    database: Database, request: ApiRequest, results: _Results, still_let_in: Callable[[], Awaitable[None]]
) -> None:
    """Schedules each line independently. An error that is not due to a line is the result of all remaining lines."""
    broken: PgschedError | None = None
    start = await database.ask(_begin)
    async with aclosing(read(request.stream(), start, grant_of(request))) as lines:
        async for some in lines:
            if broken is None:
                try:
                    await still_let_in()
                    async with database.connection() as connection, connection.transaction():
                        found = [result async for result in _scheduled(connection, some, start)]
                except PgschedError as error:
                    broken = error
            await results.add(found if broken is None else [RefusedLine(line.number, broken) for line in some])


def _refused_for(request: ApiRequest, found: RefusedLine) -> Answer:
    """Returns the problem of one line as the response to the whole batch."""
    answer = refused(request, found.error)
    problem = answer.content
    faults = problem.errors or [Fault(detail=problem.detail)]
    answer.content = msgspec.structs.replace(
        problem,
        detail=f"line {found.number}: {problem.detail}; nothing in the batch was scheduled",
        errors=[msgspec.structs.replace(fault, line=found.number) for fault in faults],
    )
    return answer


async def _begin(connection: AsyncConnection[Any]) -> Start:
    """Returns the instant from which delays are counted, and the ids for the batch."""
    found = await first(connection, "schedule/start_many")
    assert found is not None
    return Start._make(found)


async def _scheduled(
    connection: AsyncConnection[Any], lines: list[RequestLine | RefusedLine], start: Start
) -> AsyncIterator[ScheduledLine | RefusedLine]:
    """Yields the results in line order, including those of lines that could not be read."""
    refused = deque(line for line in lines if isinstance(line, RefusedLine))
    async for result in _halved(connection, [line for line in lines if isinstance(line, RequestLine)], start):
        while refused and refused[0].number < result.number:
            yield refused.popleft()
        yield result
    for line in refused:
        yield line


async def _halved(
    connection: AsyncConnection[Any], lines: list[RequestLine], start: Start
) -> AsyncIterator[ScheduledLine | RefusedLine]:
    """Yields the results in line order. If the database refuses all lines together, tries each half separately."""
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
        async for result in _halved(connection, half, start):
            yield result


def _is_loaded(line: RequestLine) -> bool:
    """Whether COPY loads the line, which then belongs to the queue ``default``."""
    return isinstance(line.order, OneShot) and line.order.on_conflict is None


async def _together(connection: AsyncConnection[Any], lines: list[RequestLine], start: Start) -> list[ScheduledLine]:
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
    """Formats a UUID that is given as 32 hex digits."""
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
