"""The API's connections: a pool that outlives the database's absence, and errors of pgsched instead of the driver's."""

import asyncio
import select
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Concatenate, ParamSpec, Self, TypeVar
from weakref import WeakValueDictionary

import psycopg
from psycopg import AsyncConnection, IsolationLevel
from psycopg_pool import AsyncConnectionPool

from pgsched.domain.api_key import NOBODY, Grant
from pgsched.errors import SchemaMismatch, Unavailable
from pgsched.events import Events
from pgsched.store.core.exact import read_exactly
from pgsched.store.core.lineage import Lineage
from pgsched.store.core.pinned import (
    AS_API,
    DOCTOR_LOCALLY,
    KEPT_ALIVE,
    KEPT_ALIVE_BY_THE_SERVER,
    REQUEST,
    pin,
    request_locally,
)
from pgsched.store.core.pooling import is_pooled
from pgsched.store.core.query import first
from pgsched.store.core.refusals import refusal
from pgsched.upkeep.primaries import Primaries

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")
Lent = AbstractAsyncContextManager[AsyncConnection[Any]]
WAIT = 5.0
"""Seconds that a request waits for a connection, and that one is tried to be made."""
LONGEST = 20.0
"""Seconds that the database may take for one request, however it spends them; with WAIT among them."""
_CANCELLING = 0.5  # seconds in which a server that is still there cancels a statement
LONGEST_BATCH = 120.0
"""The same for a batch that is scheduled in one transaction."""
_EACH = 7
"""Of ten connections, those that one client can have: however long what it asks for takes, others have the rest."""
_BATCHES, _BATCHES_EACH = 3, 2
"""The same for batches, each of which has a connection for as long as its lines arrive."""
_LISTED, _LISTED_EACH = 3, 2
"""The same for pages of listings, so that hundreds of them keep no request waiting that schedules."""


class _Connection(AsyncConnection[Any]):
    """One that remembers for whom its session acts; None before it acts for anybody."""

    acts_for: Grant | None = None

    @classmethod
    async def connect(cls, conninfo: str = "", *, lineage: Lineage, **ways: Any) -> Self:  # type: ignore[override]
        """A connection to a primary that was not replaced."""
        return await lineage.connect(partial(super().connect, **ways), conninfo)


class _LastBackFirst(deque[_Connection]):
    """Lends the connection that came back last, not that which has rested longest: so while one is enough it is one
    session that works, whose memory the server's processor has at hand. Lent in turn, the slowest requests take a fifth
    longer."""

    def popleft(self) -> _Connection:
        return self.pop()


