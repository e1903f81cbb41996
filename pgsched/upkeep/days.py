"""What is past its keeping goes: days of history, whole, once their dead letters are out of them; dead letters that
expired; ended jobs; the audit log. Days ahead are made in time."""

from collections.abc import Awaitable, Callable
from functools import partial

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

    def __init__(
        self, link: Link, events: Events, *, kept: int, audit_kept: int, every: float = 3600.0, batch: int = 1000
    ) -> None:
        """``kept`` days of history, ``audit_kept`` of the audit log; of that 0 is for ever."""
        super().__init__(events)
        self._link, self._kept, self._audit_kept, self._every, self._batch = link, kept, audit_kept, every, batch

    async def turn(self) -> float:
        connection = await self._link.get()
        await self._keep_dead_letters(connection)
        changed = await workers.prepare_days(connection, ahead=_AHEAD, kept=self._kept)
        if changed:
            self.events.emit("history.days", changed=changed)
        if jobs := await self._all_of(partial(workers.delete_ended_jobs, connection)):
            self.events.emit("jobs.deleted", jobs=jobs)
        if self._audit_kept and (rows := await self._all_of(self._delete_audit(connection))):
            self.events.emit("audit.deleted", rows=rows)
        return self._every

    async def _keep_dead_letters(self, connection: Connection) -> None:
        moved = await self._all_of(partial(workers.keep_dead_letters, connection, kept=self._kept))
        expired = await self._all_of(partial(workers.expire_dead_letters, connection))
        if moved or expired:
            self.events.emit("dead_letters.kept", moved=moved, expired=expired)

    def _delete_audit(self, connection: Connection) -> Callable[..., Awaitable[int]]:
        return partial(workers.delete_audit, connection, kept=self._audit_kept)

    async def _all_of(self, delete: Callable[..., Awaitable[int]]) -> int:
        deleted = latest = await delete(batch=self._batch)
        while latest == self._batch:
            latest = await delete(batch=self._batch)
            deleted += latest
        return deleted

    async def recover(self, error: Exception) -> None:
        await self._link.drop(error)
