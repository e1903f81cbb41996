"""The API's answers. Jobs and executions are shown in the same words in which they are requested."""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, TypeVar
from uuid import UUID

import msgspec
from litestar.openapi.datastructures import ResponseSpec

from pgsched.api.problems import MEDIA_TYPE, Fault, Problem, Unreadable
from pgsched.domain.duration import format_duration
from pgsched.domain.schedule import Fire
from pgsched.store.ends.dead_letters import Replay
from pgsched.store.jobs.backfills import Backfill
from pgsched.store.lookup.rows import Attempt, DeadLetter, Execution, JobRow, Json
from pgsched.store.schedule.calls import Outcome

_Item = TypeVar("_Item", JobRow, Execution, Backfill, DeadLetter, Replay)


class Scheduled(msgspec.Struct, frozen=True, kw_only=True):
    """What was scheduled. ``outcome`` is created; replaced, where it took the place of what waited under the key;
    existing, where what stands under the key was left as it is; or ended, where that succeeded lately and nothing was
    scheduled. ``next_fires`` is empty for a paused job, and for what runs, waits for others or has ended."""

    id: UUID
    kind: Literal["execution", "job"]
    outcome: Outcome
    next_fires: list[datetime]


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false when it was so before."""

    id: UUID
    changed: bool


class ChangedMany(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs were changed."""

    changed: int


class Triggered(msgspec.Struct, frozen=True, kw_only=True):
    """The execution that runs the job now."""

    id: UUID
    job_id: UUID


class Rescheduled(msgspec.Struct, frozen=True, kw_only=True):
    """The execution and its new instant."""

    id: UUID
    fire_at: datetime


class Recurrence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """cron with its time zone and what happens when the clocks change, or every; with it the zone of excluded days."""

    cron: str | None = None
    timezone: str | None = None
    gap: str | None = None
    overlap: str | None = None
    every: str | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A recurring definition. ``runs`` counts those that ``max_runs`` bounds; null where it has no such rule."""

    id: UUID
    client: str
    key: str | None
    queue: str
    ordering_key: str | None
    target: str
    payload: Json
    schedule: Recurrence
    options: Json
    rules: Json
    labels: Json
    state: str
    reason: str | None
    runs: int | None
    paused_at: datetime | None
    created_at: datetime
    updated_at: datetime


class JobDetail(Job, frozen=True, kw_only=True):
    """A recurring definition and when it fires next; nothing unless it is active."""

    next_fires: list[datetime]


class Instant(msgspec.Struct, frozen=True, kw_only=True):
    """When a job fires: ``at`` in UTC, ``local`` on its own clock; ``note`` where a change of the clocks matters."""

    at: datetime
    local: str
    note: str | None


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """The next instants of a schedule."""

    next: list[Instant]


class EditPreview(msgspec.Struct, frozen=True, kw_only=True):
    """The next instants of a job as it is, and as it would be."""

    before: list[Instant]
    after: list[Instant]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionDetail(Execution):
    """An execution with its failed tries, the first one first, and those that it still waits for."""

    attempts: list[Attempt]
    waits_for: list[UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterDetail(DeadLetter):
    """A dead letter with its failed tries, the first one first."""

    attempts: list[Attempt]


class JobPage(msgspec.Struct, frozen=True, kw_only=True):
    """``next`` is the ``after`` of the next page; null on the last."""

    items: list[Job]
    next: str | None


class ExecutionPage(msgspec.Struct, frozen=True, kw_only=True):
    """``next`` is the ``after`` of the next page; null on the last."""

    items: list[Execution]
    next: str | None


class State(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the process is; ``revision`` is the schema's."""

    status: Literal["alive", "ready"]
    revision: str | None = None


def problems(*statuses: int) -> dict[int, ResponseSpec]:
    """The problem documents that a route describes: these, and those that every route may answer with."""
    return {
        status: ResponseSpec(Problem, media_type=MEDIA_TYPE, generate_examples=False, description=WHY[status])
        for status in sorted({*statuses, 400, 403, 422, 503})
    }


def dry_run_of(kind: type[msgspec.Struct]) -> dict[int, ResponseSpec]:
    """The answer to a dry run."""
    return {200: ResponseSpec(kind, generate_examples=False, description="A dry run: only counted.")}


WHY = {
    400: "The request is not what this description says.",
    403: "The API's role may not do it.",
    404: "There is no such thing.",
    409: "Its state does not allow it.",
    413: "The request is over 2 MiB.",
    415: "The body is not application/json.",
    422: "The request is invalid; detail says what to write.",
    429: "As many executions wait in the queue as may. Try again after Retry-After seconds.",
    503: "The database cannot be reached, or is not migrated. Try again.",
}


def job(row: JobRow) -> Job:
    return Job(**_of_job(row))


def job_detail(row: JobRow, next_fires: list[datetime]) -> JobDetail:
    return JobDetail(**_of_job(row), next_fires=next_fires)


def shown(fires: Iterable[Fire]) -> list[Instant]:
    return [Instant(at=fire.at, local=fire.local, note=fire.note) for fire in fires]


def execution_detail(row: Execution, attempts: list[Attempt], waits_for: list[UUID]) -> ExecutionDetail:
    found = {field.name: getattr(row, field.name) for field in fields(row)}
    return ExecutionDetail(**found, attempts=attempts, waits_for=waits_for)


def dead_letter_detail(row: DeadLetter, attempts: list[Attempt]) -> DeadLetterDetail:
    found = {field.name: getattr(row, field.name) for field in fields(row)}
    return DeadLetterDetail(**found, attempts=attempts)


def split(found: list[_Item], limit: int) -> tuple[list[_Item], str | None]:
    """A page, and the cursor of the next one, from one row more than the page has."""
    page = found[:limit]
    return page, _cursor(page[-1].id) if len(found) > limit else None


def cursor(next: UUID | None) -> str | None:
    """What a page says is next, as it is given as after."""
    return _cursor(next) if next is not None else None


def position(cursor: str | None) -> UUID | None:
    """The id that a cursor stands for. Raises Unreadable for one that did not come from a page."""
    if cursor is None:
        return None
    try:
        return UUID(bytes=base64.b64decode(cursor + "==", altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        detail = "not a cursor: copy it from next of the page before"
        raise Unreadable(f"after: {detail}", faults=[Fault(parameter="after", detail=detail)]) from None


def _cursor(id: UUID) -> str:
    return base64.urlsafe_b64encode(id.bytes).decode().rstrip("=")


def _of_job(row: JobRow) -> dict[str, Any]:
    if row.every is not None:
        zone = None if row.timezone == "UTC" else row.timezone
        schedule = Recurrence(every=format_duration(row.every), timezone=zone)
    else:
        schedule = Recurrence(cron=row.cron, timezone=row.timezone, gap=row.gap, overlap=row.overlap)
    names = (name for name in Job.__struct_fields__ if name != "schedule")
    bounded = row.rules is not None and "max_runs" in msgspec.json.decode(bytes(row.rules))
    found = {name: getattr(row, name) for name in names}
    return found | {"schedule": schedule, "runs": row.runs if bounded else None}
