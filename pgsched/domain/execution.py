"""An execution as a worker holds it: the claimed row, decoded no further than it must be.

Tens of thousands of these are made a second, positionally from rows, so everything that not every delivery
needs (the payload, the options, readable instants and ids) stays raw until it is asked for.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from pgsched.domain.json_values import decode_json

KEPT_BACK = b'{"pgsched": "kept back"}'
"""Stands for a payload that is read when its row is started."""
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


class ClaimedExecution(NamedTuple):
    """One claimed row, its fields in the order in which the claim returns them.

    ``id`` and ``job_id`` are the sixteen bytes of a UUID; ``fire_at`` and ``scheduled_for`` are microseconds since
    2000-01-01 UTC, and so is ``start_at`` of a run that is to start later than that, by jitter or within a window;
    ``payload`` and ``options`` are JSON text, or ``KEPT_BACK`` for a payload. ``attempt`` counts from 1 and includes
    this one; ``uncounted`` is how often it was delivered without an attempt being counted, None for never; ``losses``
    how often of these it was lost or stopped with its worker, where it is for a handler.
    """

    partition: int
    id: bytes
    token: int
    attempt: int
    fire_at: int
    scheduled_for: int
    client_id: str
    target: str
    payload: bytes | None
    options: bytes | None
    job_id: bytes | None
    plan: int | None
    key: str | None
    ordering_key: str | None
    start_at: int | None = None
    uncounted: int | None = None
    losses: int | None = None

    @property
    def uuid(self) -> str:
        """The id in its usual form, as in URLs, headers and logs."""
        return uuid_text(self.id)

    @property
    def start(self) -> int:
        """When it was to start first, from which its options count."""
        return self.scheduled_for if self.start_at is None else self.start_at

    @property
    def delivery_count(self) -> int:
        """How often it has been delivered, this time included."""
        return self.attempt + (self.uncounted or 0)

    @property
    def nominal(self) -> datetime:
        """``scheduled_for`` as an aware datetime in UTC."""
        return _EPOCH + timedelta(microseconds=self.scheduled_for)

    def decode_payload(self) -> Any:
        """The payload as Python values; None when there is none, and also for a JSON null."""
        return None if self.payload is None else decode_json(self.payload)


def by_partition(rows: Iterable[ClaimedExecution]) -> dict[int, list[ClaimedExecution]]:
    """The same rows, apart by partition."""
    found: dict[int, list[ClaimedExecution]] = defaultdict(list)
    for row in rows:
        found[row.partition].append(row)
    return found


def uuid_text(id: bytes) -> str:
    """Sixteen bytes as ``xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx``."""
    text = id.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def instant_text(instant: int) -> str:
    """Microseconds since 2000-01-01 UTC as RFC 3339, such as ``2026-01-31T09:00:00Z``."""
    second, fraction = divmod(instant, 1_000_000)
    return f"{_second_text(second)}.{fraction:06}Z" if fraction else f"{_second_text(second)}Z"


@lru_cache(maxsize=256)
def _second_text(second: int) -> str:
    """Rows that are due together share their second."""
    return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")
