"""The rows of listings. Payloads remain JSON text as stored."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

from pgsched.domain.job_definition import Definition
from pgsched.domain.schedule import Fire

Json = Any
"""JSON as stored (``msgspec.Raw``), or None."""

MOST_OUTCOMES = 10
"""Maximum number of outcomes shown with each job of a listing."""
USUALLY = 100
"""How many of a job's last runs tell how long it usually takes."""


_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPage(Generic[_Row]):
    """Rows in order; ``next`` is the id after which the next page begins, or None at the end.

    Only a limited number of rows is examined for a page, so the page may have fewer rows than requested, or none.
    """

    items: list[_Row]
    next: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """An execution: waiting, running or finished. While the execution is held, ``fire_at`` is None, and ``held_by``
    names the gate that holds it. ``held_by`` is None if the execution is held by hand or waits for other executions.

    ``worker`` is the number of the worker that runs the execution or made its last attempt. ``began_at`` and
    ``duration`` are the times of that attempt, once the execution has ended.

    A skipped execution may represent several instants of its job: ``instants`` is their number, and
    ``last_scheduled_for`` is the last of them. ``waits`` lists the gates that have held the execution, each as an
    object with ``held_by``, ``since`` and, once the execution has passed, ``until``. If no gate has held the execution,
    ``waits`` is None.
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
    worker: int | None
    began_at: datetime | None
    duration: timedelta | None
    lease_expires_at: datetime | None
    instants: int | None
    last_scheduled_for: datetime | None
    held_by: str | None
    labels: Json
    waits: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The end of an execution. All ends have a single order; reading from ``cursor`` returns those after this event."""

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
    """A failed attempt; ``traceback`` is the stored part of its handler's traceback."""

    attempt: int
    finished_at: datetime
    duration: timedelta | None
    worker: int | None
    status_code: int | None
    error: str
    traceback: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress that an execution's handler has reported, from 0 to 1, and the last ``checkpoint``."""

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
    """An execution with its failed attempts, the executions that it still waits for, and its reported progress."""

    attempts: list[Attempt]
    waits_for: list[UUID]
    progress: Progress | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterDetail(DeadLetter):
    """A dead letter with its failed attempts in order."""

    attempts: list[Attempt]


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterReason:
    """The dead letters whose reasons begin with the same text: how many there are, how many clients they belong to, and
    when the first and the last of them failed. ``client`` is the first client by name.
    """

    reason: str
    letters: int
    clients: int
    client: str
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPreview:
    """The next instants of a job before and after an edit. ``exceptions`` are instants that were cancelled in advance,
    at which the job does not fire in either case.
    """

    before: list[Fire]
    after: list[Fire]
    exceptions: list[datetime]


@dataclass(frozen=True, kw_only=True)
class JobRow(Definition):
    """A recurring job."""

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
        """Returns the next instants in a readable form, no more than ``max_runs`` allows. Raises InvalidSchedule."""
        return self.recurrence().fires(after, self.runs_left(count))

    def runs_left(self, count: int) -> int:
        """Returns ``count``, or the number of runs left by ``max_runs`` if that is less. Raises InvalidSchedule."""
        most = self.parsed().max_runs
        return count if most is None else max(0, min(count, most - self.runs))


@dataclass(frozen=True, slots=True, kw_only=True)
class LastOutcome:
    """How an execution of a job ended. ``began_at`` and ``duration`` are the times of its last attempt."""

    job_id: UUID
    id: UUID
    status: str
    scheduled_for: datetime
    finished_at: datetime
    began_at: datetime | None
    duration: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualDuration:
    """How long the latest successful runs of a job took: half of them at most ``p50``, and 95% of them at most ``p95``.
    ``runs`` is how many there were.
    """

    p50: timedelta
    p95: timedelta
    runs: int
