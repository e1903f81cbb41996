"""Methods for queues and their throughput, shared by both clients."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypedDict, Unpack

from pgsched.api_responses import Stats
from pgsched.client.requests import Call, Instant, Length, between, body, check_names, path, present
from pgsched.client.sync_async_methods import method
from pgsched.domain.duration import format_duration
from pgsched.store.admin.queues import QueueRow
from pgsched.store.lookup.throughput import By


class QueueChanges(TypedDict, total=False):
    """Settings to change; None restores the default. ``options`` are replaced as a whole."""

    options: Mapping[str, Any] | None
    weight: int | None
    max_waiting: int | None


class QueueMethods:
    """Queue methods, shared by both clients."""

    @method
    def list_queues(self) -> Call[list[QueueRow]]:
        """All queues. Each queue's count of waiting executions stops at 10,000."""
        return Call("GET", path("queues"), list[QueueRow], "items")

    @method
    def get_stats(
        self,
        *,
        by: By = "time",
        client: str | None = None,
        queue: str | None = None,
        start: Instant | None = None,
        end: Instant | None = None,
        step: Length | None = None,
    ) -> Call[Stats]:
        """Throughput and lateness over a period, by default the last hour, grouped by time step, queue or client."""
        given = present({"by": by, "client": client, "queue": queue, "start": start, "end": end})
        each = format_duration(step) if isinstance(step, timedelta) else step
        return Call("GET", path("stats"), Stats, query={**between(given), "step": each})

    @method
    def get_queue(self, name: str) -> Call[QueueRow]:
        """One queue."""
        return Call("GET", path("queues", name), QueueRow)

    @method
    def create_queue(self, name: str, *, pulled: bool = False, **settings: Unpack[QueueChanges]) -> Call[QueueRow]:
        """Creates a queue. Consumers claim from ``pulled`` queues; workers serve all other queues."""
        check_names(settings, QueueChanges)
        return Call("POST", path("queues"), QueueRow, body={"name": name, "pulled": pulled, **body(settings)})

    @method
    def set_queue(self, name: str, **settings: Unpack[QueueChanges]) -> Call[QueueRow]:
        """Changes the given settings."""
        check_names(settings, QueueChanges)
        return Call("PATCH", path("queues", name), QueueRow, body=body(settings))

    @method
    def drop_queue(self, name: str) -> Call[bool]:
        """Drops a queue. Raises Conflict if the queue has waiting or running executions, or jobs."""
        return Call("DELETE", path("queues", name), bool, "changed")

    @method
    def pause_queue(self, name: str, *, note: str | None = None) -> Call[bool]:
        """Pauses a queue: no more of its executions start. Returns False if it was already paused."""
        return Call("POST", path("queues", name, "pause"), bool, "changed", body={"note": note})

    @method
    def resume_queue(self, name: str, *, note: str | None = None) -> Call[bool]:
        """Resumes a paused queue. Returns False if it was not paused."""
        return Call("POST", path("queues", name, "resume"), bool, "changed", body={"note": note})
