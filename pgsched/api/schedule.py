"""POST /v1/jobs. One-shots that arrive together are committed together; a job is created and planned in one
transaction."""

from contextlib import nullcontext
from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import Body, HeaderParameter
from litestar.status_codes import HTTP_200_OK, HTTP_201_CREATED
from msgspec import UNSET, Meta, UnsetType
from psycopg import AsyncConnection

from pgsched.api.group_commit import Intake
from pgsched.api.jobs import next_instant
from pgsched.api.parameters import Duration, Instant
from pgsched.api.problems import Unreadable
from pgsched.api.routing import makes
from pgsched.api_responses import Scheduled
from pgsched.domain.execution_options import OPTIONS
from pgsched.domain.trace import traceparent_in
from pgsched.store.jobs.unplanned_jobs import plan_job
from pgsched.store.lookup.executions_and_jobs import get_job
from pgsched.store.schedule import calls
from pgsched.store.schedule.schedule_parameters import ScheduleRequest, request_of

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


class Timing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Give at most one of ``fire_at``, ``delay``, ``cron`` and ``every``. If all are omitted, the execution fires now.
    The four fields cannot be null, because a value that the caller failed to compute would cause an immediate call.
    """

    fire_at: Instant | UnsetType = UNSET
    delay: Duration | UnsetType = UNSET
    cron: (
        Annotated[str, Meta(description="Five fields, six with seconds first, or a nickname such as @daily.")]
        | UnsetType
    ) = UNSET
    timezone: Annotated[str, Meta(description="IANA name; only with cron. If omitted, UTC.")] | None = None
    gap: (
        Annotated[str, Meta(description="What happens at times of day that a clock change skips: shift or skip.")]
        | None
    ) = None
    overlap: (
        Annotated[
            str, Meta(description="What happens at times of day that a clock change repeats: first, second or both.")
        ]
        | None
    ) = None
    every: Duration | UnsetType = UNSET

    def given(self) -> dict[str, str]:
        """The fields that are given, by name."""
        parts = {name: getattr(self, name) for name in Timing.__struct_fields__}
        return {name: part for name, part in parts.items() if part is not None and part is not UNSET}


class CreateJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The target to call, and when."""

    target: Annotated[str, Meta(description="https://host/path, python:name, sql:schema.function, notify:channel, …")]
    schedule: Timing = Timing()
    payload: Annotated[
        msgspec.Raw | UnsetType, Meta(description="Any JSON, up to 1 MiB; numbers keep all their digits.")
    ] = UNSET
    client: Annotated[str, Meta(min_length=1, max_length=100)] = "default"
    key: Annotated[str, Meta(min_length=1, max_length=200, description="Unique per client.")] | None = None
    ordering_key: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    queue: Annotated[str, Meta(min_length=1, max_length=63)] = "default"
    options: (
        Annotated[
            dict[str, Any],
            Meta(description=f"{', '.join(OPTIONS)}."),
        ]
        | None
    ) = None
    rules: (
        Annotated[
            Any,
            Meta(
                extra_json_schema={"type": "object"},
                description="Recurrence rules: also, exclude, starts_at, ends_at, max_runs, jitter, window, anchor, "
                "after_completion, on_overlap, on_missed, catch_up, pause_after, delete_after, after.",
            ),
        ]
        | None
    ) = None
    labels: Annotated[dict[str, str], Meta(description="Labels to find the execution or job by.")] | None = None
    after: Annotated[list[str], Meta(description="Ids or keys of executions to wait for.")] | None = None
    after_outcome: Annotated[str, Meta(description="success: all of them must succeed; any: all of them must end.")] = (
        "success"
    )
    on_conflict: Annotated[
        str,
        Meta(description="What happens if the key is in use: replace, keep, reject or debounce.", examples=["keep"]),
    ] = "replace"


@makes(
    "/jobs",
    "Schedule a one-shot or a recurring job",
    404,
    409,
    429,
    otherwise=(Scheduled, "Nothing was created: `outcome` says what happened to the holder of the key."),
    response_description="Committed. It will fire.",
    scope="schedule",
)
async def create(
    data: Annotated[CreateJob, Body(examples=_EXAMPLES)],
    intake: NamedDependency[Intake],
    idempotency_key: Annotated[
        str | None,
        HeaderParameter(
            name="Idempotency-Key", min_length=1, max_length=200, description="The key, if the body has none."
        ),
    ] = None,
    traceparent: Annotated[
        str | None,
        HeaderParameter(name="traceparent", description="W3C Trace Context of a one-shot; ignored if malformed."),
    ] = None,
) -> Response[Scheduled]:
    """If ``schedule`` is omitted, the execution fires now. Scheduling again with the same client and key replaces the
    waiting execution or the job, unless ``on_conflict`` says otherwise. The status is 201 if something was created.
    Otherwise it is 200, and ``outcome`` says what happened to the execution or job that already had the key."""
    if not (idempotency_key or "").isascii():  # the encoding of a header is unknown
        raise Unreadable.parameter("Idempotency-Key", "not ASCII; give the key in the body")
    parent = None if traceparent is None else traceparent_in(traceparent)
    with nullcontext(parent) if intake.span is None else intake.span(parent, data.target) as trace:
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


def order_in(data: CreateJob, idempotency_key: str | None = None, traceparent: str | None = None) -> ScheduleRequest:
    """Converts a request body to a ScheduleRequest. A job gets no trace, because its runs do not belong to the trace
    that created it. Raises the same errors as ``request_of``."""
    timing = data.schedule.given()
    given = msgspec.structs.asdict(data) | timing
    if traceparent is not None and not timing.keys() & {"cron", "every"}:
        given["options"] = {"traceparent": traceparent} | (data.options or {})
    payload = None if isinstance(data.payload, msgspec.UnsetType) else bytes(data.payload).decode()
    for name in ("target", "schedule"):
        del given[name]
    return request_of(data.target, given | {"payload": payload, "key": data.key or idempotency_key})


async def _place_job(connection: AsyncConnection[Any], order: ScheduleRequest) -> Scheduled:
    async with connection.transaction():
        placed = await calls.schedule(connection, order)
        await plan_job(connection, placed.id)
        fire_at = await next_instant(connection, await get_job(connection, placed.id))
    return Scheduled(id=placed.id, kind="job", outcome=placed.outcome, fire_at=fire_at)
