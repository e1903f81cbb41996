"""The form of a backfill of a job: instants that have passed are counted, and then run."""

from typing import Any
from uuid import UUID

from litestar import Request, Response

from pgsched.api.pages.filters import instant_in, number_in
from pgsched.api.pages.forms import sent
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import does, done, shows, status_for
from pgsched.api.parameters import Actor, JobId, Pooled
from pgsched.api.problems import Unreadable
from pgsched.errors import NotFound, PgschedError
from pgsched.store.bulk import operations
from pgsched.store.bulk.values import BulkAsked
from pgsched.store.lookup import listings
from pgsched.store.lookup.rows import filter_json

_RATE = 10


@shows("/jobs/{job_id:uuid}/backfill", scope="operate", form=True)
async def show_backfill_form(request: Request[Any, Any, Any], job_id: JobId, database: Pooled) -> Response[Any]:
    return await _form(request, job_id, database, {})


@does("/jobs/{job_id:uuid}/backfill", scope="operate")
async def backfill_by_form(
    request: Request[Any, Any, Any], job_id: JobId, database: Pooled, actor: Actor
) -> Response[Any]:
    """Counts first, and starts what was counted."""
    form = await sent(request)
    given = {name: form.get(name, "") for name in ("from", "to", "rate")}
    starts = form.get("do") == "start"
    try:
        how: Any = {"rate": number_in("rate", given["rate"], _RATE), "dry_run": not starts, "actor": actor}
        found = await database.ask(operations.ask, "backfill", _filter(job_id, given), **how)
    except PgschedError as error:
        return await _form(request, job_id, database, given, fault=error)
    if found.id is not None:
        return done(f"/bulk/{found.id}", "start")
    return await _form(request, job_id, database, given, found=found)


def _filter(job_id: UUID, given: dict[str, str]) -> str:
    """Raises Unreadable."""
    start, end = instant_in("from", given["from"]), instant_in("to", given["to"])
    if start is None or end is None:
        raise Unreadable("from which instant, and up to which? Give both")
    return filter_json({"job": job_id, "start": start, "end": end})


async def _form(
    request: Request[Any, Any, Any],
    job_id: JobId,
    database: Pooled,
    given: dict[str, str],
    *,
    found: BulkAsked | None = None,
    fault: PgschedError | None = None,
) -> Response[Any]:
    job = await database.ask(listings.get_job, job_id)
    if job is None:
        raise NotFound(f"there is no job {job_id}, or it is not of a client that you may see")
    status = 200 if fault is None else status_for(fault)
    detail = None if fault is None else str(fault)
    shown: dict[str, Any] = {"job": job, "fields": given, "rate": given.get("rate") or _RATE, "found": found}
    return html(request, "backfill_form.html", status=status, fault=detail, **shown)
