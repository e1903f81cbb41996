"""Counts the attempts of clients that have an objective, and how many of them were late, as the rollups tell it.

The rollups are by the minute, and minutes are written to for some time after they have passed: a worker adds what it
has done every few seconds, and keeps it while the database is away. So the last minutes are read anew each time, and
what is older is added up here. A count begins when the API does, and never goes back.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import AsyncConnection

from pgsched.metrics.counts import Counts
from pgsched.store import verbs
from pgsched.store.lookup.throughput import Punctuality, punctuality

_STILL_WRITTEN_TO = timedelta(minutes=10)


@dataclass(slots=True)
class _Count:
    """Of a client: what was counted before the minutes that are read anew, and what was shown last."""

    attempts: float = 0.0
    late: float = 0.0
    shown_attempts: float = 0.0
    shown_late: float = 0.0

    def show(self, found: Punctuality) -> None:
        """Someone who has changed the objective, or removed rollups, does not make the count go back."""
        self.shown_attempts = max(self.shown_attempts, self.attempts + found.attempts)
        self.shown_late = max(self.shown_late, self.late + found.late)

    def keep(self, newer: Punctuality) -> None:
        """Keeps what was shown, but for what will be read anew."""
        self.attempts, self.late = self.shown_attempts - newer.attempts, self.shown_late - newer.late


class Objectives:
    """The counts of one process, which asks from time to time."""

    def __init__(self) -> None:
        self._start: datetime | None = None
        self._counts: dict[str, _Count] = {}

    async def add(self, connection: AsyncConnection[Any], into: Counts) -> None:
        """Adds the counters of each client, and what its objective asks for."""
        now = (await verbs.now(connection)).replace(second=0, microsecond=0)
        start = self._start = self._start or now
        found = await punctuality(connection, start=start)
        self._counts = {one.client: self._counts.get(one.client) or _Count() for one in found}
        for one in found:
            self._counts[one.client].show(one)
        if now - start >= 2 * _STILL_WRITTEN_TO:
            self._start = now - _STILL_WRITTEN_TO
            for one in await punctuality(connection, start=self._start):
                if one.client in self._counts:
                    self._counts[one.client].keep(one)
        for one in found:
            count = self._counts[one.client]
            into.count(count.shown_attempts, "pgsched_objective_attempts", one.client)
            into.count(count.shown_late, "pgsched_objective_late_attempts", one.client)
            into.count(one.on_time_share, "pgsched_objective_on_time_share", one.client)
