"""Detects that another primary has replaced the one to which this worker is connected.

A frozen primary keeps its sessions, which do not show that a standby has been promoted. So every few seconds, the
worker asks all hosts in the database's URL for their timelines. With a single host, there is nothing to check.
"""

from pgsched.service import Service
from pgsched.store.core.timeline_fencing import Lineage
from pgsched.telemetry import Events

_EVERY = 5.0


class FailoverWatch(Service):
    """Checks each host once per turn."""

    name = "primaries"

    def __init__(self, events: Events, url: str, lineage: Lineage) -> None:
        super().__init__(events)
        self._url, self._lineage = url, lineage

    async def turn(self) -> float:
        await self._lineage.look_at_all(self._url)
        return _EVERY
