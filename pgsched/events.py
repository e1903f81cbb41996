"""The one seam that logs, metrics and traces hang on.

Rooms emit events by name with plain fields; who listens is decided at the top. A listener must not raise and must not
wait: it runs inside the loop that emitted, but for ``loop.blocked``, which a thread emits while the loop stands
still. Per-row events are never emitted on the hot path, only per batch.
"""

import logging
import re
from collections.abc import Callable

Field = str | int | float | bool | None
Listener = Callable[[str, dict[str, Field]], None]

_WARNINGS = frozenset(
    {
        "database.lost",
        "lease.doubted",
        "lease.refused",
        "execution.parked",
        "handler.failed",
        "loop.blocked",
        "loop.resumed",
        "places.taken",
        "worker.lost",
        "service.failed",
        "job.invalid",
        "backfill.invalid",
        "replay.given_up",
        "tzdata.behind",
        "api.failed",
        "listener.lost",
        "client.invalid",
    }
)


class Events:
    """Hands each event to every listener, in the order in which they are given."""

    def __init__(self, *listeners: Listener) -> None:
        self._listeners = listeners

    def emit(self, event: str, **fields: Field) -> None:
        for listener in self._listeners:
            listener(event, fields)


_MANY_LINES = ("stack", "traceback")
_BARE = re.compile(r'[^\s"=]+')


def logging_listener(logger: logging.Logger) -> Listener:
    """Writes events as log lines `event key=value …`; what an operator should look at, as warnings.

    What targets, handlers and clients say is in some values: they are escaped, and quoted where they might be taken for
    more than one. Stacks and tracebacks follow on lines of their own, each behind a bar.
    """

    def listen(event: str, fields: dict[str, Field]) -> None:
        level = logging.WARNING if event in _WARNINGS else logging.INFO
        if logger.isEnabledFor(level):
            said = [f"{name}={_value(value)}" for name, value in fields.items() if name not in _MANY_LINES]
            lines = [line for name in _MANY_LINES for line in str(fields.get(name) or "").splitlines()]
            behind = "".join(f"\n  | {printable(line)}" for line in lines)
            logger.log(level, "%s %s%s", event, " ".join(said), behind)

    return listen


def printable(text: str) -> str:
    """The text with everything escaped that a terminal or a reader of lines could take for more than a character."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def _value(value: Field) -> str:
    if not isinstance(value, str):
        return str(value)
    text = printable(value.replace("\\", "\\\\"))
    return text if _BARE.fullmatch(text) else '"' + text.replace('"', '\\"') + '"'
