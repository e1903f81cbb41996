"""*Executions*: found by what they have, and each as the course that it took."""

from typing import Annotated, Any

from litestar import Request, Response
from litestar.params import QueryParameter

from pgsched.api.executions import Statuses, bound
from pgsched.api.labels import labels_in
from pgsched.api.pages.course import course_of
from pgsched.api.pages.forms import Text, cleared, id_in, label_lines, link_to
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import check_writable, does, done, shows
from pgsched.api.paging import cursor, position
from pgsched.api.parameters import Actor, ExecutionId, Pooled
from pgsched.domain.states import STATUSES, each_once
from pgsched.errors import NotFound
from pgsched.store.ends import dead_letters, dependencies
from pgsched.store.ends.dead_letters import Changes
from pgsched.store.lookup import listings
from pgsched.store.lookup.rows import ExecutionFilter
from pgsched.store.schedule import calls


@shows("/executions", scope="read")
async def show_executions(
    request: Request[Any, Any, Any],
    database: Pooled,
    status: Statuses = None,
    client: Text = None,
    queue: Text = None,
    host: Text = None,
    key: Text = None,
    job: Text = None,
    label: Text = None,
    start: Annotated[str | None, QueryParameter(name="from")] = None,
    end: Annotated[str | None, QueryParameter(name="to")] = None,
    after: Text = None,
) -> Response[Any]:
    asked = cleared(client=client, queue=queue, host=host, key=key, job=job, label=label, **{"from": start, "to": end})
    wanted = ExecutionFilter(
        statuses=each_once(status or ()),
        client=asked.get("client"),
        queue=asked.get("queue"),
        host=asked.get("host"),
        key=asked.get("key"),
        job=id_in("job", asked.get("job")),
        start=bound("from", asked.get("from")),
        end=bound("to", asked.get("to")),
        labels=labels_in(label_lines(asked.get("label"))),
    )
    async with database.page() as connection:
        found = await listings.list_executions(connection, wanted, limit=50, after=position(after or None))
    more = link_to(request, after=cursor(found.next)) if found.next else None
    return html(
        request,
        "executions.html",
        rows=found.items,
        more=more,
        asked=asked,
        chosen=status or [],
        statuses=STATUSES,
        begins=not after,
    )


@shows("/executions/{execution_id:uuid}", scope="read")
async def show_execution(request: Request[Any, Any, Any], execution_id: ExecutionId, database: Pooled) -> Response[Any]:
    async with database.connection() as connection:
        row = await listings.get_execution(connection, execution_id)
        if row is None:
            raise NotFound(f"there is no execution {execution_id}, or it is not of a client that you may see")
        attempts = await listings.attempts_of(connection, row.id)
        waits_for = await dependencies.waits_for(connection, row.id)
        progress = await listings.progress_of(connection, row.id)
        letter = await listings.get_dead_letter(connection, row.id) if row.status == "failed" else None
    return html(
        request,
        "execution.html",
        row=row,
        course=course_of(row, attempts, waits_for),
        progress=progress,
        letter=letter,
    )


@does("/executions/{execution_id:uuid}/cancel", scope="schedule")
async def cancel_execution(
    request: Request[Any, Any, Any], execution_id: ExecutionId, database: Pooled, actor: Actor
) -> Response[Any]:
    check_writable(request)
    changed = await database.ask(calls.cancel, execution_id, note=None, actor=actor)
    return done(f"/executions/{execution_id}", "cancel" if changed else "nothing")


@does("/executions/{execution_id:uuid}/replay", scope="operate")
async def replay_execution(
    request: Request[Any, Any, Any], execution_id: ExecutionId, database: Pooled, actor: Actor
) -> Response[Any]:
    check_writable(request)
    new = await database.ask(dead_letters.replay, execution_id, Changes(), note=None, actor=actor)
    return done(f"/executions/{new}", "replay")


@does("/executions/{execution_id:uuid}/discard", scope="operate")
async def discard_execution(
    request: Request[Any, Any, Any], execution_id: ExecutionId, database: Pooled, actor: Actor
) -> Response[Any]:
    check_writable(request)
    changed = await database.ask(dead_letters.discard, execution_id, note=None, actor=actor)
    return done(f"/executions/{execution_id}", "discard" if changed else "nothing")
