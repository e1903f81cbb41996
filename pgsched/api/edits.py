"""Changing a job, and seeing beforehand when it would fire."""

import asyncio
from datetime import datetime
from typing import Annotated

from litestar import Response
from litestar.openapi.spec import Example
from litestar.params import Body, JSONBody

from pgsched.api.bodies import EditJob, PreviewEdit, PreviewSpec
from pgsched.api.creation import next_instant
from pgsched.api.jobs import found_job
from pgsched.api.parameters import Actor, Forced, JobId, Pooled
from pgsched.api.routing import acts, sets
from pgsched.api.versions import IfMatch, check_version, tagged, version_of_job
from pgsched.domain.preview import preview
from pgsched.domain.schedule import instant_of
from pgsched.domain.spread import identity_of
from pgsched.responses import JobDetail, Preview, job_detail
from pgsched.store import verbs
from pgsched.store.jobs import edits
from pgsched.store.lookup.rows import EditPreview

_LATER = Example(
    summary="An hour later, and not on holidays",
    value={"schedule": {"cron": "30 3 * * *"}, "rules": {"exclude": ["2026-12-25"]}},
)


@sets("/jobs/{job_id:str}", "Change a job", 404, 409, 412, scope="schedule")
async def edit_job(
    job_id: JobId,
    data: Annotated[EditJob, Body(examples=[_LATER])],
    database: Pooled,
    actor: Actor,
    force: Forced = False,
    if_match: IfMatch = None,
) -> Response[JobDetail]:
    """Its waiting execution changes at once; one that a worker has claimed runs unchanged. A paused job stays paused. A
    job declared by an application or a file is refused without force, because the next apply reverts the change. With
    If-Match, it is changed only if nobody has changed it since it was read."""
    changes = edits.changes_of(data.changes())
    async with database.connection() as connection, connection.transaction():
        version = await edits.locked_version(connection, job_id)
        if version is not None:
            check_version(if_match, version_of_job(version))
        await edits.edit_job(connection, job_id, changes, actor=actor, force=force)
        row = await found_job(connection, job_id)
        return tagged(job_detail(row, await next_instant(connection, row)), version_of_job(row.updated_at))


@acts("/jobs/{job_id:str}/preview", "Preview an edit of a job", 404, 409, scope="read")
async def preview_edit(job_id: JobId, data: JSONBody[PreviewEdit], database: Pooled) -> EditPreview:
    """Takes the same body as PATCH and writes nothing. A paused job is shown as if it were not paused."""
    changes = edits.changes_of(data.changes())
    start = _start(data.start)
    async with database.computing():
        return await database.ask(edits.preview_job, job_id, changes, start=start, count=data.count)


@acts("/preview", "Preview a schedule", scope="read")
async def preview_spec(data: JSONBody[PreviewSpec], database: Pooled) -> Preview:
    """For a schedule that is not a job yet. Nothing is written."""
    start = _start(data.start)
    if start is None:
        start = await database.ask(verbs.now)
    asked = data.schedule
    async with database.computing():
        fires = await asyncio.to_thread(
            preview,
            after=start,
            count=data.count,
            fire_at=asked.fire_at,
            cron=asked.cron,
            every=asked.every,
            timezone=asked.timezone,
            gap=asked.gap,
            overlap=asked.overlap,
            identity=None if data.key is None else identity_of(data.client or "default", data.key, None),
            rules=data.rules,
        )
    return Preview(next=fires)


def _start(given: str | None) -> datetime | None:
    return None if given is None else instant_of(given, "from")
