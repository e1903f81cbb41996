"""The API's answers as Python values. Fields that a newer API adds are ignored."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """What was scheduled: ``kind`` is ``execution`` or ``job``; ``outcome`` is ``created``, ``replaced``, ``existing``
    (what stands under the key was left as it is) or ``ended`` (it succeeded lately, and nothing was scheduled)."""

    id: UUID
    kind: str
    outcome: str
    next_fires: tuple[datetime, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """``cron`` with its zone and what happens when the clocks change, or ``every`` in ISO 8601.

    Beside ``every``, ``timezone`` is that of the days excluded.
    """

    cron: str | None = None
    timezone: str | None = None
    gap: str | None = None
    overlap: str | None = None
    every: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A recurring definition. ``next_fires`` is None in listings, which do not compute it."""

    id: UUID
    client: str
    key: str | None
    queue: str
    ordering_key: str | None
    target: str
    payload: Any
    schedule: Recurrence
    options: dict[str, Any] | None
    rules: dict[str, Any] | None
    labels: dict[str, str] | None
    state: str
    reason: str | None
    runs: int | None
    paused_at: datetime | None
    created_at: datetime
    updated_at: datetime
    next_fires: tuple[datetime, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A try that failed. ``duration`` is ISO 8601."""

    attempt: int
    finished_at: datetime
    duration: str | None
    worker: int | None
    status_code: int | None
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One instance at one instant. ``fire_at`` is None while it is held; ``held_by`` is what holds it back, None
    where it is held by hand or waits for others. ``attempts`` and ``waits_for`` are None in listings.

    One that was skipped may stand for several ``instants`` of its job, up to ``last_scheduled_for``.
    """

    id: UUID
    client: str
    key: str | None
    job_id: UUID | None
    queue: str | None
    status: str
    target: str
    payload: Any
    scheduled_for: datetime | None
    fire_at: datetime | None
    attempt: int
    created_at: datetime
    finished_at: datetime | None
    status_code: int | None
    result: Any
    reason: str | None
    options: dict[str, Any] | None
    ordering_key: str | None
    lease_owner: int | None
    lease_expires_at: datetime | None
    instants: int | None = None
    last_scheduled_for: datetime | None = None
    held_by: str | None = None
    attempts: tuple[Attempt, ...] | None = None
    waits_for: tuple[UUID, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfilled:
    """How many instants a range has and how many of them have succeeded. ``id`` is None after a dry run."""

    id: UUID | None
    job_id: UUID
    instants: int
    run_already: int
    to_run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """A backfill and how far it is; ``instants`` is None until they are counted."""

    id: UUID
    job_id: UUID
    starts_at: datetime
    ends_at: datetime
    reached: datetime | None
    rate: float
    state: str
    instants: int | None
    planned: int
    passed_over: int
    live: int
    finished: int
    failed: int
    cancelled: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """An execution that failed for good. ``state`` is ``open``, ``replayed`` or ``discarded``; ``attempts`` is None in
    listings.
    """

    id: UUID
    client: str
    key: str | None
    job_id: UUID | None
    queue: str | None
    state: str
    target: str
    payload: Any
    options: dict[str, Any] | None
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
    attempts: tuple[Attempt, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaying:
    """How many dead letters a filter names; if not ``complete``, at least so many. ``id`` is None after a dry run."""

    id: UUID | None
    matched: int
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A replay of many and how far it is. ``clients`` is None where it is of all."""

    id: UUID
    clients: tuple[str, ...] | None
    filter: dict[str, Any]
    target: str | None
    rate: float
    state: str
    replayed: int
    passed_over: int
    reason: str | None
    actor: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscardedMany:
    """How many were discarded; where not ``complete``, there may be more to discard."""

    discarded: int
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[_Item]):
    """``next`` is the ``after`` of the next page, None on the last."""

    items: tuple[_Item, ...]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """``changed`` is false when it was so before."""

    id: UUID
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedMany:
    """How many jobs were changed."""

    changed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fire:
    """When a job fires: in UTC, and on its own clock. ``note`` says when a change of the clocks has to do with it."""

    at: datetime
    local: str
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The next instants of a schedule."""

    next: tuple[Fire, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPreview:
    """The next instants of a job as it is, and as it would be."""

    before: tuple[Fire, ...]
    after: tuple[Fire, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Something by its id."""

    id: UUID
