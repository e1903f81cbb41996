"""Backfills: instants of a job that have passed are counted, and then run."""

from typing import Annotated
from uuid import UUID

import msgspec
from litestar import Response
from litestar.openapi.spec import Example
from litestar.params import Body, PathParameter
from msgspec import Meta

from pgsched.api.bodies import Instant
from pgsched.api.paging import cursor, position
from pgsched.api.parameters import Actor, After, JobId, Limit, Pooled
from pgsched.api.routing import DRY_RUN, made_at, makes, reads, removes
from pgsched.domain.schedule import instant_of
from pgsched.responses import Changed, Page, page_of
from pgsched.store import verbs
from pgsched.store.jobs import backfills
from pgsched.store.jobs.backfills import Backfill, Backfilled, Range

BackfillId = Annotated[UUID, PathParameter(description="A backfill's id.")]
_NIGHTS = {"from": "2026-02-01T00:00:00Z", "to": "2026-03-01T00:00:00Z", "rate": 5, "dry_run": True}


class StartBackfill(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}
):
    """The instants from from to before to that have not succeeded, at most rate of them a second."""

    start: Instant
    end: Instant
    rate: Annotated[float, Meta(gt=0, le=100_000, description="Executions per second.")] = 10.0
    dry_run: Annotated[bool, Meta(description="Only count.")] = False


@makes(
    "/jobs/{job_id:str}/backfill",
    "Start a backfill: run past instants of a job",
    404,
    409,
    otherwise=(Backfilled, DRY_RUN),
    response_description="Committed: it will be run.",
    scope="operate",
)
async def start_backfill(
    job_id: JobId,
    data: Annotated[StartBackfill, Body(examples=[Example(summary="What February has left out", value=_NIGHTS)])],
    database: Pooled,
    actor: Actor,
) -> Response[Backfilled]:
    """Instants that have succeeded, or whose execution waits or runs, are passed over. Works while the job is paused,
    too."""
    wanted = Range(start=instant_of(data.start, "from"), end=instant_of(data.end, "to"), rate=data.rate)
    async with database.computing():
        found = await database.ask(backfills.backfill, job_id, wanted, dry_run=data.dry_run, actor=actor)
    return made_at(f"/v1/backfills/{found.id}", found) if found.id else Response(found, status_code=200)


@reads("/jobs/{job_id:str}/backfills", "List a job's backfills", 404)
async def job_backfills(job_id: JobId, database: Pooled, limit: Limit = 50, after: After = None) -> Page[Backfill]:
    """Returns each with its progress."""
    found = await database.ask(backfills.of_job, job_id, limit=limit + 1, after=position(after))
    return page_of(found, limit, lambda row: cursor(row.id))


@reads("/backfills/{backfill_id:str}", "Get a backfill and its progress", 404)
async def get_backfill(backfill_id: BackfillId, database: Pooled) -> Backfill:
    return await database.ask(backfills.get, backfill_id)


@removes("/backfills/{backfill_id:str}", "Cancel a backfill", 404, scope="operate")
async def cancel_backfill(backfill_id: BackfillId, database: Pooled, actor: Actor) -> Changed:
    """Its waiting executions are cancelled; running ones continue."""
    return Changed(id=backfill_id, changed=await database.ask(verbs.cancel_backfill, backfill_id, actor=actor))
