"""The one seam that logs, metrics and traces hang on.

Rooms emit events by name with plain fields; who listens is decided at the top. A listener must not raise and must not
wait: it runs inside the loop that emitted, but for ``loop.blocked``, which a thread emits while the loop stands
still. Per-row events are never emitted on the hot path, only per batch.
"""

import logging
from collections.abc import Callable

Field = str | int | float | bool | None
Listener = Callable[[str, dict[str, Field]], None]

_WARNINGS = frozenset(
    {
        "database.lost",
        "lease.doubted",
        "lease.refused",
        "execution.parked",
        "loop.blocked",
        "loop.resumed",
        "places.taken",
        "worker.lost",
        "service.failed",
        "job.invalid",
        "backfill.invalid",
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


def logging_listener(logger: logging.Logger) -> Listener:
    """Writes events as log lines `event key=value …`; what an operator should look at, as warnings."""

    def listen(event: str, fields: dict[str, Field]) -> None:
        level = logging.WARNING if event in _WARNINGS else logging.INFO
        if logger.isEnabledFor(level):
            logger.log(level, "%s %s", event, " ".join(f"{name}={value}" for name, value in fields.items()))

    return listen
