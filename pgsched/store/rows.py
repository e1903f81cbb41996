"""The rows that listings answer with, and what may be asked for. Payloads stay the text that is stored."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

Json = Any
"""JSON as it is stored (``msgspec.Raw``), or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """An execution, waiting, in hand or finished. ``fire_at`` is None while it is held.

    One that was skipped may stand for several ``instants`` of its job, up to ``last_scheduled_for``.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A try that failed."""

    attempt: int
    finished_at: datetime
    duration: timedelta | None
    worker: int | None
    status_code: int | None
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A recurring definition."""

    id: UUID
    client: str
    key: str | None
    queue: str
    ordering_key: str | None
    target: str
    payload: Json
    options: Json
    cron: str | None
    timezone: str
    every: timedelta | None
    anchor: datetime | None
    gap: str
    overlap: str
    state: str
    reason: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    client: str | None = None
    state: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFilter:
    """``start`` and ``end`` bound scheduled_for: from start on, before end."""

    client: str | None = None
    status: str | None = None
    queue: str | None = None
    key: str | None = None
    job: UUID | None = None
    start: datetime | None = None
    end: datetime | None = None
