"""Adds what was done in each minute to the rollups: what this worker has counted in memory, and what transactions have
noted.

A worker that is killed loses what it has counted since its last turn. Notes are committed with what they count, and
are added once. An attempt whose retry the same worker claims before it has heard that the attempt's end is committed,
some milliseconds later, is not counted. Where the connection breaks before the answer comes, what was counted is sent
again, and may count twice.
"""

from collections.abc import Callable, Mapping

from pgsched.event_emitter import Events
from pgsched.service import Service
from pgsched.store import internal_verbs
from pgsched.store.core.connect import Link
from pgsched.store.live import rollups
from pgsched.worker.settle.counting import Minutes, with_everybody

_MOST_NOTES = 10_000
_EVERY = 5.0


class Rollups(Service):
    """One turn every few seconds. ``queue_names`` has queues by number."""

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
