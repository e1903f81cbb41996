"""Backfills of a job: instants that have passed are counted, run at a rate, shown and cancelled."""

from typing import Any

from litestar import Request, Response

from pgsched.api.backfills import BackfillId
from pgsched.api.pages.filters import instant_in, number_in
from pgsched.api.pages.forms import sent
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import does, done, shows, status_for
from pgsched.api.parameters import Actor, JobId, Pooled
from pgsched.api.problems import Unreadable
from pgsched.errors import NotFound, PgschedError
from pgsched.store import verbs
from pgsched.store.jobs import backfills
from pgsched.store.jobs.backfills import Backfilled, Range
from pgsched.store.lookup import listings

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
        found = await database.ask(backfills.backfill, job_id, _range(given), dry_run=not starts, actor=actor)
    except PgschedError as error:
        return await _form(request, job_id, database, given, fault=error)
    if found.id is not None:
        return done(f"/backfills/{found.id}", "start")
    return await _form(request, job_id, database, given, found=found)


@shows("/backfills/{backfill_id:uuid}", scope="read")
async def show_backfill(request: Request[Any, Any, Any], backfill_id: BackfillId, database: Pooled) -> Response[Any]:
    async with database.connection() as connection:
        row = await backfills.get_begun(connection, backfill_id)
        job = await listings.get_job(connection, row.job_id)
    return html(request, "backfill.html", row=row, job=job)


@does("/backfills/{backfill_id:uuid}/cancel", scope="operate")
async def cancel_backfill_of_page(backfill_id: BackfillId, database: Pooled, actor: Actor) -> Response[Any]:
    changed = await database.ask(verbs.cancel_backfill, backfill_id, actor=actor)
    return done(f"/backfills/{backfill_id}", "stop", changed=changed)


def _range(given: dict[str, str]) -> Range:
    """Raises Unreadable."""
    start, end = instant_in("from", given["from"]), instant_in("to", given["to"])
    if start is None or end is None:
        raise Unreadable("from which instant, and up to which? Give both")
    return Range(start=start, end=end, rate=number_in("rate", given["rate"], _RATE))


async def _form(
    request: Request[Any, Any, Any],
    job_id: JobId,
    database: Pooled,
    given: dict[str, str],
    *,
    found: Backfilled | None = None,
    fault: PgschedError | None = None,
) -> Response[Any]:
    job = await database.ask(listings.get_job, job_id)
    if job is None:
        raise NotFound(f"there is no job {job_id}, or it is not of a client that you may see")
    status = 200 if fault is None else status_for(fault)
    detail = None if fault is None else str(fault)
    shown: dict[str, Any] = {"job": job, "fields": given, "rate": given.get("rate") or _RATE, "found": found}
    return html(request, "backfill_form.html", status=status, fault=detail, **shown)
