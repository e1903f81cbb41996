"""The one interface for logs, metrics and traces.

Rooms emit events by name with plain fields; the command line decides who listens. A listener must not raise and must
not wait: it runs inside the loop that emitted, except for ``loop.blocked`` and ``worker.gave_up``, which a thread emits
while the loop stands still. Batches on the hot path are reported to typed observers instead (``observer``).
"""

import logging
import re
import time
from collections.abc import Callable, Sequence

from pgsched.observer import Observer

Field = str | int | float | bool | None
Listener = Callable[[str, dict[str, Field]], None]

WARNINGS = frozenset(
    {
        "database.back",
        "database.lost",
        "lease.doubted",
        "lease.refused",
        "execution.parked",
        "handler.died",
        "handler.failed",
        "isolation.failed",
        "loop.blocked",
        "loop.resumed",
        "loop.stopped",
        "slots.taken",
        "worker.gave_up",
        "worker.declared_lost",
        "worker.lost",
        "service.failed",
        "signal.ignored",
        "installation.held",
        "job.invalid",
        "bulk.given_up",
        "tzdata.behind",
        "api.failed",
        "api.open",
        "attempt.failed",
        "oidc.unavailable",
        "listener.lost",
        "client.invalid",
    }
)
"""Events that somebody should look at."""
DETAILS = frozenset({"dependents.released"})
"""Events of ordinary work, of which there may be many a second: for debugging."""


class Events:
    """Passes each event to every listener, in the order in which they are given. ``observers`` are called for
    batches."""

    def __init__(self, *listeners: Listener, observers: Sequence[Observer] = ()) -> None:
        self._listeners = listeners
        self.observers = tuple(observers)

    def emit(self, event: str, **fields: Field) -> None:
        for listener in self._listeners:
            listener(event, fields)


_MOST_FAULTS = 1_000
_NUMBERS = re.compile(r"[0-9]+")
_FOR_FAULTS = ("away", "by_database")


class Faults:
    """A listener that passes events on, but reports a fault only once when it begins and once when it is over.

    While the database is away, every service of a process fails again and again. Only the first failure is passed on,
    as ``database.lost``, and again when the error has become another one for a while, such as a password that is
    refused after a connection was closed; and ``database.back`` once every service that failed has succeeded, with the
    seconds and the number of failures. Any other failure of a service, and each loss of a connection, is passed on
    again only when its error differs in more than numbers, or after a minute, with the number of ``times`` it occurred.
    What the database refuses (``by_database``), such as any write while its disk is full, is one fault of all services;
    it may come and go, and is passed on once a minute.

    Outcomes that come too late after an outage are refused row by row. After the first refusal, the next ones are
    passed on together every few seconds.
    """

    def __init__(
        self,
        listener: Listener,
        *,
        remind_after: float = 60.0,
        sum_up_after: float = 5.0,
        say_again_after: float = 5.0,
    ) -> None:
        self._listener, self._remind_after, self._sum_up_after = listener, remind_after, sum_up_after
        self._say_again = say_again_after
        self._refused, self._refused_said_at = 0, float("-inf")
        self._away: set[Field] = set()
        self._away_since = 0.0
        self._said_away: dict[str, float] = {}
        self._failures = 0
        self._said: dict[tuple[str, Field, str], tuple[float, int]] = {}
        self._told: set[Field] = set()

    def __call__(self, event: str, fields: dict[str, Field]) -> None:
        who = fields.get("service") or fields.get("role")
        match event:
            case "service.failed" if fields.get("away"):
                self._lost(who, fields)
            case "service.failed":
                self._once(event, who, fields)
            case "database.lost" | "listener.lost":
                if not self._away:
                    self._once(event, who, fields)
            case "service.recovered":
                self._recovered(who, fields)
            case "lease.refused":
                self._refuse(int(fields.get("count") or 0))
            case _:
                self._listener(event, fields)

    def _lost(self, who: Field, fields: dict[str, Field]) -> None:
        now, gist = time.monotonic(), _gist(fields.get("error"))
        if not self._away:
            self._away_since, self._failures, self._said_away = now, 0, {}
        changed = gist not in self._said_away and now - max(self._said_away.values(), default=now) >= self._say_again
        if not self._away or changed:
            self._said_away[gist] = now
            self._listener("database.lost", {"service": who, "error": fields.get("error")})
        self._away.add(who)
        self._failures += 1

    def _recovered(self, who: Field, fields: dict[str, Field]) -> None:
        if who not in self._away:
            self._said = {key: said for key, said in self._said.items() if key[:2] != ("service.failed", who)}
            if who in self._told:
                self._told.discard(who)
                self._listener("service.recovered", fields)
            return
        self._away.discard(who)
        if not self._away:
            lasted = round(time.monotonic() - self._away_since, 3)
            self._listener("database.back", {"seconds": lasted, "failures": self._failures})

    def _refuse(self, count: int) -> None:
        self._refused += count
        if time.monotonic() - self._refused_said_at >= self._sum_up_after:
            self._listener("lease.refused", {"count": self._refused})
            self._refused, self._refused_said_at = 0, time.monotonic()

    def _once(self, event: str, who: Field, fields: dict[str, Field]) -> None:
        key, now = (event, "" if fields.get("by_database") else who, _gist(fields.get("error"))), time.monotonic()
        said_at, times = self._said.pop(key, (float("-inf"), 0))
        if now - said_at < self._remind_after:
            self._said[key] = said_at, times + 1
            return
        if len(self._said) >= _MOST_FAULTS:
            del self._said[next(iter(self._said))]
        self._said[key] = now, 0
        self._told.add(who)
        shown = {name: value for name, value in fields.items() if name not in _FOR_FAULTS}
        self._listener(event, shown | ({"times": times + 1} if times else {}))


def _gist(error: Field) -> str:
    """What two errors have in common that differ in the numbers of files, processes or lines, or in what is told beside
    the first line."""
    return _NUMBERS.sub("#", str(error).partition("\n")[0])


FIELDS = "pgsched_event"
"""The attribute of a log record that has an event's name and fields, for formats that are not read by people."""
_MANY_LINES = ("stack", "traceback")
_BARE = re.compile(r'[^\s"=]+')


def logging_listener(logger: logging.Logger) -> Listener:
    """Writes events as log lines `event key=value …`; what an operator should look at, as warnings, and what is of use
    in debugging alone, as that.

    What targets, handlers and clients say is in some values: they are escaped, and quoted where they might be taken for
    more than one. Stacks and tracebacks follow on lines of their own, each behind a bar. A fault that goes on is said
    once (``Faults``).
    """

    def listen(event: str, fields: dict[str, Field]) -> None:
        level = logging.WARNING if event in WARNINGS else logging.DEBUG if event in DETAILS else logging.INFO
        if logger.isEnabledFor(level):
            said = [f"{name}={_value(value)}" for name, value in fields.items() if name not in _MANY_LINES]
            lines = [line for name in _MANY_LINES for line in str(fields.get(name) or "").splitlines()]
            behind = "".join(f"\n  | {printable(line)}" for line in lines)
            logger.log(level, "%s %s%s", event, " ".join(said), behind, extra={FIELDS: (event, fields)})

    return Faults(listen)


def printable(text: str) -> str:
    """The text with all characters escaped that a terminal or a line-based reader could interpret."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def _value(value: Field) -> str:
    if not isinstance(value, str):
        return str(value)
    text = printable(value.replace("\\", "\\\\"))
    return text if _BARE.fullmatch(text) else '"' + text.replace('"', '\\"') + '"'
