"""Schedules in the caller's own transaction: a commit schedules, and a rollback leaves nothing behind.

Nothing here commits, rolls back or opens a savepoint. After an error from the database, the transaction can only be
rolled back.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol, Unpack
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

from pgsched.client.asyncpg_driver import Fetches, is_of_asyncpg, numbered
from pgsched.client.jobs import ScheduleOptions
from pgsched.client.requests import WrongArgument, check_names
from pgsched.client.trace import within_trace
from pgsched.errors import InvalidInput
from pgsched.store.core.refusals import ABORTED, refusal
from pgsched.store.core.sql import statement
from pgsched.store.core.text import encode
from pgsched.store.schedule.calls import Placed, placed
from pgsched.store.schedule.schedule_parameters import ScheduleRequest, check_given, names_after, request_of

_DRIVERS = re.compile("psycopg|asyncpg|sqlite3")
_OF_SQLALCHEMY = "sqlalchemy.engine.", "sqlalchemy.orm.", "sqlalchemy.ext."
_GIVE = "give a psycopg 3 or asyncpg connection, which may come from a pool, or a SQLAlchemy connection or session"
_ERRORS = frozenset({"Error", "PostgresError", "InterfaceError"})
"""The names of the drivers' base error classes; the last two are asyncpg's."""


class Executes(Protocol):
    """The method that this module calls on an SQLAlchemy Connection, Session, AsyncConnection or AsyncSession."""

    def execute(self, statement: Any, parameters: Any, /) -> Any: ...


def schedule(
    connection_or_session: psycopg.Connection[Any] | Executes, target: str, **options: Unpack[ScheduleOptions]
) -> UUID:
    """Schedules in the transaction of a psycopg connection, or of an SQLAlchemy Connection or Session.

    Takes the options of ``Client.schedule``, and returns the id of the execution or job. A worker plans a job as soon
    as the transaction commits. Raises the exceptions in ``pgsched.errors``.

        with engine.begin() as connection:
            connection.execute(insert(orders).values(id=7))
            schedule(connection, "https://shop.example/settle", payload={"order": 7}, delay="10m")
    """
    return schedule_outcome(connection_or_session, target, **options).id


def schedule_outcome(
    connection_or_session: psycopg.Connection[Any] | Executes, target: str, **options: Unpack[ScheduleOptions]
) -> Placed:
    """Like ``schedule``, but also returns the outcome: ``created``, ``replaced``, ``existing`` or ``ended``.

    ``existing`` means that an execution or job already has the key, and stays unchanged. ``ended`` means that nothing
    was scheduled, because the execution with this key succeeded recently. ``fire_at`` is None for a job, and for an
    execution that is running, held or ended.
    """
    return place(connection_or_session, _order(target, **options))


def place(connection_or_session: psycopg.Connection[Any] | Executes, order: ScheduleRequest) -> Placed:
    """Schedules ``order`` over a synchronous connection or session."""
    with raises_ours():
        if isinstance(connection_or_session, psycopg.Connection):
            cursor = psycopg.Cursor(connection_or_session, row_factory=tuple_row)
            return placed(cursor.execute(statement("schedule/schedule"), order.parameters()).fetchone())
        execute = execute_of(connection_or_session, waits=False)
        return placed(execute(_sqlalchemy_text(), order.parameters()).first())


async def schedule_async(
    connection_or_session: psycopg.AsyncConnection[Any] | Fetches | Executes,
    target: str,
    **options: Unpack[ScheduleOptions],
) -> UUID:
    """Async version of ``schedule``, for a psycopg AsyncConnection, an asyncpg connection, or an SQLAlchemy
    AsyncConnection or AsyncSession."""
    return (await schedule_outcome_async(connection_or_session, target, **options)).id


async def schedule_outcome_async(
    connection_or_session: psycopg.AsyncConnection[Any] | Fetches | Executes,
    target: str,
    **options: Unpack[ScheduleOptions],
) -> Placed:
    """Async version of ``schedule_outcome``, for the connections that ``schedule_async`` takes."""
    return await place_async(connection_or_session, _order(target, **options))


async def place_async(
    connection_or_session: psycopg.AsyncConnection[Any] | Fetches | Executes, order: ScheduleRequest
) -> Placed:
    """Async version of ``place``."""
    with raises_ours():
        if isinstance(connection_or_session, psycopg.AsyncConnection):
            cursor = psycopg.AsyncCursor(connection_or_session, row_factory=tuple_row)
            return placed(await (await cursor.execute(statement("schedule/schedule"), order.parameters())).fetchone())
        if is_of_asyncpg(connection_or_session):
            text, names = numbered("schedule/schedule")
            given = order.parameters()
            return placed(await connection_or_session.fetchrow(text, *[given[name] for name in names]))
        execute = execute_of(connection_or_session, waits=True)
        return placed((await execute(_sqlalchemy_text(), order.parameters())).first())


def _order(target: str, **options: Unpack[ScheduleOptions]) -> ScheduleRequest:
    check_names(options, ScheduleOptions)
    check_given(options)
    given = {**options, "after": names_after(options.get("after")), "options": within_trace(options)}
    if given.get("payload") is not None:
        given["payload"] = encode(given["payload"], "payload").decode()
    return request_of(target, given)


@contextmanager
def raises_ours() -> Iterator[None]:
    """Converts the driver's errors, including those wrapped by SQLAlchemy, into pgsched's."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ == "PendingRollbackError":  # raised by SQLAlchemy itself: no statement was sent
            raise InvalidInput(f"{error}; {ABORTED}") from error
        driver = getattr(error, "orig", None) or error
        if not any(kind.__name__ in _ERRORS and _DRIVERS.search(kind.__module__) for kind in type(driver).__mro__):
            raise
        raise refusal(driver) or error from error


