"""What the API answers with. A job and an execution read back in the words in which they were asked for."""

import base64
import binascii
from dataclasses import fields
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec
from litestar.datastructures import ResponseHeader
from litestar.openapi.datastructures import ResponseSpec

from pgsched.api.problems import MEDIA_TYPE, Fault, Problem, Unreadable
from pgsched.domain.duration import format_duration
from pgsched.domain.schedule import Schedule, from_parts
from pgsched.store.rows import Attempt, Execution, JobRow


class Scheduled(msgspec.Struct, frozen=True, kw_only=True):
    """What was scheduled. ``next_fires`` is empty for a paused job and for a key whose execution has ended."""

    id: UUID
    kind: Literal["execution", "job"]
    next_fires: list[datetime]


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false when it was so before."""

    id: UUID
    changed: bool


class Triggered(msgspec.Struct, frozen=True, kw_only=True):
    """The execution that runs the job now."""

    id: UUID
    job_id: UUID


class Rescheduled(msgspec.Struct, frozen=True, kw_only=True):
    """The execution and its new instant."""

    id: UUID
    fire_at: datetime


class Recurrence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """cron with its time zone and what happens when the clocks change, or every."""

    cron: str | None = None
    timezone: str | None = None
    gap: str | None = None
    overlap: str | None = None
    every: str | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A recurring definition."""

    id: UUID
    client: str
    key: str | None
    queue: str
    ordering_key: str | None
    target: str
    payload: msgspec.Raw | None
    schedule: Recurrence
    options: msgspec.Raw | None
    state: str
    reason: str | None
    created_at: datetime
    updated_at: datetime


class JobDetail(Job, frozen=True, kw_only=True):
    """A recurring definition and when it fires next; nothing unless it is active."""

    next_fires: list[datetime]


class ExecutionDetail(Execution):
    """An execution with its failed tries, the first one first."""

    __slots__ = ("attempts",)


class JobPage(msgspec.Struct, frozen=True, kw_only=True):
    """``next`` is the ``after`` of the next page; null on the last."""

    items: list[Job]
    next: str | None


class ExecutionPage(msgspec.Struct, frozen=True, kw_only=True):
    """``next`` is the ``after`` of the next page; null on the last."""

    items: list[Execution]
    next: str | None
