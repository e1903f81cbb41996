"""Findings of checks, and the context that checks receive."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal

from psycopg import AsyncConnection

from pgsched.sealing import KeyRing
from pgsched.store.core.query import rows

Severity = Literal["error", "warning", "note"]
Status = Literal["fine", "warning", "error"]
Connection = AsyncConnection[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One problem. An ``error`` means that something is not delivered, or soon will not be. A ``warning`` will become
    an error if it is ignored. A ``note`` means that nothing is wrong, or that the check cannot tell whether anything
    is. ``do`` says in one sentence what to do, with the command if there is one.
    """

    check: str = ""
    severity: Severity
    seen: str
    why: str
    do: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of all checks, worst findings first. ``checks`` are the checks that ran."""

    status: Status
    release: str
    server: str | None
    revision: str | None
    checks: list[str]
    findings: list[Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Thresholds of the checks. Times are in seconds; ``transactions`` is an age in transactions."""

    late: float = 60.0
    very_late: float = 600.0
    few_attempts: int = 100
    days_ahead: int = 7
    stands_still: float = 300.0
    unplanned: float = 60.0
    silent: float = 60.0
    open_for: float = 600.0
    open_elsewhere: float = 3_600.0
    prepared: float = 60.0
    transactions: int = 1_000_000
    retained: int = 4 << 30
    waits_for_lock: float = 5.0
    statement: float = 10.0
    mean: float = 1.0
    round_trip: float = 1.0
    skew: float = 2.0
    of_connections: float = 0.9
    of_notifications: float = 0.1
    of_wraparound: float = 0.25
    dead_rows: int = 100_000
    most: int = 20
    """Maximum number of rows of one kind that are examined and named."""


BOUNDS = Bounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckContext:
    """What a check works with: a connection in a transaction, the address if more connections may be opened, the keys
    that open secrets, and the thresholds.
    """

    connection: Connection
    url: str | None
    ring: KeyRing | None
    bounds: Bounds

    async def rows(self, name: str, **parameters: Any) -> list[SimpleNamespace]:
        """Returns the rows of a statement, with columns as attributes."""
        return await rows(self.connection, SimpleNamespace, name, **parameters)


Check = Callable[[CheckContext], Awaitable[Sequence[Finding]]]


def error(seen: str, *, why: str, do: str) -> Finding:
    return Finding(severity="error", seen=seen, why=why, do=do)


def warning(seen: str, *, why: str, do: str) -> Finding:
    return Finding(severity="warning", seen=seen, why=why, do=do)


def note(seen: str, *, why: str, do: str) -> Finding:
    return Finding(severity="note", seen=seen, why=why, do=do)


def literal(text: str) -> str:
    """Quotes a text as an SQL literal, for people to copy."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Quotes the name of a role or object as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def counted(count: int, what: str) -> str:
    """Returns a count with its noun; ``what`` is the singular."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def seconds_in(count: float) -> str:
    """Returns a duration in a readable form."""
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if count >= 2 * size:
            return f"{count / size:.0f} {unit}"
    return f"{count:.1f} seconds" if count < 10 else f"{count:.0f} seconds"
