"""Schedules many one-shots in the caller's own transaction, at the speed of COPY.

Each request is checked as in ``schedule``. After an error, the transaction can only be rolled back, so either all
requests are scheduled or none are. On an autocommit connection, the whole call is one transaction.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Required, TypedDict, overload
from uuid import UUID

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from pgsched.client import asyncpg_driver
from pgsched.client.asyncpg_driver import Fetches, is_of_asyncpg
from pgsched.client.requests import WrongArgument, check_names
from pgsched.client.transaction import Executes, execute_of, raises_ours
from pgsched.domain.body import check_body
from pgsched.errors import InvalidInput
from pgsched.store.core.sql import statement
from pgsched.store.core.text import check_no_bytes, check_text, encode
from pgsched.store.core.wire import register_arrays
from pgsched.store.schedule.many import Load, OneShot, Start, due, send
from pgsched.store.schedule.schedule_parameters import When, check_given, when


class Request(TypedDict, total=False):
    """One execution: the arguments of ``schedule``, except ``cron``, ``every`` and ``timezone``."""

    target: Required[str]
    payload: Any
    fire_at: datetime | str
    delay: timedelta | str
    client: str | None
    key: str | None
    ordering_key: str | None
    queue: str | None
    options: Mapping[str, Any] | None
    on_conflict: str | None
    labels: Mapping[str, str] | None


_NAMES = Request.__annotations__.keys()


class Ids(Sequence[UUID]):
    """The ids of the scheduled executions, in the order of the requests. Each id takes 16 bytes until accessed."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes | bytearray) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data) // 16

    @overload
    def __getitem__(self, index: int) -> UUID: ...
    @overload
    def __getitem__(self, index: slice) -> list[UUID]: ...
    def __getitem__(self, index: int | slice) -> UUID | list[UUID]:
        places = range(len(self))[index]
        if isinstance(places, range):
            return [self[place] for place in places]
        return UUID(bytes=bytes(self._data[16 * places : 16 * places + 16]))


def schedule_many(connection_or_session: psycopg.Connection[Any] | Executes, requests: Iterable[Request]) -> Ids:
    """Schedules one execution for each request, in the connection's transaction, and returns the executions' ids.

    Takes a psycopg 3 connection, or an SQLAlchemy Connection or Session over psycopg 3. ``requests`` may be a
    generator. It is read while rows are being sent, so it must not use the connection.

    A request with ``on_conflict`` (replace, keep, reject or debounce) is handled as in ``schedule``; its id is that of
    the execution that then has the key. For any other request, raises Conflict if the key is in use or occurs twice.
    Also raises the errors of ``schedule``. After an error, nothing is scheduled.

        with psycopg.connect(...) as connection:
            schedule_many(connection, ({"target": "python:remind", "payload": n} for n in range(100_000)))
    """
    with raises_ours():
        connection = _driver_of(connection_or_session)
        own = connection.transaction() if _stands_alone(connection) else nullcontext()
        with own, psycopg.Cursor(connection, row_factory=tuple_row) as cursor:
            register_arrays(cursor)
            started = cursor.execute(statement("schedule/start_many")).fetchone()
            load = _load(started, connection.info.encoding, requests)
            while not load.exhausted:
                if load.start.without_copy:
                    load.fill()
                else:
                    with cursor.copy(statement("schedule/copy_many")) as copy:
                        for block in load.blocks():
                            copy.write(block)
                for aside in load.set_aside():
                    cursor.execute(statement(aside.statement), aside.parameters(load.encoding))
                    load.note(aside, cursor.fetchall())
    return Ids(load.ids)


async def schedule_many_async(
    connection_or_session: psycopg.AsyncConnection[Any] | Fetches | Executes, requests: Iterable[Request]
) -> Ids:
    """``schedule_many`` for a psycopg AsyncConnection, an asyncpg connection, or an SQLAlchemy AsyncConnection or
    AsyncSession over either driver."""
    with raises_ours():
        connection = await _async_driver_of(connection_or_session)
        if isinstance(connection, psycopg.AsyncConnection):
            return await _many_over_psycopg(connection, requests)
        return await _many_over_asyncpg(connection, requests)


async def _many_over_psycopg(connection: psycopg.AsyncConnection[Any], requests: Iterable[Request]) -> Ids:
    own = connection.transaction() if _stands_alone(connection) else nullcontext()
    async with own, psycopg.AsyncCursor(connection, row_factory=tuple_row) as cursor:
        register_arrays(cursor)
        await cursor.execute(statement("schedule/start_many"))
        load = _load(await cursor.fetchone(), connection.info.encoding, requests)
        await send(cursor, load)
    return Ids(load.ids)


