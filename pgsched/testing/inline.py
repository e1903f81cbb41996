"""Inline mode: an execution that is due now runs as soon as it is scheduled, in the same process.

The database checks the schedule in a savepoint that is rolled back, so that no worker runs the execution again. Then
the handler is called with the arguments that a worker would pass. The handler's exceptions reach the code that
scheduled the execution.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from contextvars import copy_context
from functools import partial
from typing import Any
from unittest import mock
from uuid import UUID

import psycopg

from pgsched.client import transaction
from pgsched.client.asyncpg_driver import Fetches, is_of_asyncpg
from pgsched.client.transaction import Executes, place, place_async
from pgsched.delivery.app import App
from pgsched.delivery.handler_call import Handler
from pgsched.delivery.own_context import own_context
from pgsched.delivery.returned_values import finished, is_awaitable
from pgsched.domain.execution import ClaimedExecution
from pgsched.errors import InvalidInput
from pgsched.store.core.wire import microseconds
from pgsched.store.schedule.calls import Placed
from pgsched.store.schedule.schedule_parameters import ScheduleRequest, When

_PREFIX = "python:"
_NOW = When()


class Inline:
    """Replaces ``place`` and ``place_async``, the functions that schedule in the application's own transaction."""

    def __init__(self, app: App) -> None:
        self._app = app

    def place(self, connection_or_session: psycopg.Connection[Any] | Executes, order: ScheduleRequest) -> Placed:
        if not _is_for_now(order):
            return place(connection_or_session, order)
        with _undone(connection_or_session):
            placed = place(connection_or_session, order)
        if placed.outcome in ("created", "replaced"):
            handler = self._handler_of(order)
            if handler.wants_connection:
                raise InvalidInput(
                    f"{handler.name!r} takes the connection: schedule it with schedule_async, or use run_due"
                )
            _finish(handler, _execution(order, placed))
        return placed

    async def place_async(
        self, connection_or_session: psycopg.AsyncConnection[Any] | Fetches | Executes, order: ScheduleRequest
    ) -> Placed:
        if not _is_for_now(order):
            return await place_async(connection_or_session, order)
        async with _undone_async(connection_or_session):
            placed = await place_async(connection_or_session, order)
        if placed.outcome in ("created", "replaced"):
            handler = self._handler_of(order)
            given = _nothing_kept(handler)
            if handler.wants_connection:
                given["connection"] = _own(connection_or_session, handler)
            call = partial(handler.call, _execution(order, placed), None, **given)
            await asyncio.create_task(_called(call), context=own_context())
        return placed

    def _handler_of(self, order: ScheduleRequest) -> Handler:
        """Returns the handler of the execution's target. Raises InvalidInput if there is none."""
        name = order.target.removeprefix(_PREFIX)
        handler = self._app.handlers.get(name)
        if handler is None:
            raise InvalidInput(f"the application has no handler {name!r}: register the handler, or leave inline mode")
        return handler


@contextmanager
def inline(app: App) -> Iterator[None]:
    """Within the block, an execution that is due now runs as soon as it is scheduled."""
    taking = Inline(app)
    with (
        mock.patch.object(transaction, "place", taking.place),
        mock.patch.object(transaction, "place_async", taking.place_async),
    ):
        yield


def _is_for_now(order: ScheduleRequest) -> bool:
    return order.target.startswith(_PREFIX) and order.when == _NOW and not order.after


def _execution(order: ScheduleRequest, placed: Placed) -> ClaimedExecution:
    """Returns the execution as a worker would have claimed it."""
    assert placed.fire_at is not None
    instant = microseconds(placed.fire_at)
    return ClaimedExecution(
        partition=0,
        id=UUID(str(placed.id)).bytes,
        token=0,
        attempt=1,
        fire_at=instant,
        scheduled_for=instant,
        client_id=order.client,
        target=order.target,
        payload=None if order.payload is None else order.payload.encode(),
        options=None if order.options is None else order.options.encode(),
        job_id=None,
        plan=None,
        key=order.key,
        ordering_key=order.ordering_key,
    )


def _nothing_kept(handler: Handler) -> dict[str, Any]:
    return {"checkpoint": None} if handler.wants_checkpoint else {}


async def _called(call: Callable[[], Any]) -> Any:
    return await finished(call())


def _finish(handler: Handler, execution: ClaimedExecution) -> None:
    """Calls a handler and waits until it has finished."""
    context = own_context()
    call = partial(handler.call, execution, None, _in_own_loop, **_nothing_kept(handler))
    context.run(lambda: _in_own_loop(call()))


def _in_own_loop(answer: Any) -> Any:
    """Awaits a result if necessary, in a separate thread because an event loop may be running in this one."""
    if not is_awaitable(answer):
        return answer
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, asyncio.run, finished(answer)).result()


@contextmanager
def _undone(connection_or_session: Any) -> Iterator[None]:
    if isinstance(connection_or_session, psycopg.Connection):
        with connection_or_session.transaction(force_rollback=True):
            yield
        return
    from sqlalchemy import text

    connection_or_session.execute(text("savepoint pgsched_inline"))
    yield
    connection_or_session.execute(text("rollback to savepoint pgsched_inline"))
    connection_or_session.execute(text("release savepoint pgsched_inline"))


@asynccontextmanager
async def _undone_async(connection_or_session: Any) -> AsyncIterator[None]:
    if isinstance(connection_or_session, psycopg.AsyncConnection):
        async with connection_or_session.transaction(force_rollback=True):
            yield
        return
    if is_of_asyncpg(connection_or_session):
        inner = connection_or_session.transaction()
        await inner.start()
        yield
        await inner.rollback()
        return
    from sqlalchemy import text

    await connection_or_session.execute(text("savepoint pgsched_inline"))
    yield
    await connection_or_session.execute(text("rollback to savepoint pgsched_inline"))
    await connection_or_session.execute(text("release savepoint pgsched_inline"))


def _own(connection_or_session: Any, handler: Handler) -> psycopg.AsyncConnection[Any]:
    if not isinstance(connection_or_session, psycopg.AsyncConnection):
        raise InvalidInput(
            f"{handler.name!r} takes a psycopg connection: schedule it on a psycopg connection, or use run_due"
        )
    return connection_or_session
