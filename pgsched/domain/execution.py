"""A claimed execution as a worker holds it: the row, decoded only as far as needed.

Tens of thousands of these are created per second, so values that only some deliveries need stay raw until used.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from pgsched.domain.json_values import decode_json

KEPT_BACK = b'{"pgsched": "kept back"}'
"""The placeholder for a payload that is fetched only when its execution starts."""
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


class ClaimedExecution(NamedTuple):
    """One claimed row, with its fields in the order in which the claim returns them.

    ``id`` and ``job_id`` are the sixteen bytes of a UUID. ``fire_at``, ``scheduled_for`` and ``start_at`` are
    microseconds since 2000-01-01 UTC. ``start_at`` is set only for a run that, because of jitter or a window, starts
    later than ``scheduled_for``. ``payload`` and ``options`` are JSON text; the payload may also be ``KEPT_BACK``.

    ``attempt`` is the number of this attempt, from 1. ``uncounted`` is the number of earlier deliveries that did not
    count as attempts; None means zero. If the target is a handler, ``losses`` is the number of these deliveries that
    were lost or stopped with their worker.
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
        """The id as text, as in URLs, headers and logs."""
        return uuid_text(self.id)

    @property
    def start(self) -> int:
        """The originally planned start, from which the time limits in the options count."""
        return self.scheduled_for if self.start_at is None else self.start_at

    @property
    def delivery_count(self) -> int:
        """The number of times the execution has been delivered, including this delivery."""
        return self.attempt + (self.uncounted or 0)

    @property
    def nominal(self) -> datetime:
        """``scheduled_for`` as an aware datetime in UTC."""
        return _EPOCH + timedelta(microseconds=self.scheduled_for)

    def decode_payload(self) -> Any:
        """Returns the payload as Python values, or None if the payload is missing or a JSON null."""
        return None if self.payload is None else decode_json(self.payload)


def by_partition(rows: Iterable[ClaimedExecution]) -> dict[int, list[ClaimedExecution]]:
    """Groups the rows by partition."""
    found: dict[int, list[ClaimedExecution]] = defaultdict(list)
    for row in rows:
        found[row.partition].append(row)
    return found


def uuid_text(id: bytes) -> str:
    """Formats sixteen bytes as ``xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx``."""
    text = id.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def instant_text(instant: int) -> str:
    """Formats microseconds since 2000-01-01 UTC as RFC 3339, such as ``2026-01-31T09:00:00Z``."""
    second, fraction = divmod(instant, 1_000_000)
    return f"{_second_text(second)}.{fraction:06}Z" if fraction else f"{_second_text(second)}Z"


@lru_cache(maxsize=256)
def _second_text(second: int) -> str:
    """Formats a whole second. Memoised, because rows that are due together often share a second."""
    return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")
