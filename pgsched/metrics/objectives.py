"""Counts all attempts and late attempts of clients that have an objective, by reading the rollups.

Workers add their counts every few seconds, or later if they cannot reach the database. So the most recent minutes are
read again each time, and only older minutes are added up here. Counts start when the API starts, and never decrease.
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
    """A client's counts for the minutes that will not be read again, and the counts that were last shown."""

    attempts: float = 0.0
    late: float = 0.0
    shown_attempts: float = 0.0
    shown_late: float = 0.0

    def show(self, found: Punctuality) -> None:
        """Updates the shown counts. They never decrease, even if the objective is changed or rollups are removed."""
        self.shown_attempts = max(self.shown_attempts, self.attempts + found.attempts)
        self.shown_late = max(self.shown_late, self.late + found.late)

    def keep(self, newer: Punctuality) -> None:
        """Keeps the shown counts minus ``newer``, which will be read again."""
        self.attempts, self.late = self.shown_attempts - newer.attempts, self.shown_late - newer.late


class Objectives:
    """The counts of all clients with an objective, as one process shows them."""

    def __init__(self) -> None:
        self._start: datetime | None = None
        self._counts: dict[str, _Count] = {}

    async def add(self, connection: AsyncConnection[Any], into: Counts) -> None:
        """Adds each client's counts, and the share that its objective requires, to ``into``."""
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
