"""POST /v1/jobs: a one-shot goes with those that arrive beside it; for a job there is one transaction in which it is
also planned."""

import asyncio
from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import Body, HeaderParameter
from litestar.status_codes import HTTP_200_OK, HTTP_201_CREATED
from psycopg import AsyncConnection

from pgsched.api.bodies import CreateJob
from pgsched.api.group_commit import Intake
from pgsched.api.problems import Fault, Unreadable
from pgsched.api.routing import makes
from pgsched.domain.trace import traceparent_in
from pgsched.errors import InvalidSchedule
from pgsched.responses import Scheduled
from pgsched.store.jobs.jobs import plan_job
from pgsched.store.lookup.listings import get_job, planned_instant
from pgsched.store.lookup.rows import JobRow
from pgsched.store.schedule import calls
from pgsched.store.schedule.order import Order, order_of

_ONE_SHOT = {
    "target": "https://shop.example/settle",
    "payload": {"merchant": 42},
    "key": "settle-42",
    "schedule": {"delay": "PT10M"},
    "options": {"timeout": "PT5S", "max_attempts": 5},
}
_DAILY = {
    "target": "python:send_report",
    "key": "report",
    "schedule": {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "gap": "shift", "overlap": "first"},
}
_EXAMPLES = [
    Example(summary="Once, in ten minutes", value=_ONE_SHOT),
    Example(summary="Every day at half past two in Berlin", value=_DAILY),
]


@makes(
    "/jobs",
    "Schedule a one-shot or a recurring job",
    404,
    409,
    429,
    otherwise=(Scheduled, "Nothing new: outcome says what stands under the key."),
    response_description="Committed: it will fire.",
    scope="schedule",
)
async def create(
    data: Annotated[CreateJob, Body(examples=_EXAMPLES)],
    intake: NamedDependency[Intake],
    idempotency_key: Annotated[
        str | None,
        HeaderParameter(
            name="Idempotency-Key", min_length=1, max_length=200, description="The key where the body has none."
        ),
    ] = None,
    traceparent: Annotated[
        str | None,
        HeaderParameter(
            name="traceparent", description="W3C Trace Context of a one-shot. What is not of its form is ignored."
        ),
    ] = None,
) -> Response[Scheduled]:
    """Without a schedule it fires now. Scheduling again with the same client and key replaces what still waits, unless
    on_conflict says otherwise. The status is 201 if something was created; with 200, outcome says what the key stands
    for."""
    if not (idempotency_key or "").isascii():  # a header says nothing of how it is encoded
        detail = "not ASCII: give the key in the body"
        raise Unreadable(f"Idempotency-Key: {detail}", faults=[Fault(parameter="Idempotency-Key", detail=detail)])
    with intake.tracing.scheduling(traceparent_in(traceparent), data.target) as trace:
        order = order_in(data, idempotency_key, trace)
        if order.when.recurs:
            answer = await intake.database.ask(_place_job, order)
        else:
            placed = await intake.group_commit.schedule(intake.database, order)
            answer = Scheduled(id=placed.id, kind="execution", outcome=placed.outcome, fire_at=placed.fire_at)
    rooms = {"job": "jobs", "execution": "executions"}
    return Response(
        answer,
        status_code=HTTP_201_CREATED if answer.outcome == "created" else HTTP_200_OK,
        headers={"Location": f"/v1/{rooms[answer.kind]}/{answer.id}"},
    )


def order_in(data: CreateJob, idempotency_key: str | None = None, traceparent: str | None = None) -> Order:
    """What a body asks for. The runs of a job are no part of the trace in which it was made. Raises what ``order_of``
    does."""
    timing = data.schedule.given()
    given = msgspec.structs.asdict(data) | timing
    if traceparent is not None and not timing.keys() & {"cron", "every"}:
        given["options"] = {"traceparent": traceparent} | (data.options or {})
    payload = None if isinstance(data.payload, msgspec.UnsetType) else bytes(data.payload).decode()
    for name in ("target", "schedule"):
        del given[name]
    return order_of(data.target, given | {"payload": payload, "key": data.key or idempotency_key})


async def _place_job(connection: AsyncConnection[Any], order: Order) -> Scheduled:
    async with connection.transaction():
        placed = await calls.schedule(connection, order)
        await plan_job(connection, placed.id)
        row = await get_job(connection, placed.id)
        fire_at = await next_instant(connection, row) if row else None
    return Scheduled(id=placed.id, kind="job", outcome=placed.outcome, fire_at=fire_at)


async def next_instant(connection: AsyncConnection[Any], job: JobRow) -> datetime | None:
    """When a job fires next; None unless it is active."""
    return next(iter(await next_instants(connection, job, 1)), None)


async def next_instants(connection: AsyncConnection[Any], job: JobRow, count: int) -> list[datetime]:
    """The next instants of a job; none of one that is not active."""
    if job.state != "active":
        return []
    planned, now = await planned_instant(connection, job.id)
    try:
        following = await asyncio.to_thread(lambda: job.recurrence().instants(planned or now, count))
    except InvalidSchedule:  # inserted by SQL just now: the next planner marks it invalid
        return []
    fires = following if planned is None else [planned, *following]
    return fires[: job.runs_left(count)]
