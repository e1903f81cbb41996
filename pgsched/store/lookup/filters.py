"""The filters of listings, and of bulk operations."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from pgsched.store.lookup.row_types import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Selects jobs that match every given field and have all ``labels``. ``host`` is the target's host; case is
    ignored.
    """

    client: str | None = None
    state: str | None = None
    key: str | None = None
    host: str | None = None
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFilter:
    """Selects executions that match every given field, and have one of ``statuses`` and all ``labels``. ``statuses``
    contains no duplicates. ``host`` is the target's host; case is ignored. ``start`` (inclusive) and ``end``
    (exclusive) bound ``scheduled_for``.
    """

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
        """Returns the filter as JSON for ``pgsched.bulk``."""
        return filter_json(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Selects events that match every given field. One of ``statuses`` must match."""

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
    """Selects dead letters that match every given field and have all ``labels``. ``target`` is a prefix of the target,
    and ``reason`` a part of the reason; the case of ``reason`` is ignored. ``start`` (inclusive) and ``end``
    (exclusive) bound ``finished_at``.
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
        """Returns the filter as JSON for ``pgsched.bulk``."""
        return filter_json(asdict(self))


def filter_json(given: Mapping[str, Any]) -> str:
    """Returns a filter as JSON for ``pgsched.bulk``, without fields that are None."""
    renamed = {"start": "from", "end": "to", "statuses": "status"}
    named = {renamed.get(name, name): value for name, value in given.items() if value not in (None, ())}
    return orjson.dumps(named).decode()
