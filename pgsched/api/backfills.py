"""Backfills: instants of a job that have passed are counted, and then run."""

from typing import Annotated
from uuid import UUID

import msgspec
from litestar import Response, delete, get, post
from litestar.openapi.spec import Example
from litestar.params import Body, PathParameter
from msgspec import Meta

from pgsched.api.answers import Changed, dry_run_of, position, problems, split
from pgsched.api.database import Pooled
from pgsched.api.jobs import After, JobId, Limit, actor
from pgsched.api.requests import ApiRequest, Instant
from pgsched.domain.schedule import instant_of
from pgsched.store.jobs import backfills
from pgsched.store.jobs.backfills import Backfill, Range

BackfillId = Annotated[UUID, PathParameter(description="A backfill's id.")]
_NIGHTS = {"from": "2026-02-01T00:00:00Z", "to": "2026-03-01T00:00:00Z", "rate": 5, "dry_run": True}


class StartBackfill(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}
):
    """The instants from from to before to that have not succeeded, at most rate of them a second."""

    start: Instant
    end: Instant
    rate: Annotated[float, Meta(gt=0, le=100_000, description="Rows a second.")] = 10.0
    dry_run: Annotated[bool, Meta(description="Only count.")] = False


class Backfilled(msgspec.Struct, frozen=True, kw_only=True):
    """What the range has. ``id`` is null after a dry run; ``run_already`` is what history knows to have succeeded."""

    id: UUID | None
    job_id: UUID
    instants: int
    run_already: int
    to_run: int


class BackfillPage(msgspec.Struct, frozen=True, kw_only=True):
    """``next`` is the ``after`` of the next page; null on the last."""

    items: list[Backfill]
    next: str | None


@post(
    "/jobs/{job_id:str}/backfill",
    summary="Run instants of a job that have passed",
    responses=problems(400, 404, 409, 413, 415, 422) | dry_run_of(Backfilled),
    response_description="Committed: it will be run.",
)
async def start_backfill(
    request: ApiRequest,
    job_id: JobId,
    data: Annotated[StartBackfill, Body(examples=[Example(summary="What February has left out", value=_NIGHTS)])],
    database: Pooled,
) -> Response[Backfilled]:
    """Those that have succeeded, or have a row that waits or runs, are passed over. Also while the job is paused."""
    wanted = Range(start=instant_of(data.start, "from"), end=instant_of(data.end, "to"), rate=data.rate)
    async with database.connection() as connection:
        extent = await backfills.measure(connection, job_id, wanted)
        id = None
        if not data.dry_run:
            by = actor(request)
            id = await backfills.start(connection, job_id, wanted, instants=extent.instants, actor=by)
    counted = {"instants": extent.instants, "run_already": extent.run_already, "to_run": extent.to_run}
    answer = Backfilled(id=id, job_id=job_id, **counted)
    if id is None:
        return Response(answer, status_code=200)
    return Response(answer, headers={"Location": f"/v1/backfills/{id}"})


@get("/jobs/{job_id:str}/backfills", summary="The backfills of a job, the newest first", responses=problems(400, 404))
async def job_backfills(job_id: JobId, database: Pooled, limit: Limit = 50, after: After = None) -> BackfillPage:
    """Each with how far it is."""
    async with database.connection() as connection:
        found = await backfills.of_job(connection, job_id, limit=limit + 1, after=position(after))
    page, following = split(found, limit)
    return BackfillPage(items=page, next=following)


@get("/backfills/{backfill_id:str}", summary="One backfill and how far it is", responses=problems(400, 404))
async def get_backfill(backfill_id: BackfillId, database: Pooled) -> Backfill:
    async with database.connection() as connection:
        return await backfills.get(connection, backfill_id)


@delete("/backfills/{backfill_id:str}", status_code=200, summary="Cancel a backfill", responses=problems(400, 404))
async def cancel_backfill(request: ApiRequest, backfill_id: BackfillId, database: Pooled) -> Changed:
    """What it planned and still waits is cancelled; what runs goes on."""
    async with database.connection() as connection:
        changed = await backfills.cancel(connection, backfill_id, actor=actor(request))
    return Changed(id=backfill_id, changed=changed)
