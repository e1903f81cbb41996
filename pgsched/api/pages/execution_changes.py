"""What the pages of executions do with one that waits or runs: cancel it, run it at once, edit it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec
from litestar import Request, Response
from psycopg import AsyncConnection

from pgsched.api.entity_tags import version_of_execution
from pgsched.api.pages.content import as_fields, field_of_instant, parsed, with_secrets, without_secrets
from pgsched.api.pages.filters import changed_fields, instant_in
from pgsched.api.pages.forms import sent
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import check_unchanged, does, done, shows, status_for
from pgsched.api.parameters import Actor, ExecutionId, Pooled
from pgsched.api.problems import Unreadable
from pgsched.errors import Conflict, PgschedError
from pgsched.store import verbs
from pgsched.store.lookup.rows import Execution
from pgsched.store.schedule.edits import changes_of, edit, read


@does("/executions/{execution_id:uuid}/cancel", scope="schedule")
async def cancel_execution(execution_id: ExecutionId, database: Pooled, actor: Actor) -> Response[Any]:
    changed = await database.ask(verbs.cancel, execution_id, note=None, actor=actor)
    return done(f"/executions/{execution_id}", "cancel", changed=changed)


@does("/executions/{execution_id:uuid}/run-now", scope="schedule")
async def run_execution_now(execution_id: ExecutionId, database: Pooled, actor: Actor) -> Response[Any]:
    """Moves it to this instant."""
    async with database.connection() as connection:
        now = changes_of({"fire_at": await verbs.now(connection)})
        await edit(connection, execution_id, now, actor=actor)
    return done(f"/executions/{execution_id}", "reschedule")


@shows("/executions/{execution_id:uuid}/edit", scope="schedule", form=True)
async def show_execution_edit(
    request: Request[Any, Any, Any], execution_id: ExecutionId, database: Pooled
) -> Response[Any]:
    row = await database.ask(read, execution_id)
    if not is_editable(row):
        raise Conflict(f"execution {execution_id} is a job's, or has begun: only what has not begun can be changed")
    return _edit_form(request, row, _as_fields(row), version_of_execution(row))


@does("/executions/{execution_id:uuid}/edit", scope="schedule")
async def edit_execution_by_form(
    request: Request[Any, Any, Any], execution_id: ExecutionId, database: Pooled, actor: Actor
) -> Response[Any]:
    """Changes what differs from what the form was filled with, unless somebody else has changed it since."""
    form = await sent(request)
    version = form.get("version", "")
    row = await database.ask(read, execution_id)
    try:
        changed = await database.ask(_edit, execution_id, form, version, actor)
    except PgschedError as error:
        given = {name: form.get(name, "") for name in _as_fields(row)}
        return _edit_form(request, row, given, version, fault=error)
    return done(f"/executions/{execution_id}", "edit", changed=changed)


def is_editable(row: Execution) -> bool:
    """Whether it is a one-shot that has not begun."""
    return row.status in {"scheduled", "held"} and not row.attempt and row.job_id is None


async def _edit(connection: AsyncConnection[Any], id: UUID, form: Mapping[str, str], version: str, actor: str) -> bool:
    async with connection.transaction():
        await edit(connection, id, "{}")  # which locks it
        row = await read(connection, id)
        check_unchanged(version, version_of_execution(row))
        changes = changes_of(_changes(row, form))
        return await edit(connection, id, changes, note=form.get("note", "") or None, actor=actor)


def _changes(row: Execution, form: Mapping[str, str]) -> dict[str, Any]:
    """Raises Unreadable."""
    found: dict[str, Any] = {}
    for name, text in changed_fields(form, _as_fields(row)).items():
        match name:
            case "target":
                found[name] = text
            case "fire_at":
                if not text:
                    raise Unreadable("fire_at: write the instant at which it is to fire")
                if instant_in(name, text) != instant_in(name, field_of_instant(row.scheduled_for)):
                    found[name] = instant_in(name, text)
            case "options":
                found[name] = with_secrets(text, row.options) if text else None
            case "labels":
                found[name] = parsed(name, text) if text else None
            case "payload":
                parsed(name, text or "null")
                found[name] = msgspec.Raw((text or "null").encode())
    return found


def _as_fields(row: Execution) -> dict[str, str]:
    found = {"target": row.target, "fire_at": field_of_instant(row.scheduled_for)}
    return found | as_fields(payload=row.payload, options=without_secrets(row.options), labels=row.labels)


def _edit_form(
    request: Request[Any, Any, Any],
    row: Execution,
    fields: dict[str, str],
    version: str,
    *,
    fault: PgschedError | None = None,
) -> Response[Any]:
    status = 200 if fault is None else status_for(fault)
    is_old = version != version_of_execution(row)
    detail = None if fault is None else str(fault)
    shown: dict[str, Any] = {"row": row, "fields": fields, "version": version, "fault": detail, "is_old": is_old}
    return html(request, "execution_edit.html", status=status, **shown)
