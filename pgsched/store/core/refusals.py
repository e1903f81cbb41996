"""Turns database errors into pgsched's own, by SQLSTATE."""

from typing import Any

from pgsched.errors import (
    Conflict,
    InvalidInput,
    InvalidPayload,
    InvalidSchedule,
    PgschedError,
    Refused,
    SchemaMismatch,
    Unavailable,
    error_for_sqlstate,
)

_ANOTHER = (
    SchemaMismatch,
    "run pgsched migrate: it upgrades an older database, and says which release to install for a newer one",
)
ABORTED = (
    "an earlier statement in this transaction failed: roll back the transaction, or roll back to a savepoint, "
    "then schedule again"
)
_BUSY = (InvalidInput, "wait for the other statement, or use a connection for each task")
_BY_STATE: dict[str, tuple[type[PgschedError], str]] = {
    "22P05": (InvalidPayload, "leave out \\u0000, which PostgreSQL cannot store"),
    "22P02": (InvalidPayload, "write valid JSON (RFC 8259)"),
    "22003": (InvalidInput, "write a smaller number"),
    "22007": (InvalidSchedule, "write an instant such as 2026-03-01T09:00:00Z, or a duration such as PT10M"),
    "22008": (InvalidSchedule, "write an instant nearer to the present, or a shorter duration"),
    "54001": (InvalidPayload, "write a value that is nested less deeply"),
    "25P02": (InvalidInput, ABORTED),
    "25P03": (Unavailable, "the server ended the transaction because it was idle: repeat the transaction"),
    "25P04": (Unavailable, "the server ended the transaction because it took too long: repeat the transaction"),
    "23505": (Conflict, "another request did the same at the same moment: try again"),
    "42501": (
        Refused,
        "log in with a role that has the privilege: pgsched_client for your own clients' data, pgsched_reader to "
        "read everything, pgsched_worker to change settings",
    ),
    "42883": _ANOTHER,
    "42P01": _ANOTHER,
    "42703": _ANOTHER,
    "3F000": _ANOTHER,
}
_FULL = (Unavailable, "the notification queue is full because one session keeps it from being emptied: try again")
_BY_STATEMENT = (Unavailable, "let the pooler lend a connection for a whole transaction (pool_mode = transaction)")
_BY_CLASS: dict[str, tuple[type[PgschedError], str]] = {
    "22": (InvalidInput, "write a value that PostgreSQL can store"),
    "54": (InvalidInput, "shorten or simplify the request"),
    "08": (Unavailable, "try again"),
    "25": (Unavailable, "the database accepts no writes at the moment: try again"),
    "40": (Unavailable, "try again"),
    "53": (Unavailable, "the database is out of disk space, memory or connections: try again later"),
    "55": (Unavailable, "another transaction holds a lock: try again"),
    "57": (Unavailable, "try again"),
    "58": (Unavailable, "the database server reported a system error: try again"),
}


def refusal(error: Any) -> PgschedError | None:
    """Returns pgsched's error for a driver's error, or None if only a bug can explain it.

    Accepts errors of psycopg, psycopg2 and asyncpg, including those wrapped by SQLAlchemy. The message ends with what
    to do.
    """
    driver = getattr(error, "orig", None) or error
    state = getattr(driver, "sqlstate", None) or getattr(driver, "pgcode", None)
    if state is None:
        return _without_state(driver)
    message = _told(driver, "message_primary", "message") or str(driver)
    ours = error_for_sqlstate(state)
    if ours is not None:
        return ours(_sentence(message, _told(driver, "message_hint", "hint")))
    if state == "23514":
        return _broken_rule(_told(driver, "constraint_name", "constraint_name") or message)
    found = _BY_STATE.get(state) or _BY_CLASS.get(state[:2])
    if state == "54000" and "NOTIFY" in message:  # the keyword is never translated; other limits are the caller's fault
        found = _FULL
    elif state == "08P01" and "statement pooling" in message:
        found = _BY_STATEMENT
    return found[0](_sentence(message, found[1])) if found else None


def _told(driver: Any, name: str, of_asyncpg: str) -> str | None:
    """Returns a field of the server's error. When SQLAlchemy wraps asyncpg, asyncpg's error is the error's cause."""
    if (diag := getattr(driver, "diag", None)) is not None:
        return getattr(diag, name, None)
    return getattr(driver, of_asyncpg, None) or getattr(driver.__cause__, of_asyncpg, None)


def _without_state(driver: Any) -> PgschedError | None:
    """Like ``refusal``, for an error without an SQLSTATE: the request or the response was lost."""
    kinds = {kind.__name__ for kind in type(driver).__mro__}
    if "DataError" in kinds:  # asyncpg's DataError is also an InterfaceError
        return InvalidInput(_sentence(str(driver), "write a value that PostgreSQL can store"))
    if "in progress" in str(driver):
        return _BUSY[0](_sentence(str(driver), _BUSY[1]))
    if kinds & {"OperationalError", "InterfaceError"}:
        return Unavailable(_sentence(f"the database cannot be reached: {driver}".strip(), "try again"))
    return None


def _broken_rule(constraint: str) -> PgschedError:
    return InvalidInput(f"a value violates the rule: {constraint.replace('_', ' ')}")


def _sentence(message: str, advice: str | None) -> str:
    return f"{message}; {advice}" if advice else message
