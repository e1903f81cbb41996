"""Edits jobs: builds the parameters of ``pgsched.edit``, and plans the job after an edit."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from psycopg import AsyncConnection

from pgsched.domain.duration import check_duration, format_duration, parse_duration
from pgsched.domain.recurrence_rules import parse_rules
from pgsched.domain.schedule import Fire
from pgsched.errors import InvalidSchedule, NotFound
from pgsched.store import verbs
from pgsched.store.core.query import value
from pgsched.store.core.text import check_text
from pgsched.store.jobs.unplanned_jobs import plan_job
from pgsched.store.lookup.executions_and_jobs import get_edited_job, get_job, no_job
from pgsched.store.lookup.row_types import EditPreview, JobRow
from pgsched.store.schedule import calls


def changes_of(given: Mapping[str, Any]) -> str:
    """Returns the changes as JSON text for ``pgsched.edit``. ``every`` may be a timedelta; ``msgspec.Raw`` is passed
    unchanged.

    Raises InvalidInput for text that PostgreSQL cannot store, and InvalidSchedule for invalid durations and rules.
    ``pgsched.edit`` checks whether the fields fit the job.
    """
    found = dict(given)
    for name, text in found.items():
        if isinstance(text, str):
            check_text(name, text)
    if found.get("cron") is not None and found.get("every") is not None:
        raise InvalidSchedule('"cron" and "every" cannot be combined: give one of them; it replaces the other')
    if (every := found.get("every")) is not None:
        found["every"] = format_duration(parse_duration(every) if isinstance(every, str) else check_duration(every))
    if isinstance(rules := found.get("rules"), Mapping):
        parse_rules(rules)
    return msgspec.json.encode(found).decode()


async def edit_job(
    connection: AsyncConnection[Any], job_id: UUID, changes: str, *, actor: str | None, force: bool = False
) -> bool:
    """Edits a job and plans it, in one transaction. Returns False if nothing changed. Raises InvalidSchedule, and
    Conflict for a declared job unless forced.

    If the session may not plan, a worker plans the job right after the commit.
    """
    async with connection.transaction():
        if not await calls.is_job(connection, job_id):
            raise NotFound(no_job(job_id))
        changed = await verbs.edit(connection, job_id, changes, actor=actor, force=force)
        if not changed:
            return False
        await asyncio.to_thread((await get_job(connection, job_id)).recurrence)
        if await calls.may_plan(connection):
            await plan_job(connection, job_id)
    return True


async def locked_version(connection: AsyncConnection[Any], job_id: UUID) -> datetime | None:
    """Locks a job until the transaction ends. Returns when it was last changed, or None if it does not exist."""
    found: datetime | None = await value(connection, "jobs/locked_version", id=job_id)
    return found


async def preview_job(
    connection: AsyncConnection[Any], job_id: UUID, changes: str, *, start: datetime | None, count: int
) -> EditPreview:
    """Previews how an edit would change when a job fires, beginning at ``start`` or, if it is None, now. Writes
    nothing. A paused job is shown as if it were active. Raises NotFound, Conflict for a cancelled job, and
    InvalidSchedule.
    """
    before = await get_job(connection, job_id)
    after = await get_edited_job(connection, job_id, changes)
    moment = start or await verbs.now(connection)
    unchanged = await asyncio.to_thread(_as_it_is, before, moment, count)
    return EditPreview(
        before=unchanged,
        after=await asyncio.to_thread(after.fires, moment, count),
        exceptions=[at for at in before.exceptions or () if at > moment],
    )


def _as_it_is(row: JobRow, after: datetime, count: int) -> list[Fire]:
    try:
        return row.fires(after, count)
    except InvalidSchedule:  # fixing this may be the point of the edit
        return []
