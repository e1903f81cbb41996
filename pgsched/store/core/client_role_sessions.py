"""Sessions in which clients' functions run, each with the privileges of one client's role.

A function can do whatever its session can: for example, ``reset role`` gives it the login's privileges. So by default,
a session logs in as the client's role. If one login serves several roles, the role is set for each transaction, and
functions are trusted with everything that the login may do.

A returned session is closed, or cleared of settings, locks, cursors, subscriptions and temporary tables. A session is
ended if the server sends more than one call may receive (``receive_limit``).
"""

import asyncio
import os
import socket
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from pgsched.errors import InvalidSettings, Unavailable
from pgsched.store.core.pooler import check_sessions
from pgsched.store.core.receive_limit import MOST, Metered
from pgsched.store.core.session_settings import KEPT_ALIVE, call
from pgsched.store.core.sql import statement

Connection = Metered
STATEMENT_SECONDS = 30.0
"""Time limit of a session's statement, unless its transaction sets another."""
_WAYS = KEPT_ALIVE | {"application_name": "pgsched call"}
_ROLE = "{role}"
_LARGEST_KEPT = 256 * 1024  # a session that has received more bytes in a call is not kept, because of libpq's buffer
_REFUSED_FOR = 0.5  # seconds before a failed login is tried again: a login costs as much as many calls
_WHERE = ("host", "hostaddr", "port", "dbname", "service")  # the database's own address is known to keep sessions


class SaidTooMuch(Exception):
    """The server has sent more than allowed for one call."""

    def __init__(self) -> None:
        super().__init__(
            f"the server sent more than {MOST // 1024 // 1024} MiB of errors, notices and notifications during the "
            "call, so its session was closed"
        )


class Sessions:
    """Lends sessions. ``most`` is the maximum number lent at a time. Idle sessions are kept until other roles need the
    room.

    ``login`` contains connection parameters that override those of ``url``. In ``login``, ``{role}`` is replaced with
    the role's name. After a failed login, the role is not tried again for a moment. Raises InvalidSettings for invalid
    connection parameters. If ``trusted``, sessions are not metered, because only pgsched decides what they receive.
    """

    def __init__(self, url: str, login: str, *, most: int, trusted: bool = False) -> None:
        self._trusted = trusted
        self._own = _parameters(url)
        self._login = _parameters(login)
        self._leads_elsewhere = any(
            self._login.get(name, self._own.get(name)) != self._own.get(name) for name in _WHERE
        )
        self.most = most
        self._places = asyncio.Semaphore(most)
        self._idle: OrderedDict[Connection, str] = OrderedDict()
        self._open = 0
        self._refused: dict[str, tuple[float, str]] = {}

    async def work(self, role: str, transaction: Callable[[Connection], Awaitable[None]]) -> None:
        """Runs ``transaction`` in an autocommit session of this role's login. If the session breaks, which is usually
        because the server was restarted, runs ``transaction`` once more in a new session. So the transaction must be
        fenced against running twice.

        Raises Unavailable if no session is available, and SaidTooMuch if the server sends too much.
        """
        try:
            async with self._lend(role) as connection:
                await transaction(connection)
        except psycopg.OperationalError as error:
            if not _is_break(error):
                raise
            async with self._lend(role, fresh=True) as connection:
                await transaction(connection)

    @asynccontextmanager
    async def _lend(self, role: str, *, fresh: bool = False) -> AsyncIterator[Connection]:
        async with self._places:
            login = self._login_of(role)
            if fresh:
                await self.close()
            connection = self._idle_as(login["user"]) or await self._connect(login)
            if connection.meter is not None:
                connection.meter.begin()
            try:
                yield connection
            except psycopg.Error:
                if connection.meter is not None and connection.meter.is_over:
                    raise SaidTooMuch from None
                raise
            finally:
                await self._take_back(connection, login["user"])

    async def close(self) -> None:
        """Closes idle sessions, but none that are lent."""
        while self._idle:
            await self._end(self._idle.popitem()[0])

    def _login_of(self, role: str) -> dict[str, str]:
        given = {name: value.replace(_ROLE, role) for name, value in self._login.items()}
        own = dict(self._own)
        if given.get("user", own.get("user")) != own.get("user"):
            own["password"] = ""  # the password in the URL or PGPASSWORD is another login's; a password file is read
        return {"user": ""} | own | given

    def _idle_as(self, user: str) -> Connection | None:
        for connection, logged_in in reversed(self._idle.items()):
            if logged_in == user:
                del self._idle[connection]
                return connection
        return None

    async def _connect(self, login: dict[str, str]) -> Connection:
        user = login["user"]
        until, message = self._refused.pop(user, (0.0, ""))
        if time.monotonic() < until:
            self._refused[user] = until, message
            raise Unavailable(message)
        await self._check(login)
        if self._open >= self.most and self._idle:
            await self._end(self._idle.popitem(last=False)[0])
        self._open += 1
        try:
            connection = await Metered.connect(
                make_conninfo(**(_WAYS | login)), autocommit=True, prepare_threshold=None
            )
            return await self._prepared(connection)
        except BaseException as error:
            self._open -= 1
            if isinstance(error, psycopg.Error):
                message = f"cannot open a session as {user}: {error} (sql_login says how workers log in)"
                self._refused[user] = time.monotonic() + _REFUSED_FOR, message
                raise Unavailable(message) from error
            raise

    async def _check(self, login: dict[str, str]) -> None:
        """Checks once, if the login leads to another address, that the address keeps sessions: one client's settings
        must not reach another client.
        """
        if self._leads_elsewhere:
            try:
                await check_sessions(make_conninfo(**login), "sql_login")
            except (psycopg.Error, InvalidSettings) as error:
                self._refused[login["user"]] = time.monotonic() + _REFUSED_FOR, str(error)
                raise Unavailable(str(error)) from error
            self._leads_elsewhere = False

    async def _take_back(self, connection: Connection, user: str) -> None:
        try:
            is_large = connection.meter is not None and connection.meter.received > _LARGEST_KEPT
            if is_large or connection.info.transaction_status is not TransactionStatus.IDLE:
                await self._end(connection)
                return
            await connection.execute(statement("core/clear_session") + ";\n" + call(connection))
            self._idle[connection] = user
        except BaseException as error:
            await self._end(connection)
            if not isinstance(error, psycopg.Error):
                raise

    async def _end(self, connection: Connection) -> None:
        self._open -= 1
        await connection.close()

    async def _prepared(self, connection: Connection) -> Connection:
        try:
            if not self._trusted:
                connection.measure()
            await connection.execute(call(connection))
        except BaseException:
            await connection.close()
            raise
        return connection


def _is_break(error: psycopg.Error) -> bool:
    task = asyncio.current_task()
    cancelled = task is not None and task.cancelling() > 0
    return not cancelled and (error.sqlstate is None or error.sqlstate.startswith("57P"))


def cut(connection: Connection) -> None:
    """Cuts off a session whose server does not respond. Code that is waiting for the session gets an
    OperationalError."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


def _parameters(text: str) -> dict[str, str]:
    try:
        return {name: str(value) for name, value in conninfo_to_dict(text).items() if value is not None}
    except psycopg.ProgrammingError:  # the error's message contains the input, with the password
        raise InvalidSettings(
            f"sql_login is not a valid connection string: write, for example, user={_ROLE} password=…, and put a "
            "value with spaces in single quotes"
        ) from None
