"""Brings the jobs in the database in line with a declaration, and previews the changes.

Each declared job records the name of its declaration, and a declaration changes or cancels only its own jobs. If any
other job has one of the declaration's keys, the declaration is refused, unless the caller asks to take that job over.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec
from psycopg import AsyncConnection

from pgsched.domain.declared_job import DeclaredJob
from pgsched.domain.preview import preview
from pgsched.domain.schedule import Fire
from pgsched.domain.start_jitter import identity_of
from pgsched.errors import Conflict
from pgsched.store import verbs
from pgsched.store.core.query import rows
from pgsched.store.core.text import encode
from pgsched.store.jobs.edits import changes_of, edit_job, preview_job
from pgsched.store.lookup.executions_and_jobs import get_edited_job, get_job
from pgsched.store.schedule import calls
from pgsched.store.schedule.schedule_parameters import request_of

_SHOWN = 3
_COMPARED = (
    *("target", "payload", "options", "rules", "labels", "queue", "ordering_key"),
    *("cron", "every", "timezone", "gap", "overlap"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingJob:
    """An existing job, and the declaration that owns it."""

    id: UUID
    client: str
    key: str | None
    declared_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change to one job. ``fields`` names the fields that differ; ``before`` and ``after`` are the job's next
    instants. A job that is no longer declared, but kept, is ``left``.
    """

    what: Literal["added", "changed", "removed", "left", "unchanged"]
    client: str
    key: str | None
    id: UUID | None = None
    fields: Sequence[str] = ()
    before: Sequence[Fire] = ()
    after: Sequence[Fire] = ()
    declared: DeclaredJob | None = field(default=None, repr=False)


async def compare(
    connection: AsyncConnection[Any], name: str, jobs: Sequence[DeclaredJob], *, prune: bool, force: bool
) -> list[Change]:
    """Returns what applying these jobs under this name would change, ordered by client and key. Writes nothing.

    Raises Conflict if one of the keys belongs to a job that was not declared under this name. With ``force``, such a
    job is taken over.
    """
    named = {"clients": [job.client for job in jobs], "keys": [job.key for job in jobs]}
    standing = await rows(connection, StandingJob, "jobs/jobs_declared", declared_by=name, **named)
    there = {(one.client, one.key): one for one in standing}
    found = [await _change(connection, name, job, there.pop((job.client, job.key), None), force=force) for job in jobs]
    for one in there.values():
        fires = await preview_job(connection, one.id, "{}", start=None, count=_SHOWN)
        what: Literal["removed", "left"] = "removed" if prune else "left"
        found.append(Change(what=what, client=one.client, key=one.key, id=one.id, before=fires.before))
    return sorted(found, key=lambda change: (change.client, change.key or ""))


async def apply(
    connection: AsyncConnection[Any], name: str, changes: Sequence[Change], *, actor: str | None, undo: bool = False
) -> None:
    """Applies what ``compare`` found, in one transaction. With ``undo``, rolls the transaction back, which only checks
    that the database accepts the changes. Raises the same errors as scheduling and editing.
    """
    async with connection.transaction(force_rollback=undo):
        for change in changes:
            id = change.id
            if change.what == "added" and change.declared is not None:
                order = request_of(change.declared.target, _order_given(change.declared) | {"on_conflict": "reject"})
                id = (await calls.schedule(connection, order)).id
            elif change.what == "changed" and change.declared is not None:
                await edit_job(connection, _known(id), _changes(change.declared), actor=actor, force=True)
            elif change.what == "removed":
                note = f"no longer declared by {name}"
                await verbs.cancel(connection, _known(id), note=note, actor=actor)
            if change.declared is not None:
                await verbs.edit(connection, _known(id), changes_of({"declared_by": name}), actor=actor)


async def _change(
    connection: AsyncConnection[Any], name: str, job: DeclaredJob, there: StandingJob | None, *, force: bool
) -> Change:
    if there is None:
        fires = await asyncio.to_thread(_fires, job, await verbs.now(connection))
        return Change(what="added", client=job.client, key=job.key, after=fires, declared=job)
    if there.declared_by != name and not force:
        by = f"declared by {there.declared_by!r}" if there.declared_by else "scheduled, not declared"
        raise Conflict(
            f"job {job.key!r} of client {job.client!r} is {by}: use another key, or force the "
            "declaration to take it over"
        )
    changes = _changes(job)
    before = await get_job(connection, there.id)
    after = await get_edited_job(connection, there.id, changes)
    fields = [one for one in _COMPARED if getattr(before, one) != getattr(after, one)]
    if there.declared_by != name:
        fields.append("declared_by")
    if not fields:
        return Change(what="unchanged", client=job.client, key=job.key, id=there.id, declared=job)
    shown = await preview_job(connection, there.id, changes, start=None, count=_SHOWN)
    return Change(
        what="changed",
        client=job.client,
        key=job.key,
        id=there.id,
        fields=fields,
        before=shown.before,
        after=shown.after,
        declared=job,
    )


def _known(id: UUID | None) -> UUID:
    assert id is not None
    return id


def _changes(job: DeclaredJob) -> str:
    """Returns all parameters of a job in the form of ``pgsched.edit``. Parameters that are not declared are reset."""
    given = job.given()
    del given["client"], given["key"]
    del given["every" if job.every is None else "cron"]
    payload = None if job.payload is None else msgspec.Raw(encode(job.payload, "payload"))
    return changes_of(given | {"payload": payload})


def _order_given(job: DeclaredJob) -> dict[str, Any]:
    given = job.given()
    del given["target"]
    payload = None if job.payload is None else encode(job.payload, "payload").decode()
    return given | {"payload": payload}


def _fires(job: DeclaredJob, now: datetime) -> list[Fire]:
    parts: dict[str, Any] = {name: getattr(job, name) for name in ("cron", "every", "timezone", "gap", "overlap")}
    return preview(after=now, count=_SHOWN, identity=identity_of(job.client, job.key, None), rules=job.rules, **parts)
