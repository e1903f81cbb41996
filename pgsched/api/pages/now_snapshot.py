"""The data of the page *now*: one snapshot that all viewers share, and the last ten minutes for the charts."""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import NamedTuple

from litestar.di import NamedDependency

from pgsched.api.cached import Cached
from pgsched.api.connection_pool import Database
from pgsched.domain.api_key import EVERYBODY, Grant
from pgsched.store import verbs
from pgsched.store.admin.worker_listing import FormerWorker, former_workers
from pgsched.store.lookup.now import Edge, Now, look, open_letters
from pgsched.store.lookup.now_lines import Shown, lines_of

_EVERY, _SPAN, _KEPT = 1.5, 600.0, 10.0  # seconds
MOST_LETTERS = 1_000
"""The number of newest dead letters among which the open ones are counted."""
_MOST_LOST = 20
"""The number of most recently departed workers that are checked."""
LATE = 10.0
"""The age in seconds at which a due execution that has not started counts as late."""
_LATELY = timedelta(hours=1)
_FORGOTTEN = 30.0
"""The number of seconds without requests after which the collected series is discarded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One snapshot's values for the charts: executions per second, and the lateness of the oldest due execution in
    seconds."""

    at: float
    scheduled: float
    ended: float
    late: float


class Troubles(NamedTuple):
    """The number of open dead letters among the newest ones, and the workers lost in the last hour, latest first."""

    letters: int
    lost: Sequence[FormerWorker]


class LiveView:
    """Takes a snapshot on request, at most every 1.5 seconds. ``database`` acts for all clients."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._now: Now | None = None
        self._at = float("-inf")
        self._latest = Cached(self._look, seconds=_EVERY)
        self._moments: deque[Moment] = deque(maxlen=int(_SPAN / _EVERY))
        self._troubles = Cached(self._find_troubles, seconds=_KEPT)

    async def look(self, grant: Grant) -> tuple[Shown, Sequence[Moment], Troubles]:
        """Returns the latest snapshot, the moments for the charts, and the current problems. Raises Refused and
        Unavailable."""
        return await self._latest.get(grant), list(self._moments), await self._troubles.get(grant)

    async def clients(self, grant: Grant) -> Sequence[Edge]:
        """Returns the due and running executions of each client. Omits the names of clients that the grant does not
        cover. Raises Unavailable if the database cannot be asked."""
        shown = await self._latest.get(EVERYBODY)
        allowed = grant.clients
        if allowed is None:
            return shown.clients
        return [edge if edge.client in allowed else replace(edge, client=None) for edge in shown.clients]

    async def held_clients(self, grant: Grant) -> Sequence[str]:
        """Returns those clients of the grant whose executions a limit, a hold or a target holds back. Raises
        Unavailable if the database cannot be asked."""
        shown = await self._latest.get(EVERYBODY)
        found = {client for line in shown.gates if line.held and (client := line.client) is not None}
        return sorted(found if grant.clients is None else found.intersection(grant.clients))

    async def _find_troubles(self) -> Troubles:
        async with self._database.glance() as connection:
            letters = await open_letters(connection, most=MOST_LETTERS)
            now = await verbs.now(connection)
            left = await former_workers(connection, limit=_MOST_LOST)
        lost = [one for one in left if one.lost_since is not None and now - one.lost_since < _LATELY]
        return Troubles(letters=letters, lost=lost)

    async def _look(self) -> Shown:
        async with self._database.glance() as connection:
            now = await look(connection)
        asked = time.monotonic()
        if asked - self._at > _FORGOTTEN:
            self._now = None
            self._moments.clear()
        shown = lines_of(now, self._now)
        if self._now is not None:
            self._moments.append(
                Moment(
                    at=asked,
                    scheduled=sum(line.scheduled or 0.0 for line in shown.queues),
                    ended=sum(line.ended or 0.0 for line in shown.queues),
                    late=max((line.edge.oldest_due or 0.0 for line in shown.queues), default=0.0),
                )
            )
        self._now, self._at = now, asked
        return shown


Live = NamedDependency[LiveView]
