"""What bulk operations are, and what one turn at one comes to."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, get_args
from uuid import UUID

from pgsched.domain.round_robin import Payers
from pgsched.store.lookup.row_types import Json

Action = Literal["cancel", "reschedule", "replay", "discard", "backfill", "pause", "resume", "cancel_jobs"]
"""What is done: to executions that wait or run, to dead letters, to instants of a job that have passed, or to jobs."""
ACTIONS: tuple[Action, ...] = get_args(Action)
COUNTED_WITHIN = 5.0
"""Seconds after which counting ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkAsked:
    """How many a filter names. ``id`` is null after a dry run. Where not ``complete``, there was no time to count more
    than ``matched``. Those to be ``skipped`` are instants that history knows to have succeeded."""

    id: UUID | None
    matched: int
    complete: bool
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOperation:
    """A bulk operation and its progress.

    ``total`` is how many the filter named, None where there was no time to count them. Those ``skipped`` had begun or
    ended, or were no longer meant, when it was their turn; those that ``failed`` could not be changed. An instant of a
    backfill is ``done`` once it has a row. ``reason`` says what it waits for, or why it was given up. What has no
    ``rate`` was done at once.
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
    """The executions of a backfill: ``live`` ones wait or run and ``finished`` ones are over, among them ``failed`` and
    ``cancelled`` ones."""

    live: int
    finished: int
    failed: int
    cancelled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkDetail(BulkOperation):
    """A bulk operation, its progress and, of a backfill, its ``runs``."""

    runs: Runs | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Active:
    """One that is not done, and the clients that it is for; None stands for all."""

    id: UUID
    action: str
    clients: list[str | None]

    @property
    def payers(self) -> Payers:
        """Whose share of the time it takes; one for all clients has a share of its own."""
        return frozenset(client or "" for client in self.clients)


class Chunk(NamedTuple):
    """What became of one turn at a bulk operation. ``more``: the next chunk need not wait."""

    done: int
    more: bool
    finished: bool
