"""Compares the scheduled calls with those that a test expects."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import orjson
import psycopg
from psycopg.rows import tuple_row

from pgsched.client.transaction import Executes, execute_of
from pgsched.domain.duration import format_duration
from pgsched.domain.json_values import decode_json, encode_json
from pgsched.store.core.sql import statement

_MOST_SHOWN = 10
_LONGEST = 300

ANYTHING: Any = ...
"""Matches any value."""


class ScheduledCall(NamedTuple):
    """A waiting execution, or a recurring job. ``fire_at`` is its next instant, or None for an execution that is held
    or waits for other executions, and for a job that no worker has planned yet.
    """

    id: UUID
    client: str
    key: str | None
    target: str
    payload: Any
    fire_at: datetime | None
    cron: str | None
    every: timedelta | None

    def __str__(self) -> str:
        when = self.fire_at.isoformat() if self.fire_at else "no instant yet"
        recurs = f" cron={self.cron!r}" if self.cron else f" every={format_duration(self.every)}" if self.every else ""
        named = f"{self.target} key={self.key!r} client={self.client!r}"
        shown = f"{named} fire_at={when}{recurs} payload={_json(self.payload)}"
        return shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A scheduled call that a test expects. ``payload`` may be a function that decides whether a payload matches."""

    target: str
    key: str | None = ANYTHING
    client: str = ANYTHING
    payload: Any = ANYTHING
    fire_at: datetime | None = None
    within: timedelta = timedelta(seconds=5)
    cron: str | None = ANYTHING
    every: timedelta | None = ANYTHING

    def differences(self, found: ScheduledCall) -> list[str]:
        """Returns the names of the fields of ``found`` that do not match."""
        plain = ("target", "key", "client", "cron", "every")
        names = [
            name
            for name in plain
            if getattr(self, name) is not ANYTHING and getattr(self, name) != getattr(found, name)
        ]
        if not names and callable(self.payload):  # called only if the other fields match, because it may rely on them
            names += [] if self.payload(found.payload) else ["payload"]
        elif not callable(self.payload) and self.payload is not ANYTHING and found.payload != self._payload:
            names.append("payload")
        if self.fire_at is not None and (found.fire_at is None or abs(found.fire_at - self.fire_at) > self.within):
            names.append("fire_at")
        return names

    @property
    def _payload(self) -> Any:
        """The expected payload after a round trip through JSON, as it would be read from a row."""
        return decode_json(orjson.dumps(self.payload))

    def __str__(self) -> str:
        return "\n".join(f"  {name:8}{value}" for name, value in self._shown())

    def _shown(self) -> Iterator[tuple[str, str]]:
        yield "target", self.target
        for name in ("key", "client", "cron", "every"):
            if (value := getattr(self, name)) is not ANYTHING:
                yield name, repr(value)
        if self.payload is not ANYTHING:
            yield "payload", _named(self.payload) if callable(self.payload) else _json(self.payload)
        if self.fire_at is not None:
            yield "fire_at", f"{self.fire_at.isoformat()}, within {format_duration(self.within)}"


def matching(found: list[ScheduledCall], expected: Expected) -> list[ScheduledCall]:
    return [one for one in found if not expected.differences(one)]


def nothing_like(found: list[ScheduledCall], expected: Expected) -> str:
    """Returns an error text that says that nothing matches, and lists the scheduled calls, most similar first."""
    if not found:
        return f"nothing is scheduled. Expected:\n{expected}"
    differing = sorted(((expected.differences(one), one) for one in found), key=lambda pair: len(pair[0]))
    lines = [f"  {one}\n    differs in {', '.join(names)}" for names, one in differing[:_MOST_SHOWN]]
    more = [f"  and {len(found) - _MOST_SHOWN} more"] if len(found) > _MOST_SHOWN else []
    return "\n".join([f"nothing that is scheduled matches. Expected:\n{expected}\nScheduled:", *lines, *more])


def read(connection_or_session: psycopg.Connection[Any] | Executes) -> list[ScheduledCall]:
    """Returns the scheduled calls that this connection or session sees, including its own uncommitted ones."""
    text = statement("testing/scheduled")
    if isinstance(connection_or_session, psycopg.Connection):
        rows: Any = psycopg.Cursor(connection_or_session, row_factory=tuple_row).execute(text).fetchall()
    else:
        execute = execute_of(connection_or_session, waits=False, name="assert_scheduled")
        from sqlalchemy import text as textual  # imported only if a session is used

        rows = execute(textual(text.replace(":", r"\:")), {}).all()
    return [_call(*row) for row in rows]


def _call(id: Any, client: str, key: str | None, target: str, payload: str | None, *rest: Any) -> ScheduledCall:
    decoded = None if payload is None else decode_json(payload.encode())
    return ScheduledCall(id if isinstance(id, UUID) else UUID(str(id)), client, key, target, decoded, *rest)


def _json(value: Any) -> str:
    return encode_json(value).decode()


def _named(function: Callable[..., Any]) -> str:
    return f"for which {getattr(function, '__qualname__', repr(function))} is true"
