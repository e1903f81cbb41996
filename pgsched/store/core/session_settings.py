"""What the sessions of pgsched set for themselves, whatever the server, the database or its role are set to.

An operator may give a database another ``datestyle``, and a tenant who may create in a schema of the ``search_path``
may give ``=`` another meaning for our types. Neither may change what our statements mean or how answers are read.
It is set after connecting, for connection poolers refuse what a startup packet has in ``options``, and by statements in
which nothing is looked up by name. How commits are flushed, and whether a database takes writes at all, is left to the
operator.

What is set for a session stays with the server's connection, and a pooler may give that to somebody else after each
transaction. So only workers, which need sessions in any case, and connections that nobody else gets set it for a
session; whatever else reaches the database sets it for each transaction.
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
"""Connection parameters by which a session notices within seconds that its server is gone."""

READING: LiteralString = (
    "set timezone = 'UTC'; set datestyle = 'ISO, MDY'; set intervalstyle = 'postgres'; set bytea_output = 'hex'; "
    "set extra_float_digits = 1; set client_encoding = 'UTF8'; set standard_conforming_strings = on; "
    "set backslash_quote = safe_encoding; set array_nulls = on; set transform_null_equals = off; "
    "set quote_all_identifiers = off; set timezone_abbreviations = 'Default'; set lc_monetary = 'C'; "
    "set lc_numeric = 'C'; set lc_time = 'C'; set row_security = on; set idle_session_timeout = 0; "
    "set default_transaction_isolation = 'read committed'; set default_transaction_deferrable = off"
)
"""What decides how values are read and written, and how transactions see each other."""
_TRANSACTION_TIMEOUT_SINCE = 170_000
_UNBOUNDED: LiteralString = "set transaction_timeout = 0; "
"""For statements, locks and idle transactions there are bounds of our own; this one would end what is within them."""
PINNED: LiteralString = READING + "; set search_path = pg_catalog, pg_temp"
"""That, and where names without a schema are looked up."""


def locally(statements: LiteralString) -> LiteralString:
    """The same SET statements for a transaction that has begun: they end with it."""
    text: LiteralString = statements.replace("set ", "set local ")
    return text


PINNED_LOCALLY = locally(PINNED)

# By this a server notices within half a minute that the machine of its client has vanished, and lets go of what that
# had locked. Over a Unix socket it is without effect.
KEPT_ALIVE_BY_THE_SERVER: LiteralString = (
    "set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3; "
)
# The statements of a worker's role are short by construction. One that is not has met a lock or a bad plan: better an
# error and a new connection than a worker that stands still.
WORKER: LiteralString = KEPT_ALIVE_BY_THE_SERVER + (
    "set statement_timeout = '30s'; set idle_in_transaction_session_timeout = '30s'; "
    "set enable_seqscan = off; set enable_bitmapscan = off; "
    "set enable_hashjoin = off; set enable_mergejoin = off; set jit = off; "
    "set plan_cache_mode = force_generic_plan; "
)
# What a claim inserts (successors) goes into a partition that its own worker reads: nobody has to be notified, and no
# queue is too full for it.
SILENT: LiteralString = "set pgsched.notify = off; set pgsched.unbounded = on; "
# A batch may be read for two minutes, in one transaction, from a client who sends it slowly.
REQUEST: LiteralString = (
    "set statement_timeout = '15s'; set lock_timeout = '10s'; "
    "set idle_in_transaction_session_timeout = '150s'; set jit = off; "
)
# Somebody waits for a command, and can end it; then the server ends its statement. How long that takes depends on what
# is asked.
_COMMAND = (
    f"set statement_timeout = 0; set lock_timeout = '30s'; set idle_in_transaction_session_timeout = '5min'; "
    f"{KEPT_ALIVE_BY_THE_SERVER}set client_connection_check_interval = '2s'; {PINNED}"
)
# How long a handler's transaction takes is for its execution's timeout to bound.
HANDLER: LiteralString = KEPT_ALIVE_BY_THE_SERVER + "set client_connection_check_interval = '2s'; "
# Whatever else its login may do, a request does as the API.
AS_API: LiteralString = "set role pgsched_api"
_REQUEST_AS_API: LiteralString = f"{REQUEST}{PINNED}; {AS_API}"
# What looks after a server that may be in trouble adds little to it.
DOCTOR_LOCALLY = locally("set statement_timeout = '3s'; set lock_timeout = '500ms'; set jit = off")
# A server notices by itself that a client is gone, also in the middle of a function that would never end. Names are
# looked up as the role has it: they are those in its functions, and none of ours.
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
    """How long a statement of the session waits for a lock, such as ``250ms``."""
    return f"set lock_timeout = '{patience}'; "


async def pin(connection: AsyncConnection[Any], more: LiteralString = "") -> None:
    """Sets it for the session, in autocommit: a transaction that is open keeps the isolation that it began with.

    ``more`` are further SET statements for the same round trip, each ending in a semicolon."""
    await _set(connection, more + PINNED)


async def pin_handler(connection: AsyncConnection[Any]) -> None:
    """The same without the ``search_path``, for sessions in which handlers look their own names up besides ours."""
    await _set(connection, HANDLER + READING)


async def clear_handler(connection: AsyncConnection[Any]) -> None:
    """Clears a session in which a handler has worked of all that it left there, and sets it anew."""
    await _set(connection, HANDLER + READING, after=statement("core/clear_session") + ";\n")


async def _set(connection: AsyncConnection[Any], statements: LiteralString, after: LiteralString = "") -> None:
    found = connection.autocommit
    if not found:
        await connection.set_autocommit(True)
    await connection.execute(after + _unbounded(connection) + statements, prepare=False)
    if not found:
        await connection.set_autocommit(False)


def _unbounded(connection: AsyncConnection[Any] | Connection[Any]) -> LiteralString:
    """Older servers do not know the setting."""
    return _UNBOUNDED if connection.info.server_version >= _TRANSACTION_TIMEOUT_SINCE else ""


def command_locally(connection: AsyncConnection[Any] | Connection[Any]) -> LiteralString:
    """What a command sets for its transaction."""
    return locally(_unbounded(connection) + _COMMAND)


def session_of_command(connection: Connection[Any]) -> LiteralString:
    """The same for a session of its own, for what cannot be done in a transaction."""
    return _unbounded(connection) + _COMMAND


def request_locally(connection: AsyncConnection[Any]) -> LiteralString:
    """What a request sets for its transaction where a pooler lends the connection."""
    return locally(_unbounded(connection) + _REQUEST_AS_API)


def call(connection: AsyncConnection[Any]) -> LiteralString:
    """What is set for a session in which a client's functions are called."""
    return _unbounded(connection) + _CALL
