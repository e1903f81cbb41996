"""The API's connection pool, which survives a database outage and raises pgsched's errors instead of the driver's."""

import asyncio
import select
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import psycopg
from psycopg import AsyncConnection, IsolationLevel
from psycopg_pool import AsyncConnectionPool

from pgsched.api.quotas import Deadline, FairShares
from pgsched.domain.api_key import NOBODY, Grant
from pgsched.errors import SchemaMismatch
from pgsched.service import event_text, is_away
from pgsched.store.core.pooler import is_pooled
from pgsched.store.core.query import first, read_exactly
from pgsched.store.core.refusals import refusal
from pgsched.store.core.session_settings import (
    AS_API,
    DOCTOR_LOCALLY,
    KEPT_ALIVE,
    KEPT_ALIVE_BY_THE_SERVER,
    REQUEST,
    pin,
    request_locally,
)
from pgsched.store.core.timeline_fencing import Lineage
from pgsched.telemetry import Events
from pgsched.upkeep.failover_watch import FailoverWatch

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")
Lent = AbstractAsyncContextManager[AsyncConnection[Any]]
WAIT = 5.0
"""The maximum number of seconds that a request waits for a connection, and that an attempt to connect may take."""
LONGEST = 20.0
"""The maximum number of seconds that one request may spend on the database in total, including WAIT."""
LONGEST_BATCH = 120.0
"""The same limit for a batch, which is scheduled in one transaction."""
_EACH = 7
"""The maximum share of connections for one client, in tenths. The rest stays free for other clients."""
_BATCHES, _BATCHES_EACH = 3, 2
"""The maximum share of connections for batches, in tenths: for all clients, and for one. A batch holds its connection
while its lines arrive."""
_LISTED, _LISTED_EACH = 3, 2
"""The maximum share of connections for pages of listings, in tenths: for all clients, and for one. Thanks to this
limit, hundreds of listings do not delay requests that schedule."""

_COMPUTING = 2
"""The maximum number of requests that compute at once, such as previews. More would compete for the processor."""


class _Connection(AsyncConnection[Any]):
    """A connection with the grant that its session acts for (initially None)."""

    acts_for: Grant | None = None

    @classmethod
    async def connect(  # type: ignore[override]
        cls, conninfo: str = "", *, lineage: Lineage, attempts: "_Attempts", **ways: Any
    ) -> Self:
        """Connects to the primary, and refuses a former primary that has been replaced."""
        with attempts.one():
            return await lineage.connect(partial(super().connect, **ways), conninfo)


class _Attempts:
    """Emits an event with the error when the database becomes unreachable, and another when it is back."""

    def __init__(self, events: Events) -> None:
        self._events, self._failures, self._since = events, 0, 0.0

    @contextmanager
    def one(self) -> Iterator[None]:
        """The context of one attempt to connect."""
        try:
            yield
        except (psycopg.Error, OSError) as error:
            self._since = self._since if self._failures else time.monotonic()
            self._failures += 1
            self._events.emit("service.failed", service="api", away=is_away(error), error=event_text(error))
            raise
        if self._failures:
            lasted = round(time.monotonic() - self._since, 3)
            self._events.emit("service.recovered", service="api", failures=self._failures, seconds=lasted)
            self._failures = 0


