"""*Jobs*: found by what they have, each with its next instants and how its last runs ended."""

from typing import Any

from litestar import Request, Response
from litestar.params import FromPath

from pgsched.answers import job_of, jobs_of
from pgsched.api.creation import next_fires
from pgsched.api.labels import labels_in
from pgsched.api.pages.forms import Text, cleared, label_lines, link_to
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import check_writable, does, done, shows
from pgsched.api.paging import cursor, position
from pgsched.api.parameters import Actor, JobId, Pooled
from pgsched.domain.states import JOB_STATES
from pgsched.errors import InvalidInput, NotFound
from pgsched.store.lookup import listings
from pgsched.store.lookup.rows import MOST_OUTCOMES, ExecutionFilter, JobFilter
from pgsched.store.schedule import calls

_VERBS = {"pause": calls.pause, "resume": calls.resume}


@shows("/jobs", scope="read")
async def show_jobs(
    request: Request[Any, Any, Any],
    database: Pooled,
    client: Text = None,
    key: Text = None,
    job_state: Text = None,
    label: Text = None,
    after: Text = None,
) -> Response[Any]:
    asked = cleared(client=client, key=key, job_state=job_state, label=label)
    chosen = asked.get("job_state")
    if chosen not in {None, *JOB_STATES}:
        raise InvalidInput(f"there is no state {chosen!r}: choose one of {', '.join(JOB_STATES)}")
    labels = labels_in(label_lines(asked.get("label")))
    wanted = JobFilter(client=asked.get("client"), state=chosen, key=asked.get("key"), labels=labels)
    async with database.page() as connection:
        found = await listings.list_jobs(connection, wanted, limit=50, after=position(after or None))
        last = await listings.last_outcomes(connection, [row.id for row in found.items], MOST_OUTCOMES)
    more = link_to(request, after=cursor(found.next)) if found.next else None
    jobs = jobs_of(found.items, last)
    return html(request, "jobs.html", jobs=jobs, more=more, asked=asked, states=JOB_STATES, begins=not after)


@shows("/jobs/{job_id:uuid}", scope="read")
async def show_job(request: Request[Any, Any, Any], job_id: JobId, database: Pooled) -> Response[Any]:
    async with database.connection() as connection:
        row = await listings.get_job(connection, job_id)
        if row is None:
            raise NotFound(f"there is no job {job_id}, or it is not of a client that you may see")
        fires = await next_fires(connection, row)
        runs = await listings.list_executions(connection, ExecutionFilter(job=job_id), limit=20, after=None)
    return html(request, "job.html", job=job_of(row), fires=fires, rows=runs.items)


@does("/jobs/{job_id:uuid}/cancel", scope="schedule")
async def cancel_job_of_page(
    request: Request[Any, Any, Any], job_id: JobId, database: Pooled, actor: Actor
) -> Response[Any]:
    check_writable(request)
    changed = await database.ask(calls.cancel, job_id, note=None, actor=actor)
    return done(f"/jobs/{job_id}", "cancel" if changed else "nothing")


@does("/jobs/{job_id:uuid}/{verb:str}", scope="operate")
async def change_job(
    request: Request[Any, Any, Any], job_id: JobId, verb: FromPath[str], database: Pooled, actor: Actor
) -> Response[Any]:
    """Pauses or resumes it, or runs it now."""
    check_writable(request)
    if verb == "trigger":
        await database.ask(calls.trigger, job_id, actor=actor)
        return done(f"/jobs/{job_id}", verb)
    if verb not in _VERBS:
        raise NotFound(f"a job cannot be {verb!r}")
    changed = await database.ask(_VERBS[verb], job_id, note=None, actor=actor)
    return done(f"/jobs/{job_id}", verb if changed else "nothing")
