"""The types of the API's responses, which the SDK returns unchanged. The SDK ignores fields that a newer API adds.

The types of rows that the API returns unchanged (executions, queues, limits, …) are in ``pgsched.store``.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar
from uuid import UUID

import msgspec

from pgsched.domain.duration import format_duration
from pgsched.domain.schedule import Fire
from pgsched.store.lookup.row_types import JobRow, Json, LastOutcome, UsualDuration
from pgsched.store.lookup.throughput import Done
from pgsched.store.schedule.calls import Outcome

_Item = TypeVar("_Item")


class Page(msgspec.Struct, Generic[_Item], frozen=True, kw_only=True):
    """One page. Pass ``next`` as ``after`` to get the next page. ``next`` is null on the last page."""

    items: list[_Item]
    next: str | None


class Scheduled(msgspec.Struct, frozen=True, kw_only=True):
    """The execution or job with the key. ``outcome`` is ``created``; ``replaced`` if it replaced a waiting one;
    ``existing`` if an earlier one was kept; or ``ended`` if nothing was scheduled because an earlier one succeeded
    recently. ``fire_at`` is null for a paused job, and for an execution that is running, waits for others or has
    ended."""

    id: UUID
    kind: Literal["execution", "job"]
    outcome: Outcome
    fire_at: datetime | None


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """Throughput from ``start`` (inclusive) to ``end`` (exclusive), grouped by time step, by queue, or by client.
    ``step`` is the length of a time step, or null if the items are grouped by queue or client."""

    start: datetime
    end: datetime
    step: str | None
    items: list[Done]


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a change. ``changed`` is false if nothing changed."""

    id: UUID
    changed: bool


class Triggered(msgspec.Struct, frozen=True, kw_only=True):
    """The execution that was created to run the job now."""

    id: UUID
    job_id: UUID


class JobSchedule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Either ``cron``, with its time zone and its policies for clock changes, or ``every``, with the time zone of the
    excluded days."""

    cron: str | None = None
    timezone: str | None = None
    gap: str | None = None
    overlap: str | None = None
    every: str | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A recurring definition. ``runs`` counts the runs that ``max_runs`` limits, or is null if the job lacks that rule.
    ``declared_by`` names the declaration in which to change the job. ``last_outcomes`` starts with the latest outcome,
    and is null if it was not requested."""

    id: UUID
    client: str
    key: str | None
    queue: str
    ordering_key: str | None
    target: str
    payload: Json
    schedule: JobSchedule
    options: Json
    rules: Json
    labels: Json
    state: str
    reason: str | None
    runs: int | None
    declared_by: str | None
    paused_at: datetime | None
    created_at: datetime
    updated_at: datetime
    last_outcomes: list[LastOutcome] | None = None


class JobDetail(Job, frozen=True, kw_only=True):
    """A recurring definition, when it fires next, and how long it usually takes. ``fire_at`` is null unless the job is
    active, and ``usual_duration`` until it has succeeded."""

    fire_at: datetime | None
    usual_duration: UsualDuration | None


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """The next instants of a schedule."""

    next: list[Fire]


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """The replay of a dead letter. ``id`` is the id of the new execution."""

    id: UUID
    dead_letter: UUID


def job_of(row: JobRow, last_outcomes: list[LastOutcome] | None = None) -> Job:
    """Converts a row to a job as the API returns it. The schedule has the same form as in a request."""
    return Job(**_of_job(row), last_outcomes=last_outcomes)


def job_detail(row: JobRow, fire_at: datetime | None, usual: UsualDuration | None) -> JobDetail:
    return JobDetail(**_of_job(row), fire_at=fire_at, usual_duration=usual)


def page_of(found: list[_Item], limit: int, after: Callable[[_Item], object]) -> Page[_Item]:
    """Returns a page of the first ``limit`` items of ``found``. One more item in ``found`` means that there is a next
    page. ``after`` returns an item's cursor."""
    return Page(items=found[:limit], next=str(after(found[limit - 1])) if len(found) > limit else None)


def _of_job(row: JobRow) -> dict[str, Any]:
    if row.every is not None:
        zone = None if row.timezone == "UTC" else row.timezone
        schedule = JobSchedule(every=format_duration(row.every), timezone=zone)
    else:
        schedule = JobSchedule(cron=row.cron, timezone=row.timezone, gap=row.gap, overlap=row.overlap)
    names = (name for name in Job.__struct_fields__ if name not in {"schedule", "last_outcomes"})
    bounded = row.rules is not None and "max_runs" in msgspec.json.decode(bytes(row.rules))
    found = {name: getattr(row, name) for name in names}
    return found | {"schedule": schedule, "runs": row.runs if bounded else None}
