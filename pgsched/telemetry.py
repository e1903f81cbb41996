"""Events: their names, the listeners that get them, and how they are logged.

The command line attaches the listeners. A listener must not raise or block, because it runs in the event loop that
emitted the event. Only ``loop.blocked`` and ``worker.gave_up`` are emitted in a thread, while the loop is blocked.
Batches on the hot path are reported to typed observers instead (``observer``).
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
"""Events to which an operator should pay attention."""
DETAILS = frozenset({"dependents.released"})
"""Routine events, for debugging. There may be many per second."""


class Events:
    """Passes each event to all listeners, in the given order. ``observers`` are called for batches."""

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
    """A listener that passes events on, but reports a continuing fault only when it begins and when it ends.

    While the database cannot be reached, every service of a process fails repeatedly. The first failure is passed on,
    as ``database.lost``. A few seconds later, so is the first failure with a new error, for example a rejected password
    after a closed connection. When every service that failed has succeeded again, ``database.back`` reports how long
    the outage lasted and how many failures there were.

    Any other failure of a service, and any loss of a connection, is passed on again only if the error differs in more
    than numbers, or after a minute, with the number of failures since (``times``). Errors that the database reports
    (``by_database``), for example while its disk is full, count as one fault of all services. Such a fault may come and
    go, so it is passed on at most once a minute.

    After an outage, outcomes that arrive too late are refused row by row. The first refusal is passed on, and later
    refusals are summed up every few seconds.
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
    """Returns an error's first line without numbers, so that errors that differ only in process ids compare equal."""
    return _NUMBERS.sub("#", str(error).partition("\n")[0])


FIELDS = "pgsched_event"
"""The attribute of a log record that contains an event's name and fields, for machine-readable formats."""
_MANY_LINES = ("stack", "traceback")
_BARE = re.compile(r'[^\s"=]+')


def logging_listener(logger: logging.Logger) -> Listener:
    """Returns a listener that writes events as log lines `event key=value …`. WARNINGS are logged as warnings, DETAILS
    as debug.

    Values may contain text from targets, handlers and clients, so they are escaped, and quoted if they could be
    mistaken for several values. The lines of stacks and tracebacks follow, each prefixed with a bar. A continuing fault
    is logged once (``Faults``).
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
    """Escapes all characters that are not printable, because terminals and log readers may interpret them."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def _value(value: Field) -> str:
    if not isinstance(value, str):
        return str(value)
    text = printable(value.replace("\\", "\\\\"))
    return text if _BARE.fullmatch(text) else '"' + text.replace('"', '\\"') + '"'
