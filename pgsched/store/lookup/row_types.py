"""The rows of listings, and their filters. Payloads stay the text that is stored."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

import orjson

from pgsched.domain.job_definition import Definition
from pgsched.domain.schedule import Fire

Json = Any
"""JSON as it is stored (``msgspec.Raw``), or None."""

MOST_OUTCOMES = 10
"""With each job of a listing."""


_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPage(Generic[_Row]):
    """Rows in their order; ``next`` is what the following page comes after, None where nothing follows.

    A page ends also where it has looked at as many rows as a page may: then it has fewer than were asked for, or none.
    """

    items: list[_Row]
    next: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """An execution, waiting, in hand or finished. ``fire_at`` is None while it is held; ``held_by`` is what holds it
    back, None where it is held by hand or waits for others.

    One that was skipped may stand for several ``instants`` of its job, up to ``last_scheduled_for``. ``waits`` are the
    gates that have held it: an array of ``held_by``, ``since`` and ``until``, which is missing while it is held; None
    where none has.
    """

    id: UUID
    client: str
    key: str | None
    job_id: UUID | None
    queue: str | None
    status: str
    target: str
    payload: Json
    scheduled_for: datetime | None
    fire_at: datetime | None
    attempt: int
    created_at: datetime
    finished_at: datetime | None
    status_code: int | None
    result: Json
    reason: str | None
    options: Json
    ordering_key: str | None
    lease_owner: int | None
    lease_expires_at: datetime | None
    instants: int | None
    last_scheduled_for: datetime | None
    held_by: str | None
    labels: Json
    waits: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The end of an execution, in its place among all ends: who begins after its ``cursor`` is told what came next."""

    cursor: str
    id: UUID
    client: str
    key: str | None
    job_id: UUID | None
    queue: str | None
    status: str
    target: str
    scheduled_for: datetime
    finished_at: datetime
    attempt: int
    status_code: int | None
    reason: str | None
    instants: int | None
    last_scheduled_for: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A try that failed; ``traceback`` is what was kept of where its handler did."""

    attempt: int
    finished_at: datetime
    duration: timedelta | None
    worker: int | None
    status_code: int | None
    error: str
    traceback: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an execution is, from 0 to 1, of what its handler has said; and the last ``checkpoint``."""

    fraction: float | None
    note: str | None
    reported_at: datetime
    checkpoint: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """An execution that failed for good: ``open``, ``replayed`` as another execution, or ``discarded``."""

    id: UUID
    client: str
    key: str | None
    job_id: UUID | None
    queue: str | None
    state: str
    target: str
    payload: Json
    options: Json
    ordering_key: str | None
    scheduled_for: datetime
    created_at: datetime
    finished_at: datetime
    attempt: int
    status_code: int | None
    reason: str | None
    replayed_as: UUID | None
    dealt_with_at: datetime | None
    dealt_with_by: str | None
    expires_at: datetime
    labels: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionDetail(Execution):
    """An execution with its failed tries, the first one first, those that it still waits for, and what its handler has
    said of how far it is."""

    attempts: list[Attempt]
    waits_for: list[UUID]
    progress: Progress | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterDetail(DeadLetter):
    """A dead letter with its failed tries, the first one first."""

    attempts: list[Attempt]


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterReason:
    """How many dead letters have a reason that begins so, of how many clients, and when the first and the last of them
    failed. ``client`` is the first of the clients by name."""

    reason: str
    letters: int
    clients: int
    client: str
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPreview:
    """The next instants of a job as it is, and as it would be; at its ``exceptions``, which were cancelled ahead, it
    fires neither way."""

    before: list[Fire]
    after: list[Fire]
    exceptions: list[datetime]


@dataclass(frozen=True, kw_only=True)
class JobRow(Definition):
    """A recurring definition."""

    queue: str
    ordering_key: str | None
    target: str
    payload: Json
    options: Json
    labels: Json
    state: str
    reason: str | None
    runs: int
    declared_by: str | None
    paused_at: datetime | None
    created_at: datetime
    updated_at: datetime

    def fires(self, after: datetime, count: int) -> list[Fire]:
        """The next instants for people, no more than ``max_runs`` leaves. Raises InvalidSchedule."""
        return self.recurrence().fires(after, self.runs_left(count))

    def runs_left(self, count: int) -> int:
        """``count``, or as many as ``max_runs`` leaves. Raises InvalidSchedule."""
        most = self.parsed().max_runs
        return count if most is None else max(0, min(count, most - self.runs))


@dataclass(frozen=True, slots=True, kw_only=True)
class LastOutcome:
    """How an execution of a job ended."""

    job_id: UUID
    id: UUID
    status: str
    scheduled_for: datetime
    finished_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """``host`` is the host of the target in any case; jobs with ``labels`` have all of them."""

    client: str | None = None
    state: str | None = None
    key: str | None = None
    host: str | None = None
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFilter:
    """Of ``statuses`` any, each named once, and all of the ``labels``. ``host`` is the host of the target in any case;
    ``start`` and ``end`` bound scheduled_for: from start on, before end."""

    client: str | None = None
    statuses: tuple[str, ...] = ()
    queue: str | None = None
    host: str | None = None
    key: str | None = None
    job: UUID | None = None
    start: datetime | None = None
    end: datetime | None = None
    labels: Mapping[str, str] | None = None

    def as_json(self) -> str:
        """What ``pgsched.bulk`` reads."""
        return filter_json(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events are wanted: those that have all that is named; of ``statuses`` any."""

    client: str | None = None
    queue: str | None = None
    statuses: tuple[str, ...] = ()
    key: str | None = None
    job: UUID | None = None

    def takes(self, event: Event) -> bool:
        return (
            self.client in (None, event.client)
            and self.queue in (None, event.queue)
            and (not self.statuses or event.status in self.statuses)
            and self.key in (None, event.key)
            and self.job in (None, event.job_id)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterFilter:
    """``target`` is how the target begins, ``reason`` a part of the reason in any case; ``start`` and ``end`` bound
    finished_at: from start on, before end. They have all of the ``labels``.
    """

    client: str | None = None
    target: str | None = None
    host: str | None = None
    job: UUID | None = None
    key: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    reason: str | None = None
    status_code: int | None = None
    labels: Mapping[str, str] | None = None

    def as_json(self) -> str:
        """What ``pgsched.bulk`` reads."""
        return filter_json(asdict(self))


def filter_json(given: Mapping[str, Any]) -> str:
    """A filter as ``pgsched.bulk`` reads it; what is None is left out."""
    renamed = {"start": "from", "end": "to", "statuses": "status"}
    named = {renamed.get(name, name): value for name, value in given.items() if value not in (None, ())}
    return orjson.dumps(named).decode()
