"""*Executions*: found by what they have, and each with its timeline."""

from typing import Annotated, Any

from litestar import Request, Response
from litestar.params import QueryParameter

from pgsched.api.pages.content import content, without_secrets
from pgsched.api.pages.execution_changes import is_editable
from pgsched.api.pages.filters import OF_EXECUTIONS, execution_filter, filled, statuses_in
from pgsched.api.pages.forms import Text, link_to
from pgsched.api.pages.gate_words import words_of
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import shows
from pgsched.api.pages.timeline import Records, timeline_of
from pgsched.api.parameters import ExecutionId, Pooled, cursor, position
from pgsched.domain.states import LIVE_STATUSES, STATUSES
from pgsched.domain.target import Scheme, parse_target
from pgsched.errors import NotFound
from pgsched.store import verbs
from pgsched.store.admin import audit
from pgsched.store.admin.audit import AuditFilter
from pgsched.store.ends import dependencies
from pgsched.store.lookup import listings
from pgsched.store.lookup.clauses import SortOrder
from pgsched.store.lookup.rows import Execution

_MOST_CHANGES = 50
Sorted = Annotated[str | None, QueryParameter(name="sort")]


@shows("/executions", scope="read")
async def show_executions(
    request: Request[Any, Any, Any], database: Pooled, sort: Sorted = None, after: Text = None
) -> Response[Any]:
    asked, chosen = filled(request.query_params, OF_EXECUTIONS), statuses_in(request.query_params.getall("status", []))
    wanted = execution_filter(asked, chosen)
    order = SortOrder.OLDEST if sort == "oldest" else SortOrder.NEWEST
    async with database.page() as connection:
        how: Any = {"after": position(after or None), "order": order}
        found = await listings.list_executions(connection, wanted, limit=50, contents=False, **how)
    return html(
        request,
        "executions.html",
        rows=found.items,
        more=link_to(request, after=cursor(found.next)) if found.next else None,
        asked=asked,
        chosen=chosen,
        statuses=STATUSES,
        words_of=words_of,
        order=order,
        begins=not after,
    )


@shows("/executions/{execution_id:uuid}", scope="read")
async def show_execution(request: Request[Any, Any, Any], execution_id: ExecutionId, database: Pooled) -> Response[Any]:
    async with database.connection() as connection:
        row = await listings.get_execution(connection, execution_id)
        if row is None:
            raise NotFound(f"there is no execution {execution_id}, or it is not of a client that you may see")
        known = Records(
            attempts=await listings.attempts_of(connection, row.id),
            dependencies=await dependencies.dependencies_of(connection, row.id),
            changes=await audit.changes(connection, AuditFilter(subject=row.id), limit=_MOST_CHANGES),
        )
        progress = await listings.progress_of(connection, row)
        letter = await listings.get_dead_letter(connection, row.id) if row.status == "failed" else None
        now = await verbs.now(connection)
    return html(
        request,
        "execution.html",
        row=row,
        timeline=timeline_of(row, known, now),
        progress=progress,
        letter=letter,
        is_live=row.status in LIVE_STATUSES,
        is_editable=is_editable(row),
        sent=_request(row),
        payload=None if row.payload is None else content(row.payload),
        options=None if row.options is None else content(without_secrets(row.options)),
        result=None if row.result is None else content(row.result),
    )


def _request(row: Execution) -> str:
    """The first line of what each attempt sends."""
    if parse_target(row.target).scheme not in {Scheme.HTTP, Scheme.HTTPS}:
        return row.target
    options = without_secrets(row.options)
    method = options.get("method", "POST") if isinstance(options, dict) else "POST"
    return f"{method} {row.target}"