class _Places:
    """So many of ten connections, and a part of them for each client. A key for all clients counts by itself."""

    def __init__(self, connections: int, most: int, each: int) -> None:
        self._most, self._each = (max(1, connections * tenths // 10) for tenths in (most, each))
        self._taken = WeakValueDictionary[frozenset[str] | str | None, asyncio.Semaphore]()

    def of(self, grant: Grant) -> tuple[asyncio.Semaphore, asyncio.Semaphore]:
        """The semaphores to enter for a grant, in this order. Waiting for one's own share blocks nobody else."""
        whose = grant.subject if grant.clients is None else grant.clients
        return self._semaphore(whose, self._each), self._semaphore(None, self._most)

    def _semaphore(self, whose: frozenset[str] | str | None, size: int) -> asyncio.Semaphore:
        """It is forgotten when nobody holds it or waits for it."""
        found = self._taken.get(whose)
        if found is None:
            found = self._taken[whose] = asyncio.Semaphore(size)
        return found


class Database:
    """Lends connections between ``open`` and ``close``, which may come again. It starts, and keeps on, without a
    database: requests then get Unavailable.

    A connection is in autocommit, and set up once. Behind a pooler, which may give the server's connection to anybody
    after each transaction, it is one transaction for each time that it is lent, which sets it up for itself. In neither
    case is a statement prepared: its name would stay with the server's connection.

    Each connection acts as the role of the API, for nobody's clients unless ``acting`` says for whose."""

    def __init__(
        self, url: str, events: Events, *, most: int = 10, wait: float = WAIT, longest: float = LONGEST
    ) -> None:
        self._url, self._events, self._most = url, events, most
        self._wait, self._longest = wait, longest
        self._lineage = Lineage()
        self._looking: asyncio.Task[None] | None = None
        self._pool = self._made()
        self._places = _Places(most, 10, _EACH)
        self._pages = _Places(most, _LISTED, _LISTED_EACH)
        self._batches = _Places(most, _BATCHES, _BATCHES_EACH)
        self._grant, self._lender = NOBODY, self

    @property
    def grant(self) -> Grant:
        """For whose clients the connections act."""
        return self._grant

    def acting(self, grant: Grant) -> Self:
        """The same connections, which act for the clients of a grant while they are lent; opened and closed as this."""
        found = object.__new__(type(self))
        found.__dict__ = self.__dict__ | {"_grant": grant}  # as copy() does, in a tenth of its time: each request asks
        return found

    def _made(self) -> AsyncConnectionPool[_Connection]:
        pool: AsyncConnectionPool[_Connection] = AsyncConnectionPool(
            self._url,
            connection_class=_Connection,
            min_size=1,
            max_size=self._most,
            open=False,
            timeout=self._longest,  # a request ends its wait by itself, and with it the checks of connections
            # A longer time would also be the longest pause between two tries: the pool doubles it each time.
            reconnect_timeout=self._wait,
            reconnect_failed=self._lost,
            configure=_configure,
            check=_check,
            name="pgsched api",
            kwargs=KEPT_ALIVE
            | {
                "lineage": self._lineage,
                "autocommit": True,
                "prepare_threshold": None,
                "application_name": "pgsched api",
            },
        )
        pool._pool = _LastBackFirst()  # it has no setting for that
        return pool

    async def open(self) -> None:
        await self._pool.open(wait=False)
        self._looking = asyncio.create_task(Primaries(self._events, self._url, self._lineage).run())

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        pool, self._pool = self._pool, self._made()  # one that was closed cannot be opened again
        await pool.close()

    def connection(self) -> Lent:
        """A connection for the time of the block, at whose end all is committed; what the database refuses in it is
        raised as pgsched's error."""
        return self._lend(self._longest)

    def page(self) -> Lent:
        """The same for reading a page of a listing; only a part of the connections is lent for that."""
        return self._lend(self._longest, self._pages)

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[AsyncConnection[Any]]:
        """The same in a transaction that adds little to a server that may be in trouble: for what people watch."""
        async with self.page() as connection, connection.transaction():
            await connection.execute(DOCTOR_LOCALLY)
            yield connection

    def batch(self) -> Lent:
        """A connection for a batch, whose lines arrive while it is held: it may take longer, and fewer are lent."""
        return self._lend(LONGEST_BATCH, self._batches)

    async def ask(
        self,
        question: Callable[Concatenate[AsyncConnection[Any], _Given], Awaitable[_Answer]],
        *given: _Given.args,
        **named: _Given.kwargs,
    ) -> _Answer:
        """Calls a function of the store with a connection."""
        async with self.connection() as connection:
            return await question(connection, *given, **named)

    @asynccontextmanager
    async def _lend(self, longest: float, *more: _Places) -> AsyncIterator[AsyncConnection[Any]]:
        taken: list[asyncio.Semaphore] = []
        try:
            unreached = "the database cannot be reached: no connection was free"
            async with _Patience(min(self._wait, longest), unreached) as patience:
                for places in (*more, self._places):
                    for place in places.of(self._grant):
                        await place.acquire()
                        taken.append(place)
                async with self._lender._pool.connection() as connection:
                    patience.last(longest, "the database did not answer")
                    await _act(connection, self._grant)
                    try:
                        yield connection
                    except psycopg.errors.ReadOnlySqlTransaction:
                        await connection.close()  # it may have been left with a server that is no primary any more
                        raise
        except psycopg.Error as error:
            raise refusal(error) or error from error
        finally:
            for place in taken:
                place.release()

    def _lost(self, _pool: AsyncConnectionPool[_Connection]) -> None:
        self._events.emit("database.lost", service="api")


class _Patience:
    """Has the block raise Unavailable when it takes longer, counted from its start. The driver then asks the server to
    cancel its statement, and would wait for that as long as for an answer: so it is stopped once more, and closes the
    connection.

    It is ``asyncio.timeout`` for several bounds after one another, with one timer: each request has these.
    """

    def __init__(self, seconds: float, otherwise: str) -> None:
        self._seconds, self._otherwise = seconds, otherwise
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._stopped = 0

    async def __aenter__(self) -> Self:
        task = asyncio.current_task(self._loop)
        assert task is not None, "a connection is lent to a task"
        self._task, self._cancelling = task, task.cancelling()
        self._timer = self._loop.call_at(self._started + self._seconds, self._look)
        return self

    def last(self, seconds: float, otherwise: str) -> None:
        """What counts from now on, also from the block's start. It is no shorter than what did."""
        self._seconds, self._otherwise = seconds, otherwise

    def _look(self) -> None:
        until = self._started + self._seconds
        if self._loop.time() < until:
            self._timer = self._loop.call_at(until, self._look)
            return
        self._stopped += 1
        self._task.cancel()
        if self._stopped == 1:
            self._timer = self._loop.call_later(_CANCELLING, self._look)

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._timer.cancel()
        asked = self._task.cancelling()
        for _stop in range(self._stopped):
            asked = self._task.uncancel()
        if self._stopped and asked <= self._cancelling and kind is asyncio.CancelledError:
            raise Unavailable(f"{self._otherwise} within {self._seconds:g} s: try again") from None


async def _act(connection: _Connection, grant: Grant) -> None:
    """Says for whom the session acts, or in a transaction that began for this request, that one. Raises SchemaMismatch
    where the login may not act as the API."""
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
    """Costs a round trip only where the server has said something since: most often that it is gone."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        await AsyncConnectionPool.check_connection(connection)
