"""What is past its keeping goes: days of history, whole, once their dead letters are out of them; dead letters that
expired; jobs that ended. Days ahead are made in time."""

from pgsched.events import Events
from pgsched.service import Service
from pgsched.store import workers
from pgsched.store.connect import Connection, Link

_AHEAD = 7


class Days(Service):
    """One turn an hour; one worker at a time makes and drops days."""

    name = "days"
    longest_turn = 300.0
    longest_pause = 60.0

    def __init__(self, link: Link, events: Events, *, kept: int, every: float = 3600.0, batch: int = 1000) -> None:
        super().__init__(events)
        self._link, self._kept, self._every, self._batch = link, kept, every, batch

    async def turn(self) -> float:
        connection = await self._link.get()
        await self._keep_dead_letters(connection)
        changed = await workers.prepare_days(connection, ahead=_AHEAD, kept=self._kept)
        if changed:
            self.events.emit("history.days", changed=changed)
        await self._delete_jobs(connection)
        return self._every

    async def _keep_dead_letters(self, connection: Connection) -> None:
        moved = latest = await workers.keep_dead_letters(connection, kept=self._kept, batch=self._batch) or 0
        while latest == self._batch:
            latest = await workers.keep_dead_letters(connection, kept=self._kept, batch=self._batch) or 0
            moved += latest
        expired = latest = await workers.expire_dead_letters(connection, batch=self._batch)
        while latest == self._batch:
            latest = await workers.expire_dead_letters(connection, batch=self._batch)
            expired += latest
        if moved or expired:
            self.events.emit("dead_letters.kept", moved=moved, expired=expired)

    async def _delete_jobs(self, connection: Connection) -> None:
        deleted = latest = await workers.delete_ended_jobs(connection, batch=self._batch)
        while latest == self._batch:
            latest = await workers.delete_ended_jobs(connection, batch=self._batch)
            deleted += latest
        if deleted:
            self.events.emit("jobs.deleted", jobs=deleted)

    async def recover(self, error: Exception) -> None:
        await self._link.drop(error)
