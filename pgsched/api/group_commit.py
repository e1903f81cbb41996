"""Uses one statement and one commit to schedule one-shots that arrive together.

While a client's statement is in flight, further requests of that client are collected for the next statement. So a
single request does not wait, and under load each request costs less. Every response is sent after the commit.

One row, or a lock that one row waits for, can make the database refuse a whole group. The requests of the group, and
those of the same client during the next second, are then tried separately. A group has one client and one API key,
because the database runs a statement with the rights of one key.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import psycopg

from pgsched.api.connection_pool import Database
from pgsched.domain.api_key import Grant
from pgsched.store.schedule import calls
from pgsched.store.schedule.calls import Placed
from pgsched.store.schedule.schedule_parameters import ScheduleRequest

_MOST, _MOST_CHARACTERS, _LARGE = 100, 1 << 20, 1 << 16
_APART_FOR = 1.0
_MANY = 1_000
_UNSURE = "08", "57", "58", "XX"
"""SQLSTATE classes of errors after which the statement may have been committed, or a retry would fail as well."""

_Whose = tuple[Grant, str]
_Waiting = tuple[ScheduleRequest, "asyncio.Future[Placed | None]"]
"""A request, and a future with its result, or with None if the request must be tried separately."""


class GroupCommit:
    """Schedules one-shots, and groups those that arrive together."""

    def __init__(self) -> None:
        self._waiting: dict[_Whose, list[_Waiting]] = {}
        self._apart_until: dict[_Whose, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def schedule(self, database: Database, order: ScheduleRequest) -> Placed:
        """Schedules one request. Raises the same errors as ``calls.schedule``."""
        whose = (database.grant, order.client)
        if _is_plain(order) and self._apart_until.get(whose, 0.0) < time.monotonic():
            placed = await self._ask(database, whose, order)
            if placed is not None:
                return placed
        return await database.ask(calls.schedule, order)

    def _ask(self, database: Database, whose: _Whose, order: ScheduleRequest) -> "asyncio.Future[Placed | None]":
        loop = asyncio.get_running_loop()
        placed: asyncio.Future[Placed | None] = loop.create_future()
        if whose in self._waiting:
            self._waiting[whose].append((order, placed))
        else:
            self._waiting[whose] = [(order, placed)]
            task = loop.create_task(self._write(database, whose))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return placed

    async def _write(self, database: Database, whose: _Whose) -> None:
        """Schedules the collected requests until none are left."""
        while some := self._take(whose):
            try:
                found = await database.ask(calls.schedule_together, [order for order, _ in some])
            except Exception as error:
                alone = leaves_nothing(error)
                if alone:
                    self._keep_apart(whose)
                for _, placed in some:
                    if placed.done():
                        continue
                    if alone:
                        placed.set_result(None)
                    else:
                        placed.set_exception(error)
                        placed.exception()  # avoids a warning if the caller is gone
            else:
                for (_, placed), row in zip(some, found, strict=True):
                    if not placed.done():
                        placed.set_result(row)

    def _take(self, whose: _Whose) -> list[_Waiting]:
        waiting = self._waiting[whose]
        count = size = 0
        for order, _ in waiting[:_MOST]:
            size += _size(order)
            if count and size > _MOST_CHARACTERS:
                break
            count += 1
        some, self._waiting[whose] = waiting[:count], waiting[count:]
        if not some:
            del self._waiting[whose]
        return some

    def _keep_apart(self, whose: _Whose) -> None:
        now = time.monotonic()
        if len(self._apart_until) > _MANY:
            self._apart_until = {one: until for one, until in self._apart_until.items() if until > now}
        self._apart_until[whose] = now + _APART_FOR


@dataclass(frozen=True, slots=True)
class Intake:
    """The dependencies of a route that schedules. ``span`` starts a trace span, or is None if spans are not recorded.

    They are one dependency because Litestar resolves each dependency in a separate task, which took a third of a
    request's time.
    """

    database: Database
    group_commit: GroupCommit
    span: Callable[[str | None, str], AbstractContextManager[str]] | None


def _is_plain(order: ScheduleRequest) -> bool:
    """Whether the request is for a one-shot that waits for no other execution and is not too large for a group."""
    rest = order.rules, order.after, order.when.cron, order.when.every, order.when.timezone
    ways = order.when.gap, order.when.overlap
    told = any(part is not None for part in (*rest, *ways)) or order.after_outcome != "success"
    return not told and _size(order) < _LARGE


def _size(order: ScheduleRequest) -> int:
    return len(order.payload or "") + len(order.options or "") + len(order.labels or "")


def leaves_nothing(error: BaseException) -> bool:
    """Whether the server has definitely refused the statement, so that each request can be tried separately."""
    cause = error if isinstance(error, psycopg.Error) else error.__cause__
    state = cause.sqlstate if isinstance(cause, psycopg.Error) else None
    return state is not None and not state.startswith(_UNSURE)