@cache
def _sqlalchemy_text() -> Any:
    from sqlalchemy import text  # imported only when used

    return text(re.sub(r"%\((\w+)\)s", r":\1", statement("schedule/schedule")))


def execute_of(candidate: Any, *, waits: bool, name: str = "schedule") -> Any:
    """Returns the ``execute`` of an SQLAlchemy connection, or of a session's connection. Raises WrongArgument for any
    other object, such as a pool or a cursor, because its ``execute`` might commit on another connection. Also raises
    WrongArgument for a synchronous connection where an asynchronous one is needed, and vice versa."""
    kind, execute = type(candidate), getattr(candidate, "execute", None)
    is_driver_s = isinstance(candidate, psycopg.BaseConnection) or is_of_asyncpg(candidate)
    if execute is None:
        raise WrongArgument(f"{kind.__name__} has no execute: {_GIVE}")
    if not is_driver_s and not any(one.__module__.startswith(_OF_SQLALCHEMY) for one in candidate.__class__.__mro__):
        raise WrongArgument(f"{kind.__name__} is not a connection: {_GIVE}")
    if waits is not _is_awaited(candidate):
        raise WrongArgument(f"{kind.__name__} needs {name if waits else f'{name}_async'}")
    if hasattr(candidate, "get_raw_connection") or not callable(getattr(candidate, "connection", None)):
        return execute
    return _execute_async_in(candidate) if waits else _execute_in(candidate)


def _is_awaited(candidate: Any) -> bool:
    asynchronous = sys.modules.get("sqlalchemy.ext.asyncio")
    if asynchronous is not None and isinstance(
        candidate, asynchronous.AsyncConnection | asynchronous.AsyncSession | asynchronous.async_scoped_session
    ):
        return True  # even if a subclass decorates execute, as SQLModel does
    return inspect.iscoroutinefunction(inspect.unwrap(candidate.execute))


def _execute_in(session: Any) -> Any:
    """Executes on the session's connection, because SQLModel warns about calls to the session's own ``execute``."""

    def execute(text: Any, parameters: Any) -> Any:
        return session.connection(bind_arguments={"clause": text}).execute(text, parameters)

    return execute


def _execute_async_in(session: Any) -> Any:
    async def execute(text: Any, parameters: Any) -> Any:
        return await (await session.connection(bind_arguments={"clause": text})).execute(text, parameters)

    return execute
