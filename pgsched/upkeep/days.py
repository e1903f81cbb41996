"""Makes the days of history ahead of time and drops those past their keeping, whole."""

from pgsched.events import Events
from pgsched.service import Service
from pgsched.store import workers
from pgsched.store.connect import Link

_AHEAD = 7


class Days(Service):
    """One turn an hour; one worker at a time."""

    name = "days"
    longest_turn = 300.0
    longest_pause = 60.0

    def __init__(self, link: Link, events: Events, *, kept: int, every: float = 3600.0) -> None:
        super().__init__(events)
        self._link, self._kept, self._every = link, kept, every

    async def turn(self) -> float:
        connection = await self._link.get()
        changed = await workers.prepare_days(connection, ahead=_AHEAD, kept=self._kept)
        if changed:
            self.events.emit("history.days", changed=changed)
        return self._every

    async def recover(self, error: Exception) -> None:
        await self._link.drop(error)
