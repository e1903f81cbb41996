"""Looks for a primary that has replaced the one to which this worker is connected.

A primary that was frozen keeps its sessions, and nothing on them says that a standby was promoted meanwhile. So all
hosts that the database's address names are asked for their timeline every few seconds. With a single host there is
nobody to ask.
"""

from pgsched.event_emitter import Events
from pgsched.service import Service
from pgsched.store.core.lineage import Lineage

_EVERY = 5.0


class Primaries(Service):
    """One look at each host a turn."""

    name = "primaries"

    def __init__(self, events: Events, url: str, lineage: Lineage) -> None:
        super().__init__(events)
        self._url, self._lineage = url, lineage

    async def turn(self) -> float:
        await self._lineage.look_at_all(self._url)
        return _EVERY
