"""Deletes data after its retention period, and creates days of history in advance.

It deletes expired dead letters, ended jobs, unused keys, progress reports of ended executions, rows of the audit log,
and whole days of history once their dead letters have been moved. It also creates missing days for executions that have
already ended. Retention periods are settings of the installation.

Creating or dropping a day takes a table lock for a moment. A turn never waits for the lock, because all settling would
queue up behind the turn. So no day is created or dropped while a query runs for hours, and days are created far enough
in advance to allow for such a query.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import partial

from pgsched.service import Service
from pgsched.store import internal_verbs
from pgsched.store.admin import expired_rows
from pgsched.store.admin.archive import DAILY
from pgsched.store.admin.installation_settings import get_installation
from pgsched.store.core.connect import Connection, Link
from pgsched.telemetry import Events

_EVERY = 3600.0
_AHEAD = 14
_TRIES = 60
_APART = (0.02, 0.1)  # seconds between tries
_AGAIN = 60.0  # seconds until the next turn if a lock was not available


class Retention(Service):
    """Runs once an hour. One worker at a time creates and drops days."""

    name = "days"
    longest_turn = 600.0
    longest_pause = 60.0

    def __init__(
        self,
        link: Link,
        events: Events,
        *,
        batch: int = 1000,
        tries: int = _TRIES,
    ) -> None:
        super().__init__(events, link)
        self._link, self._batch = link, batch
        self._tries = tries

    async def turn(self) -> float:
        connection = await self._link.get()
        rules = await get_installation(connection)
        kept = rules.history_days
        made = await self._make(connection)
        adopted = await self._adopt(connection)
        await self._keep_dead_letters(connection, kept)
        dropped = await self._drop(connection, kept)
        if changed := made.done + adopted.done + dropped.done:
            self.events.emit("history.days", changed=changed)
        if jobs := await self._all_of(partial(expired_rows.delete_ended_jobs, connection)):
            self.events.emit("jobs.deleted", jobs=jobs)
        await self._all_of(partial(internal_verbs.tidy_keys, connection))
        await self._all_of(partial(expired_rows.delete_progress, connection))
        delete_audit = partial(expired_rows.delete_audit, connection, kept=rules.audit_days)
        if rules.audit_days and (rows := await self._all_of(delete_audit)):
            self.events.emit("audit.deleted", rows=rows)
        return _AGAIN if made.left or adopted.left or dropped.left else _EVERY

    async def _make(self, connection: Connection) -> "_Progress":
        progress = _Progress(self._tries)
        for parent, day in await internal_verbs.days_to_make(connection, ahead=_AHEAD):
            if await progress.repeat(partial(internal_verbs.make_day, connection, parent, day)):
                progress.count(await progress.repeat(partial(internal_verbs.attach_day, connection, parent, day)))
        return progress

    async def _adopt(self, connection: Connection) -> "_Progress":
        progress = _Progress(self._tries)
        for parent in DAILY:
            progress.count(await progress.repeat(partial(self._adopt_next, connection, parent)))
        return progress

    async def _adopt_next(self, connection: Connection, parent: str) -> bool | None:
        step = await internal_verbs.adopt_strays(connection, parent)
        return None if step in ("none", "apart") else step == "adopted"

    async def _drop(self, connection: Connection, kept: int) -> "_Progress":
        progress = _Progress(self._tries)
        for name in await internal_verbs.days_to_drop(connection, kept=kept):
            progress.count(await progress.repeat(partial(internal_verbs.drop_day, connection, name)))
        await self._all_of(partial(internal_verbs.trim_default_days, connection, kept=kept))
        return progress

    async def _keep_dead_letters(self, connection: Connection, kept: int) -> None:
        moved = await self._all_of(partial(internal_verbs.keep_dead_letters, connection, kept=kept))
        expired = await self._all_of(partial(internal_verbs.expire_dead_letters, connection))
        if moved or expired:
            self.events.emit("dead_letters.kept", moved=moved, expired=expired)

    async def _all_of(self, delete: Callable[..., Awaitable[int]]) -> int:
        deleted = latest = await delete(most=self._batch)
        while latest == self._batch:
            latest = await delete(most=self._batch)
            deleted += latest
        return deleted


class _Progress:
    """Counts the days that were created or dropped, and the tries that remain."""

    def __init__(self, tries: int) -> None:
        self.done, self.left = 0, False
        self._tries = tries

    async def repeat(self, attempt: Callable[[], Awaitable[bool | None]]) -> bool:
        """Repeats the attempt while it returns False and tries remain. Returns whether it returned True in the end."""
        while (found := await attempt()) is False:
            self._tries -= 1
            if self._tries <= 0:
                self.left = True
                return False
            await asyncio.sleep(random.uniform(*_APART))
        return bool(found)

    def count(self, done: bool) -> None:
        self.done += done
