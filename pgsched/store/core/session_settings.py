"""The settings of pgsched's own sessions, which override those of the server, the database and the role.

An operator may give a database another ``datestyle``, and a tenant who may create objects in a schema of the
``search_path`` may redefine ``=`` for our types. Neither must change what our statements mean or how results are read.
The settings are applied after connecting, because connection poolers refuse ``options`` in a startup packet. The
statements that apply them look up no names. The operator still decides how commits are flushed and whether the database
accepts writes.

A session's settings stay with the server connection, which a pooler may give to another client after each transaction.
So settings are applied to whole sessions only on connections of workers, which need sessions anyway, and on connections
that are not shared. All other code applies the settings for each transaction.
"""

from typing import Any, LiteralString

from psycopg import AsyncConnection, Connection

from pgsched.store.core.sql import statement

KEPT_ALIVE: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""Connection parameters with which a session notices within seconds that its server is gone."""

READING: LiteralString = (
    "set timezone = 'UTC'; set datestyle = 'ISO, MDY'; set intervalstyle = 'postgres'; set bytea_output = 'hex'; "
    "set extra_float_digits = 1; set client_encoding = 'UTF8'; set standard_conforming_strings = on; "
    "set backslash_quote = safe_encoding; set array_nulls = on; set transform_null_equals = off; "
    "set quote_all_identifiers = off; set timezone_abbreviations = 'Default'; set lc_monetary = 'C'; "
    "set lc_numeric = 'C'; set lc_time = 'C'; set row_security = on; set idle_session_timeout = 0; "
    "set default_transaction_isolation = 'read committed'; set default_transaction_deferrable = off"
)
"""Settings that decide how values are read and written, and how transactions see each other."""
_TRANSACTION_TIMEOUT_SINCE = 170_000
_UNBOUNDED: LiteralString = "set transaction_timeout = 0; "
"""We limit statements, lock waits and idle transactions ourselves; ``transaction_timeout`` would end transactions that
stay within these limits.
"""
PINNED: LiteralString = READING + "; set search_path = pg_catalog, pg_temp"
"""``READING``, and the schemas in which names without a schema are looked up."""


def locally(statements: LiteralString) -> LiteralString:
    """Turns SET into SET LOCAL, for settings that end with the current transaction."""
    text: LiteralString = statements.replace("set ", "set local ")
    return text


PINNED_LOCALLY = locally(PINNED)

# With these settings, the server notices within half a minute that the client's machine has vanished, and releases the
# client's locks. They have no effect over a Unix socket.
KEPT_ALIVE_BY_THE_SERVER: LiteralString = (
    "set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3; "
)
# A worker's statements are short by design. One that takes this long has met a lock or a bad plan: an error and a new
# connection are better than a stuck worker.
WORKER: LiteralString = KEPT_ALIVE_BY_THE_SERVER + (
    "set statement_timeout = '30s'; set idle_in_transaction_session_timeout = '30s'; "
    "set enable_seqscan = off; set enable_bitmapscan = off; "
    "set enable_hashjoin = off; set enable_mergejoin = off; set jit = off; "
    "set plan_cache_mode = force_generic_plan; "
)
# A claim inserts successors into partitions that its own worker reads, so they need no notification, and no queue limit
# applies to them.
SILENT: LiteralString = "set pgsched.notify = off; set pgsched.unbounded = on; "
# A slow client may take up to two minutes to send a batch, all in one transaction.
REQUEST: LiteralString = (
    "set statement_timeout = '15s'; set lock_timeout = '10s'; "
    "set idle_in_transaction_session_timeout = '150s'; set jit = off; "
)
# Statements have no time limit, because how long a command takes depends on the request. The user who waits for it can
# interrupt it; the server then cancels the statement.
_COMMAND = (
    f"set statement_timeout = 0; set lock_timeout = '30s'; set idle_in_transaction_session_timeout = '5min'; "
    f"{KEPT_ALIVE_BY_THE_SERVER}set client_connection_check_interval = '2s'; {PINNED}"
)
# The execution's timeout limits how long a handler's transaction takes.
HANDLER: LiteralString = KEPT_ALIVE_BY_THE_SERVER + "set client_connection_check_interval = '2s'; "
# A request acts as the API's role, whatever else its login may do.
AS_API: LiteralString = "set role pgsched_api"
_REQUEST_AS_API: LiteralString = f"{REQUEST}{PINNED}; {AS_API}"
# Diagnosis of a server that may be in trouble should add little load.
DOCTOR_LOCALLY = locally("set statement_timeout = '3s'; set lock_timeout = '500ms'; set jit = off")
# The server notices that a client is gone, even in the middle of a function that never ends. The role's own
# ``search_path`` applies, because the role's functions look up names in it.
_CALL: LiteralString = (
    KEPT_ALIVE_BY_THE_SERVER
    + (
        "set statement_timeout = '30s'; set idle_in_transaction_session_timeout = '30s'; "
        "set client_connection_check_interval = '2s'; "
    )
    + READING
)
QUIETLY: LiteralString = "set local client_min_messages = warning"


def waiting_for_locks(patience: LiteralString) -> LiteralString:
    """Returns the SET statement that limits the session's waits for locks to this time, such as ``250ms``."""
    return f"set lock_timeout = '{patience}'; "


async def pin(connection: AsyncConnection[Any], more: LiteralString = "") -> None:
    """Applies the pinned settings to the session. The connection must be in autocommit, because an open transaction
    keeps its isolation level.

    ``more`` adds SET statements to the same round trip, each ending in a semicolon.
    """
    await _set(connection, more + PINNED)


async def pin_handler(connection: AsyncConnection[Any]) -> None:
    """Like ``pin``, but without the ``search_path``, for sessions in which handlers also look up names of their own."""
    await _set(connection, HANDLER + READING)


async def clear_handler(connection: AsyncConnection[Any]) -> None:
    """Clears everything that a handler left in a session, and applies the settings again."""
    await _set(connection, HANDLER + READING, after=statement("core/clear_session") + ";\n")


async def _set(connection: AsyncConnection[Any], statements: LiteralString, after: LiteralString = "") -> None:
    found = connection.autocommit
    if not found:
        await connection.set_autocommit(True)
    await connection.execute(after + _unbounded(connection) + statements, prepare=False)
    if not found:
        await connection.set_autocommit(False)


def _unbounded(connection: AsyncConnection[Any] | Connection[Any]) -> LiteralString:
    """Returns the statement that lifts ``transaction_timeout``, or "" for older servers, which lack the setting."""
    return _UNBOUNDED if connection.info.server_version >= _TRANSACTION_TIMEOUT_SINCE else ""


def command_locally(connection: AsyncConnection[Any] | Connection[Any]) -> LiteralString:
    """Returns a command's settings, for its transaction."""
    return locally(_unbounded(connection) + _COMMAND)


def session_of_command(connection: Connection[Any]) -> LiteralString:
    """Returns a command's settings for a whole session. Some work cannot be done in a transaction."""
    return _unbounded(connection) + _COMMAND


def request_locally(connection: AsyncConnection[Any]) -> LiteralString:
    """Returns a request's settings for its transaction, for connections that a pooler lends."""
    return locally(_unbounded(connection) + _REQUEST_AS_API)


def call(connection: AsyncConnection[Any]) -> LiteralString:
    """Returns the settings of a session in which a client's functions are called."""
    return _unbounded(connection) + _CALL
