"""What the pages of jobs do with one: pause, resume, run at once, cancel; edit, with a look at what that changes."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec
from litestar import Request, Response
from litestar.params import FromPath
from psycopg import AsyncConnection

from pgsched.api.entity_tags import version_of_job
from pgsched.api.pages.content import as_fields, parsed, with_secrets, without_secrets
from pgsched.api.pages.filters import changed_fields
from pgsched.api.pages.forms import sent
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import check_unchanged, does, done, shows, status_for
from pgsched.api.parameters import Actor, JobId, Pooled
from pgsched.domain.duration import format_duration
from pgsched.errors import NotFound, PgschedError
from pgsched.responses import job_of
from pgsched.store import verbs
from pgsched.store.jobs import edits
from pgsched.store.lookup import listings
from pgsched.store.lookup.rows import EditPreview, JobRow

_VERBS: dict[str, Any] = {"pause": verbs.pause, "resume": verbs.resume}
_JSON = ("payload", "options", "rules", "labels")
_SHOWN = 10
"""Instants before and after an edit."""


@does("/jobs/{job_id:uuid}/cancel", scope="schedule")
async def cancel_job_of_page(job_id: JobId, database: Pooled, actor: Actor) -> Response[Any]:
    changed = await database.ask(verbs.cancel, job_id, note=None, actor=actor)
    return done(f"/jobs/{job_id}", "cancel", changed=changed)


@does("/jobs/{job_id:uuid}/{verb:str}", scope="operate")
async def change_job(job_id: JobId, verb: FromPath[str], database: Pooled, actor: Actor) -> Response[Any]:
    """Pauses or resumes it, or runs it now."""
    if verb == "trigger":
        await database.ask(verbs.trigger, job_id, actor=actor)
        return done(f"/jobs/{job_id}", verb)
    if verb not in _VERBS:
        raise NotFound(f"a job cannot be {verb!r}")
    changed = await database.ask(_VERBS[verb], "job", str(job_id), actor=actor)
    return done(f"/jobs/{job_id}", verb, changed=changed)


@shows("/jobs/{job_id:uuid}/edit", scope="schedule", form=True)
async def show_job_edit(request: Request[Any, Any, Any], job_id: JobId, database: Pooled) -> Response[Any]:
    row = await _job(database, job_id)
    return _form(request, row, _as_fields(row), version_of_job(row.updated_at))


@does("/jobs/{job_id:uuid}/edit", scope="schedule")
async def edit_job_by_form(
    request: Request[Any, Any, Any], job_id: JobId, database: Pooled, actor: Actor
) -> Response[Any]:
    """First shows when it would fire; then saves what was looked at, unless somebody else has changed it since."""
    form = await sent(request)
    row, version = await _job(database, job_id), form.get("version", "")
    given = {name: form.get(name, "") for name in _as_fields(row) if name in form}
    try:
        check_unchanged(version, version_of_job(row.updated_at))
        changes = _changes(row, form)
        match form.get("do"):
            case "preview":
                text = edits.changes_of(changes)
                async with database.computing():
                    shown = await database.ask(edits.preview_job, job_id, text, start=None, count=_SHOWN)
                return _form(request, row, given, version, preview=shown, changed=sorted(changes))
            case "save":
                force = form.get("force") == "on"
                changed = await database.ask(_save, job_id, changes, version, actor=actor, force=force)
                return done(f"/jobs/{job_id}", "edit", changed=changed)
    except PgschedError as error:
        return _form(request, row, given, version, fault=error)
    return _form(request, row, given, version)


async def _save(
    connection: AsyncConnection[Any], job_id: UUID, changes: dict[str, Any], version: str, *, actor: str, force: bool
) -> bool:
    async with connection.transaction():
        there = await edits.locked_version(connection, job_id)
        if there is not None:
            check_unchanged(version, version_of_job(there))
        return await edits.edit_job(connection, job_id, edits.changes_of(changes), actor=actor, force=force)


async def _job(database: Pooled, job_id: UUID) -> JobRow:
    row = await database.ask(listings.get_job, job_id)
    if row is None:
        raise NotFound(f"there is no job {job_id}, or it is not of a client that you may see")
    return row


def _as_fields(row: JobRow) -> dict[str, str]:
    plain = {
        "target": row.target,
        "cron": row.cron or "",
        "every": "" if row.every is None else format_duration(row.every),
        "timezone": row.timezone,
    }
    if row.cron:
        plain |= {"gap": row.gap, "overlap": row.overlap}
    options = None if row.options is None else without_secrets(row.options)
    return plain | as_fields(payload=row.payload, options=options, rules=row.rules, labels=row.labels)


def _changes(row: JobRow, form: Mapping[str, str]) -> dict[str, Any]:
    """By the names that ``pgsched.edit`` has for them. Raises Unreadable."""
    changed = changed_fields(form, _as_fields(row))
    found: dict[str, Any] = {name: text or None for name, text in changed.items() if name not in _JSON}
    if found.get("cron") or found.get("every"):  # the one that is given takes the other's place
        found = {name: text for name, text in found.items() if text or name not in {"cron", "every"}}
    for name in _JSON:
        if name in changed:
            found[name] = _json(name, changed[name], row)
    return found


def _json(name: str, text: str, row: JobRow) -> Any:
    """Raises Unreadable."""
    if name == "payload":
        parsed(name, text or "null")
        return msgspec.Raw((text or "null").encode())
    if not text:
        return None
    return with_secrets(text, row.options) if name == "options" else parsed(name, text)


def _form(
    request: Request[Any, Any, Any],
    row: JobRow,
    fields: dict[str, str],
    version: str,
    *,
    preview: EditPreview | None = None,
    changed: list[str] | None = None,
    fault: PgschedError | None = None,
) -> Response[Any]:
    return html(
        request,
        "job_edit.html",
        status=200 if fault is None else status_for(fault),
        job=job_of(row),
        fields=fields,
        before=_as_fields(row),
        version=version,
        is_old=version != version_of_job(row.updated_at),
        preview=preview,
        changed=changed or [],
        fault=None if fault is None else str(fault),
    )
