"""Completion in the handler's own transaction: the handler's writes and the end of its execution commit together or not
at all.

Names in the handler's SQL are resolved with the ``search_path`` of the worker's role. The settling statements do not
use this path.

Nothing that a handler leaves behind affects the next handler: each handler gets its own connection object, and the
pooled session is reset before its next use.
"""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from psycopg import AsyncConnection
from psycopg.pq import PGconn
from psycopg_pool import AsyncConnectionPool

from pgsched.delivery.slots import Slots, alone
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import parse_options
from pgsched.errors import StaleLease
from pgsched.store.core.session_settings import KEPT_ALIVE, clear_handler, pin_handler
from pgsched.store.core.sql import statement
from pgsched.store.core.wire import LONG_AGO, register_arrays
from pgsched.store.gates.ordering import let_next_at_commit
from pgsched.store.live import executions
from pgsched.store.live.executions import Finished, Group, Times


class TransactionalCompletion:
    """Lends handlers the connections on which their completions are committed."""

    def __init__(self, url: str, *, connections: int, is_shared: Callable[[], bool] = alone) -> None:
        self.slots = Slots("connections for transactional handlers", connections, is_shared=is_shared)
        self._pool = AsyncConnectionPool[AsyncConnection[Any]](
            url,
            min_size=0,
            max_size=connections,
            open=False,
            timeout=30,
            configure=_configure,
            reset=clear_handler,
            kwargs=KEPT_ALIVE | {"application_name": "pgsched handler", "prepare_threshold": None},
        )
        self._opened = False

    @asynccontextmanager
    async def settle_in_transaction(self, execution: ClaimedExecution) -> AsyncIterator[AsyncConnection[Any]]:
        """Yields a connection in a transaction. On exit, the execution is settled as succeeded in that transaction.

        Raises StaleLease, and rolls back, if the execution was leased again in the meantime.
        """
        if not self._opened:
            self._opened = True
            await self._pool.open()
        async with self._pool.connection() as session, _own(session) as connection, connection.transaction():
            started = time.monotonic()
            yield connection
            await session.execute(statement("live/set_search_path"))
            if await _settle(session, execution, Times(LONG_AGO, time.monotonic() - started)) != 1:
                raise StaleLease(f"execution {execution.id.hex()} was leased again while its handler was running")
            await session.execute(statement("live/restore_search_path"))

    async def close(self) -> None:
        await self._pool.close()


@asynccontextmanager
async def _own(session: AsyncConnection[Any]) -> AsyncIterator[AsyncConnection[Any]]:
    """Yields a separate connection object for the handler in this session. Afterwards, closes the object but not the
    session."""
    connection = AsyncConnection[Any](session.pgconn)
    connection.lock = session.lock
    try:
        yield connection
    finally:
        connection.pgconn = PGconn()


async def _configure(session: AsyncConnection[Any]) -> None:
    register_arrays(session)
    await pin_handler(session)


async def _settle(connection: AsyncConnection[Any], execution: ClaimedExecution, times: Times) -> int:
    """Settles the execution. Returns the number of rows settled, which is 0 if another worker has the lease."""
    if parse_options(execution.options).on_success is None:
        groups = {execution.partition: Group([execution.id], [execution.token])}
        [answer] = await executions.settle_succeeded(connection, None, groups, times)
    else:
        end = Finished(execution.id, execution.token, "succeeded", None, None, None, times)
        answer = await executions.settle_finished(connection, execution.partition, [end])
    if execution.ordering_key is not None:
        await let_next_at_commit(connection, execution.partition, execution.client_id, execution.ordering_key)
    return answer.rowcount
