"""Bulk operations, and the result of processing one chunk."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, get_args
from uuid import UUID

from pgsched.domain.round_robin import Payers
from pgsched.store.lookup.row_types import Json

Action = Literal["cancel", "reschedule", "replay", "discard", "backfill", "pause", "resume", "cancel_jobs"]
"""Actions that a bulk operation can apply: to waiting or running executions, dead letters, past instants of a job, or
jobs.
"""
ACTIONS: tuple[Action, ...] = get_args(Action)
COUNTED_WITHIN = 5.0
"""Seconds after which counting stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkAsked:
    """The number of executions or jobs that a filter selects. ``id`` is None after a dry run. If not ``complete``, time
    ran out after counting ``matched``. ``skipped`` is the number of instants that have succeeded according to
    history."""

    id: UUID | None
    matched: int
    complete: bool
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOperation:
    """A bulk operation and its progress.

    ``total`` is the number of rows that the filter selected, or None if counting took too long. ``skipped`` counts the
    rows that had begun, ended or stopped matching when their turn came, and ``failed`` those that could not be changed.
    An instant of a backfill counts as ``done`` once it has a row. ``reason`` says what the operation waits for, or why
    it was stopped. If ``rate`` is None, the operation was carried out at once.
    """

    id: UUID
    action: str
    clients: list[str] | None
    filter: Json
    target: str | None
    fire_at: datetime | None
    shift: timedelta | None
    note: str | None
    rate: float | None
    state: str
    total: int | None
    done: int
    skipped: int
    failed: int
    reason: str | None
    actor: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """The numbers of a backfill's executions: ``live`` is how many wait or run, and ``finished`` is how many have
    ended, including those that ``failed`` or were ``cancelled``.
    """

    live: int
    finished: int
    failed: int
    cancelled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkDetail(BulkOperation):
    """A bulk operation, its progress and, for a backfill, its ``runs``."""

    runs: Runs | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Active:
    """An unfinished operation, and the clients whose rows it changes; None stands for all clients."""

    id: UUID
    action: str
    clients: list[str | None]

    @property
    def payers(self) -> Payers:
        """The clients whose share of the time the operation uses. An operation for all clients has its own share."""
        return frozenset(client or "" for client in self.clients)


class Chunk(NamedTuple):
    """The result of one chunk of a bulk operation. If there is ``more``, the next chunk need not wait."""

    done: int
    more: bool
    finished: bool