class Database:
    """A connection pool, which can be closed and opened again. The pool can be opened, and stays open, while the
    database is unavailable; requests then get Unavailable.

    Connections are in autocommit mode, and each session is set up once. A pooler may give the server connection to
    another client after each transaction. Behind a pooler, each loan is therefore one transaction, which sets up the
    session again. Statements are never prepared, because their names would stay with the server connection.

    Each connection acts as the API's role, and for no clients unless ``acting`` sets them.
    """

    def __init__(
        self, url: str, events: Events, *, most: int = 10, wait: float = WAIT, longest: float = LONGEST
    ) -> None:
        self._url, self._events, self._most = url, events, most
        self._wait, self._longest = wait, longest
        self._lineage = Lineage()
        self._looking: asyncio.Task[None] | None = None
        self._pool = self._made()
        self._places, self._pages, self._batches = (
            FairShares(*(max(1, most * tenths // 10) for tenths in shares))
            for shares in ((10, _EACH), (_LISTED, _LISTED_EACH), (_BATCHES, _BATCHES_EACH))
        )
        self._computing = FairShares(_COMPUTING, 1)
        self._grant, self._lender = NOBODY, self

    @property
    def grant(self) -> Grant:
        """The grant that the connections act for."""
        return self._grant

    def acting(self, grant: Grant) -> Self:
        """Returns a view of this pool, whose connections act for the clients of ``grant``."""
        found = object.__new__(type(self))
        found.__dict__ = self.__dict__ | {"_grant": grant}  # done for every request, and ten times as fast as copy()
        return found

    def _made(self) -> AsyncConnectionPool[_Connection]:
        return AsyncConnectionPool(
            self._url,
            connection_class=_Connection,
            min_size=1,
            max_size=self._most,
            open=False,
            timeout=self._longest,  # requests have their own timeout, which also ends the pool's check of a connection
            # This also limits the pause between two attempts, which the pool doubles each time.
            reconnect_timeout=self._wait,
            configure=_configure,
            check=_check,
            name="pgsched api",
            kwargs=KEPT_ALIVE
            | {
                "lineage": self._lineage,
                "attempts": _Attempts(self._events),
                "autocommit": True,
                "prepare_threshold": None,
                "application_name": "pgsched api",
            },
        )

    async def open(self) -> None:
        await self._pool.open(wait=False)
        self._looking = asyncio.create_task(FailoverWatch(self._events, self._url, self._lineage).run())

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        pool, self._pool = self._pool, self._made()  # a closed pool cannot be opened again
        await pool.close()

    def connection(self) -> Lent:
        """Lends a connection for the block, and commits at the end. Converts database errors to pgsched's errors."""
        return self._lend(self._longest)

    def page(self) -> Lent:
        """Lends a connection for reading a page of a listing. Only some of the connections are available for this."""
        return self._lend(self._longest, self._pages)

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Lends a connection for a live page, in a transaction that puts little load on a server in trouble."""
        async with self.page() as connection, connection.transaction():
            await connection.execute(DOCTOR_LOCALLY)
            yield connection

    @asynccontextmanager
    async def computing(self) -> AsyncIterator[None]:
        """Admits a block that keeps the processor busy and needs no connection. Each client can have one at a time."""
        payers = self._grant.payers
        async with Deadline(self._wait, "your client's other requests left it no computing time"):
            await self._computing.take(payers)
        try:
            yield
        finally:
            self._computing.give_back(payers)

    def batch(self) -> Lent:
        """Lends a connection for a batch, which holds the connection while its lines arrive. The time limit is longer
        than for other requests, but fewer connections are available."""
        return self._lend(LONGEST_BATCH, self._batches)

    async def ask(
        self,
        question: Callable[Concatenate[AsyncConnection[Any], _Given], Awaitable[_Answer]],
        *given: _Given.args,
        **named: _Given.kwargs,
    ) -> _Answer:
        """Calls a function of the store with a lent connection."""
        async with self.connection() as connection:
            return await question(connection, *given, **named)

    @asynccontextmanager
    async def _lend(self, longest: float, *more: FairShares) -> AsyncIterator[AsyncConnection[Any]]:
        taken, payers = list[FairShares](), self._grant.payers
        try:
            unreached = "no connection to the database was available"
            async with Deadline(min(self._wait, longest), unreached) as deadline:
                for shares in (*more, self._places):
                    await shares.take(payers)
                    taken.append(shares)
                async with self._lender._pool.connection() as connection:
                    deadline.extend(longest, "the database did not respond")
                    await _act(connection, self._grant)
                    try:
                        yield connection
                    except psycopg.errors.ReadOnlySqlTransaction:
                        await connection.close()  # the server may no longer be the primary
                        raise
        except psycopg.Error as error:
            raise refusal(error) or error from error
        finally:
            for shares in taken:
                shares.give_back(payers)


async def _act(connection: _Connection, grant: Grant) -> None:
    """Makes the session act for ``grant`` (behind a pooler, only during the current transaction). Raises SchemaMismatch
    if the login may not act as the API's role."""
    if connection.acts_for == grant and connection.autocommit:
        return
    found, connection.acts_for = connection.acts_for, None
    try:
        if not connection.autocommit:
            await connection.execute(request_locally(connection))
        elif found is None:
            await connection.execute(AS_API)
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidParameterValue) as error:
        login = connection.info.user
        await connection.close()
        raise SchemaMismatch(
            f"the API's login {login!r} cannot act as the role pgsched_api: run pgsched migrate, then "
            f'grant pgsched_api to "{login}"; {str(error).partition(chr(10))[0]}'
        ) from error
    await first(connection, "core/act_for", local=not connection.autocommit, **grant.settings())
    connection.acts_for = grant


async def _configure(connection: AsyncConnection[Any]) -> None:
    if await is_pooled(connection):
        await connection.set_isolation_level(IsolationLevel.READ_COMMITTED)
        await connection.set_autocommit(False)
    else:
        await pin(connection, KEPT_ALIVE_BY_THE_SERVER + REQUEST)
    read_exactly(connection)


async def _check(connection: AsyncConnection[Any]) -> None:
    """Checks a connection. Takes a round trip only if the server has sent something, usually a notice that it is
    closing the connection."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        await AsyncConnectionPool.check_connection(connection)