async def _many_over_asyncpg(connection: Fetches, requests: Iterable[Request]) -> Ids:
    async with nullcontext() if connection.is_in_transaction() else connection.transaction():
        started = await connection.fetchrow(statement("schedule/start_many"))
        load = _load(started, asyncpg_driver.encoding_of(connection), requests)
        await asyncpg_driver.send(connection, load)
    return Ids(load.ids)


def _load(started: Any, encoding: str, requests: Iterable[Request]) -> Load:
    start = Start._make(started)
    return Load(start=start, encoding=encoding, orders=_orders(start, requests))


def _orders(start: Start, requests: Iterable[Request]) -> Iterator[OneShot]:
    if isinstance(requests, str | bytes | Mapping) or not isinstance(requests, Iterable):
        raise WrongArgument(f"requests cannot be {requests!r:.80}: give an iterable of dicts, each with a target")
    for request in requests:
        if not isinstance(request, Mapping) or "target" not in request:
            raise WrongArgument(f"a request cannot be {request!r:.80}: give a dict with a target")
        if not request.keys() <= _NAMES:
            check_names(request, Request)
        check_given(request)
        yield _order(start, **request)


def _order(
    start: Start,
    *,
    target: str,
    payload: Any = None,
    fire_at: datetime | str | None = None,
    delay: timedelta | str | None = None,
    client: str | None = None,
    key: str | None = None,
    ordering_key: str | None = None,
    queue: str | None = None,
    options: Mapping[str, Any] | None = None,
    on_conflict: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> OneShot:
    if type(fire_at) is not datetime or fire_at.tzinfo is None or delay is not None:
        find = _when if isinstance(fire_at, Hashable) and isinstance(delay, Hashable) else when
        asked = find(fire_at=fire_at, delay=delay)
        fire_at = asked.fire_at or due(start, asked.delay)
    data = None if payload is None else encode(payload, "payload")
    choices = None if options is None else _object("options", options)
    check_body(data, choices)
    return OneShot(
        _text("target", target),
        fire_at,
        data,
        "default" if client is None else _text("client", client),
        key if key is None else _text("key", key),
        ordering_key if ordering_key is None else _text("ordering_key", ordering_key),
        "default" if queue is None else _text("queue", queue),
        choices,
        on_conflict if on_conflict is None else _text("on_conflict", on_conflict),
        None if labels is None else _object("labels", labels),
    )


@lru_cache(maxsize=1000)
def _when(fire_at: datetime | str | None, delay: timedelta | str | None) -> When:
    return when(fire_at=fire_at, delay=delay)


def _object(name: str, value: Mapping[str, Any]) -> bytes:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} cannot be {value!r:.80}: write a dict")
    given = dict(value)
    check_no_bytes(name, given)
    return encode(given, name)


def _text(name: str, text: str) -> str:
    if text is None:
        raise InvalidInput(f"{name} cannot be None: write a string")
    check_text(name, text)
    return text


def _driver_of(candidate: Any) -> psycopg.Connection[Any]:
    if isinstance(candidate, psycopg.Connection):
        return candidate
    execute_of(candidate, waits=False, name="schedule_many")
    connection = candidate.connection() if callable(candidate.connection) else candidate
    connection.exec_driver_sql("select 1")  # begins SQLAlchemy's own transaction; without one, commit does nothing
    driver = connection.connection.driver_connection
    if isinstance(driver, psycopg.Connection):
        return driver
    raise _unfit(driver, "psycopg 3")


async def _async_driver_of(candidate: Any) -> psycopg.AsyncConnection[Any] | Fetches:
    if isinstance(candidate, psycopg.AsyncConnection) or is_of_asyncpg(candidate):
        return candidate
    execute_of(candidate, waits=True, name="schedule_many")
    connection = candidate if hasattr(candidate, "get_raw_connection") else await candidate.connection()
    await connection.exec_driver_sql("select 1")
    driver = (await connection.get_raw_connection()).driver_connection
    if isinstance(driver, psycopg.AsyncConnection) or is_of_asyncpg(driver):
        return driver
    raise _unfit(driver, "psycopg 3 or asyncpg")


def _unfit(driver: Any, wanted: str) -> WrongArgument:
    return WrongArgument(
        f"{type(driver).__module__} cannot load many rows this way: use {wanted}, directly or through SQLAlchemy"
    )


def _stands_alone(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    return connection.autocommit and connection.info.transaction_status == TransactionStatus.IDLE
