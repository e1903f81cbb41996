"""POST /v1/jobs/batch: lines of NDJSON, scheduled as they arrive, all of them or each by itself.

Neither the body nor the answer is ever in memory as a whole. The answer is written to a temporary file, and sent when
the last line was read: few HTTP clients read an answer while they send, and those that do not would wait for us while
we wait for them.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, aclosing, closing
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import msgspec
from litestar.di import NamedDependency
from litestar.openapi.spec import OpenAPIFormat, OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema
from litestar.params import QueryParameter
from litestar.response import Stream

from pgsched.api.access import check_still, grant_of
from pgsched.api.authentication import Authentication
from pgsched.api.batch_lines import SLICE, RefusedLine, read
from pgsched.api.batch_scheduling import BatchRefused, ScheduledLine, begin, schedule_all, schedule_each
from pgsched.api.connection_pool import Database
from pgsched.api.parameters import Pooled
from pgsched.api.problems import Answer, Fault, refused
from pgsched.api.request_reading import ApiRequest, check_parameters
from pgsched.api.routing import acts
from pgsched.errors import PgschedError

NDJSON = "application/x-ndjson"
_IN_MEMORY, _PIECE = 1 << 20, 1 << 16
_Mode = Annotated[
    Literal["all", "each"],
    QueryParameter(
        name="mode", description="all: every line is scheduled or none; each: what can be is, with a result a line."
    ),
]


@dataclass
class _TakesLines(Operation):
    """The description of a body that the route reads by itself."""

    def __post_init__(self) -> None:
        words = "Lines, each of which is what POST /v1/jobs takes."
        schema = Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY, description=words)
        self.request_body = RequestBody(content={NDJSON: OpenAPIMediaType(schema=schema)}, required=True)


class _Results:
    """The answer, on its way to a file."""

    def __init__(self, request: ApiRequest) -> None:
        self._request = request
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 (closed once it was sent)

    async def add(self, results: Sequence[ScheduledLine | RefusedLine]) -> None:
        """The loop serves others between slices of them."""
        for first in range(0, len(results), SLICE):
            self._file.write(b"".join(map(self._line, results[first : first + SLICE])))
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
    response_description="Committed: for each line its number with id, kind and outcome, or with its problem.",
)
async def create_many(
    request: ApiRequest, database: Pooled, authentication: NamedDependency[Authentication], mode: _Mode = "all"
) -> Stream | Answer:
    """Each line is what POST /v1/jobs takes, and is checked in the same way. With mode=all, the first invalid line
    rejects the whole batch: the problem names the line, and nothing is scheduled."""
    request.check_type(NDJSON)
    still_let_in = partial(check_still, authentication, request)
    with ExitStack() as stack:
        results = stack.enter_context(closing(_Results(request)))
        try:
            await (_schedule_all if mode == "all" else _schedule_each)(database, request, results, still_let_in)
        except BatchRefused as error:
            return _refused_for(request, error.refused)
        stack.pop_all()  # the answer closes the file
        return results.answer()


async def _schedule_all(
    database: Database, request: ApiRequest, results: _Results, still_let_in: Callable[[], Awaitable[None]]
) -> None:
    async with database.batch() as connection, connection.transaction():
        start = await begin(connection)
        async with aclosing(read(request.stream(), start, grant_of(request))) as lines:
            async for some in lines:
                await results.add(await schedule_all(connection, some, start))
        await still_let_in()


async def _schedule_each(
    database: Database, request: ApiRequest, results: _Results, still_let_in: Callable[[], Awaitable[None]]
) -> None:
    """After an error that is not a line's, nothing more is tried, and the rest has the same result."""
    broken: PgschedError | None = None
    start = await database.ask(begin)
    async with aclosing(read(request.stream(), start, grant_of(request))) as lines:
        async for some in lines:
            if broken is None:
                try:
                    await still_let_in()
                    async with database.connection() as connection, connection.transaction():
                        found = await schedule_each(connection, some, start)
                except PgschedError as error:
                    broken = error
            await results.add(found if broken is None else [RefusedLine(line.number, broken) for line in some])


def _refused_for(request: ApiRequest, found: RefusedLine) -> Answer:
    """The problem of one line as that of the whole batch."""
    answer = refused(request, found.error)
    problem = answer.content
    faults = problem.errors or [Fault(detail=problem.detail)]
    answer.content = msgspec.structs.replace(
        problem,
        detail=f"line {found.number}: {problem.detail}; nothing of the batch was scheduled",
        errors=[msgspec.structs.replace(fault, line=found.number) for fault in faults],
    )
    return answer
