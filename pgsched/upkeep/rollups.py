"""Adds each minute's work to the rollups: this worker's counts in memory, and the notes that transactions have left.

A killed worker loses what it has counted since its last turn. If the connection breaks before the reply, the counts are
sent again, and may count twice. Notes are committed with the work that they count, and are added exactly once.

An attempt is not counted if its worker claims the retry in the few milliseconds before the worker learns that the
attempt's end was committed.
"""

from collections.abc import Callable, Mapping

from pgsched.service import Service
from pgsched.store import internal_verbs
from pgsched.store.core.connect import Link
from pgsched.store.live import rollups
from pgsched.telemetry import Events
from pgsched.worker.settle.minute_counts import Minutes, with_everybody

_MOST_NOTES = 10_000
_EVERY = 5.0


class Rollups(Service):
    """Adds counts to the rollups every few seconds. ``queue_names`` returns the names of queues, by number."""

    name = "rollups"

    def __init__(
        self, link: Link, events: Events, minutes: Minutes, *, queue_names: Callable[[], Mapping[int, str]]
    ) -> None:
        super().__init__(events, link)
        self._link, self._minutes, self._queue_names = link, minutes, queue_names

    async def turn(self) -> float:
        connection = await self._link.get()
        counted = self._minutes.take()
        try:
            if counted:
                await rollups.add(connection, with_everybody(counted), self._queue_names())
        except BaseException:
            self._minutes.give_back(counted)
            raise
        notes = await internal_verbs.roll_up_notes(connection, most=_MOST_NOTES)
        return 0.0 if notes == _MOST_NOTES else _EVERY
