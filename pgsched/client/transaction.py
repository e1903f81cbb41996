"""Scheduling inside the caller's own transaction: its commit schedules, its rollback leaves nothing.

Nothing here commits, rolls back or opens a savepoint. An error raised by the database leaves the transaction as any
failed statement does: it can only be rolled back.
"""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Protocol, Unpack
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

from pgsched.client.jobs import ScheduleOptions
from pgsched.client.requests import Id, encode
from pgsched.store.core.refusals import refusal
from pgsched.store.core.sql import statement
from pgsched.store.schedule.calls import Placed, placed
from pgsched.store.schedule.order import Order, check_given, names_after, when

_DRIVERS = re.compile("psycopg|asyncpg")


class Executes(Protocol):
    """An SQLAlchemy Connection, Session, AsyncConnection or AsyncSession, as far as it is used here."""

    def execute(self, statement: Any, parameters: Any, /) -> Any: ...


def schedule(
    connection_or_session: psycopg.Connection[Any] | Executes, target: str, **options: Unpack[ScheduleOptions]
) -> UUID:
    """Schedules in the transaction of a psycopg connection, or of an SQLAlchemy Connection or Session.

    Takes what ``Client.schedule`` takes, and returns the id of the execution or job. A job is planned by a worker as
    soon as the transaction commits. Raises what ``pgsched.errors`` has for it.

        with engine.begin() as connection:
            connection.execute(insert(orders).values(id=7))
            schedule(connection, "https://shop.example/settle", payload={"order": 7}, delay="10m")
    """
    return schedule_outcome(connection_or_session, target, **options).id


def schedule_outcome(
    connection_or_session: psycopg.Connection[Any] | Executes, target: str, **options: Unpack[ScheduleOptions]
) -> Placed:
    """``schedule``, which also says what it came to: ``created``, ``replaced``, ``existing`` or ``ended``.

    ``existing`` left what stands under the key as it is; ``ended`` scheduled nothing, since what had the key succeeded
    lately. ``fire_at`` is None for a job, and for what runs, is held or has ended.
    """
    order = _order(target, **options)
    with raises_ours():
        if isinstance(connection_or_session, psycopg.Connection):
            cursor = psycopg.Cursor(connection_or_session, row_factory=tuple_row)
            return placed(cursor.execute(statement("schedule/schedule"), order.parameters()).fetchone())
        execute = execute_of(connection_or_session, waits=False)
        return placed(execute(_sqlalchemy_text(), order.parameters()).first())


async def schedule_async(
    connection_or_session: psycopg.AsyncConnection[Any] | Executes, target: str, **options: Unpack[ScheduleOptions]
) -> UUID:
    """``schedule`` for a psycopg AsyncConnection, or an SQLAlchemy AsyncConnection or AsyncSession."""
    return (await schedule_outcome_async(connection_or_session, target, **options)).id


async def schedule_outcome_async(
    connection_or_session: psycopg.AsyncConnection[Any] | Executes, target: str, **options: Unpack[ScheduleOptions]
) -> Placed:
    """``schedule_outcome`` for a psycopg AsyncConnection, or an SQLAlchemy AsyncConnection or AsyncSession."""
    order = _order(target, **options)
    with raises_ours():
        if isinstance(connection_or_session, psycopg.AsyncConnection):
            cursor = psycopg.AsyncCursor(connection_or_session, row_factory=tuple_row)
            return placed(await (await cursor.execute(statement("schedule/schedule"), order.parameters())).fetchone())
        execute = execute_of(connection_or_session, waits=True)
        return placed((await execute(_sqlalchemy_text(), order.parameters())).first())


def _order(target: str, **options: Unpack[ScheduleOptions]) -> Order:
    check_given(options)
    return _built(target, **options)


def _built(
    target: str,
    *,
    payload: Any = None,
    options: Mapping[str, Any] | None = None,
    rules: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    after: Sequence[Id] | None = None,
    at: datetime | str | None = None,
    delay: timedelta | str | None = None,
    cron: str | None = None,
    every: timedelta | str | None = None,
    timezone: str | None = None,
    gap: str | None = None,
    overlap: str | None = None,
    **names: Any,
) -> Order:
    return Order(
        target=target,
        when=when(at=at, delay=delay, cron=cron, every=every, timezone=timezone, gap=gap, overlap=overlap, rules=rules),
        payload=None if payload is None else encode(payload, "payload").decode(),
        options=None if options is None else encode(dict(options), "options").decode(),
        rules=None if rules is None else encode(dict(rules), "rules").decode(),
        labels=None if labels is None else encode(dict(labels), "labels").decode(),
        after=names_after(after),
        **{name: value for name, value in names.items() if value is not None},
    )


@contextmanager
def raises_ours() -> Iterator[None]:
    """Raises the driver's errors, also those that SQLAlchemy wrapped, as errors of pgsched."""
    try:
        yield
    except Exception as error:
        driver = getattr(error, "orig", None) or error
        if not any(kind.__name__ == "Error" and _DRIVERS.search(kind.__module__) for kind in type(driver).__mro__):
            raise
        raise refusal(driver) or error from error


@cache
def _sqlalchemy_text() -> Any:
    from sqlalchemy import text  # only those who use it wait for its import

    return text(re.sub(r"%\((\w+)\)s", r":\1", statement("schedule/schedule")))


def execute_of(candidate: Any, *, waits: bool, name: str = "schedule") -> Any:
    """Its execute. Raises TypeError for what is no connection, or is one for the other function."""
    execute = getattr(candidate, "execute", None)
    kind = type(candidate).__name__
    if execute is None:
        raise TypeError(f"{kind} has no execute: give a psycopg 3 or SQLAlchemy connection or session")
    if waits is not inspect.iscoroutinefunction(execute):
        raise TypeError(f"{kind} goes with {name if waits else f'{name}_async'}")
    return execute
