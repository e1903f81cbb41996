"""*Executions*: lists executions by filters, and shows one with its timeline; cancels, edits or runs one now."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from litestar import Response
from litestar.params import QueryParameter
from psycopg import AsyncConnection

from pgsched.api.entity_tags import version_of_execution
from pgsched.api.pages.forms import OF_EXECUTIONS, Text, filled, filter_of, instant_in, place, sent, statuses_in
from pgsched.api.pages.gate_descriptions import words_of
from pgsched.api.pages.payload_display import as_fields, content, edited, field_of_instant, without_secrets
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import check_unchanged, does, done, shows
from pgsched.api.pages.timeline import timeline_of
from pgsched.api.pages.verb_forms import does_to
from pgsched.api.parameters import Actor, ExecutionId, Pooled, cursor, position
from pgsched.api.problems import Unreadable
from pgsched.api.request_reading import ApiRequest
from pgsched.domain.states import LIVE_STATUSES, STATUSES
from pgsched.domain.target import Scheme, parse_target
from pgsched.errors import Conflict, PgschedError
from pgsched.store import verbs
from pgsched.store.admin.audit import AuditFilter
from pgsched.store.ends import dependencies
from pgsched.store.lookup import audit_pages, executions_and_jobs
from pgsched.store.lookup.clauses import SortOrder
from pgsched.store.lookup.filters import ExecutionFilter
from pgsched.store.lookup.row_types import Execution
from pgsched.store.schedule.edits import changes_of, edit

_MOST_CHANGES = 50
Sorted = Annotated[str | None, QueryParameter(name="sort")]


@shows("/executions", scope="read")
async def show_executions(
    request: ApiRequest, database: Pooled, sort: Sorted = None, after: Text = None
) -> Response[Any]:
    asked, chosen = filled(request.query_params, OF_EXECUTIONS), statuses_in(request.query_params.getall("status", []))
    wanted = filter_of(ExecutionFilter, asked, statuses=chosen)
    order = SortOrder.OLDEST if sort == "oldest" else SortOrder.NEWEST
    async with database.page() as connection:
        how: Any = {"after": position(after or None), "order": order}
        found = await executions_and_jobs.list_executions(connection, wanted, limit=50, contents=False, **how)
    return html(
        request,
        "executions.html",
        rows=found.items,
        asked=asked,
        chosen=chosen,
        statuses=STATUSES,
        words_of=words_of,
        order=order,
        **place(request, after, cursor(found.next)),
    )


@shows("/executions/{execution_id:uuid}", scope="read")
async def show_execution(request: ApiRequest, execution_id: ExecutionId, database: Pooled) -> Response[Any]:
    async with database.connection() as connection:
        row = await executions_and_jobs.get_execution(connection, execution_id)
        known: dict[str, Any] = {
            "attempts": await executions_and_jobs.attempts_of(connection, row.id),
            "dependencies": await dependencies.dependencies_of(connection, row.id),
            "changes": await audit_pages.changes(connection, AuditFilter(subject=row.id), limit=_MOST_CHANGES),
        }
        progress = await executions_and_jobs.progress_of(connection, row)
        letter = await executions_and_jobs.get_dead_letter(connection, row.id) if row.status == "failed" else None
        now = await verbs.now(connection)
    return html(
        request,
        "execution.html",
        row=row,
        timeline=timeline_of(row, now, **known),
        progress=progress,
        letter=letter,
        is_live=row.status in LIVE_STATUSES,
        is_editable=is_editable(row),
        sent=_request(row),
        payload=None if row.payload is None else content(row.payload),
        options=None if row.options is None else content(without_secrets(row.options)),
        result=None if row.result is None else content(row.result),
    )


cancel_execution = does_to(verbs.cancel, "/executions/{execution_id:uuid}/cancel", "cancel", scope="schedule")


@does("/executions/{execution_id:uuid}/run-now", scope="schedule")
async def run_execution_now(execution_id: ExecutionId, database: Pooled, actor: Actor) -> Response[Any]:
    """Reschedules the execution, so that it is due now."""
    async with database.connection() as connection:
        now = changes_of({"fire_at": await verbs.now(connection)})
        await edit(connection, execution_id, now, actor=actor)
    return done(f"/executions/{execution_id}", "reschedule")


@shows("/executions/{execution_id:uuid}/edit", scope="schedule", form=True)
async def show_execution_edit(request: ApiRequest, execution_id: ExecutionId, database: Pooled) -> Response[Any]:
    row = await database.ask(executions_and_jobs.get_execution, execution_id)
    if not is_editable(row):
        raise Conflict(
            f"execution {execution_id} belongs to a job or has started: only a one-shot that has not started can be "
            "changed"
        )
    return _edit_form(request, row, _as_fields(row), version_of_execution(row))


@does("/executions/{execution_id:uuid}/edit", scope="schedule")
async def edit_execution_by_form(
    request: ApiRequest, execution_id: ExecutionId, database: Pooled, actor: Actor
) -> Response[Any]:
    """Saves the fields that the user has changed, unless the execution has changed since the form was loaded."""
    form = await sent(request)
    version = form.get("version", "")
    row = await database.ask(executions_and_jobs.get_execution, execution_id)
    try:
        changed = await database.ask(_edit, execution_id, form, version, actor)
    except PgschedError as error:
        given = {name: form.get(name, "") for name in _as_fields(row)}
        return _edit_form(request, row, given, version, error)
    return done(f"/executions/{execution_id}", "edit", changed=changed)


def is_editable(row: Execution) -> bool:
    """Whether the execution is a one-shot that has not started."""
    return row.status in {"scheduled", "held"} and not row.attempt and row.job_id is None


async def _edit(connection: AsyncConnection[Any], id: UUID, form: Mapping[str, str], version: str, actor: str) -> bool:
    async with connection.transaction():
        await edit(connection, id, "{}")  # locks the row
        row = await executions_and_jobs.get_execution(connection, id)
        check_unchanged(version, version_of_execution(row))
        changes = changes_of(_changes(row, form))
        return await edit(connection, id, changes, note=form.get("note", "") or None, actor=actor)


def _changes(row: Execution, form: Mapping[str, str]) -> dict[str, Any]:
    """Returns the changed fields. Raises Unreadable if a field is invalid."""
    found = edited(form, _as_fields(row), row.options)
    if "fire_at" in found:
        at = instant_in("fire_at", found.pop("fire_at"))
        if at is None:
            raise Unreadable("fire_at is empty: write the instant at which the execution is to fire")
        if at != instant_in("fire_at", field_of_instant(row.scheduled_for)):
            found["fire_at"] = at
    return found


def _as_fields(row: Execution) -> dict[str, str]:
    found = {"target": row.target, "fire_at": field_of_instant(row.scheduled_for)}
    return found | as_fields(payload=row.payload, options=without_secrets(row.options), labels=row.labels)


def _edit_form(
    request: ApiRequest,
    row: Execution,
    fields: dict[str, str],
    version: str,
    fault: PgschedError | None = None,
) -> Response[Any]:
    is_old = version != version_of_execution(row)
    shown: dict[str, Any] = {"row": row, "fields": fields, "version": version, "is_old": is_old}
    return html(request, "execution_edit.html", fault=fault, **shown)


def _request(row: Execution) -> str:
    """Returns the request line of HTTP attempts, or just the target if it is not HTTP."""
    if parse_target(row.target).scheme not in {Scheme.HTTP, Scheme.HTTPS}:
        return row.target
    options = without_secrets(row.options)
    method = options.get("method", "POST") if isinstance(options, dict) else "POST"
    return f"{method} {row.target}"
