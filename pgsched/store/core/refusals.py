"""Turns the database's errors into pgsched's: SQLSTATEs become classes."""

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
    "run pgsched migrate: it upgrades an older database, and says what to install for a newer one",
)
ABORTED = "an earlier statement has failed in this transaction: roll it back, or to a savepoint, and schedule again"
_BUSY = (InvalidInput, "wait for the other statement, or use a connection for each task")
_BY_STATE: dict[str, tuple[type[PgschedError], str]] = {
    "22P05": (InvalidPayload, "leave \\u0000 out, PostgreSQL cannot store it"),
    "22P02": (InvalidPayload, "write JSON as RFC 8259 has it"),
    "22003": (InvalidInput, "write a smaller number"),
    "22007": (InvalidSchedule, "write an instant such as 2026-03-01T09:00:00Z, or a duration such as PT10M"),
    "22008": (InvalidSchedule, "write an instant or duration nearer to the present"),
    "54001": (InvalidPayload, "nest it less deeply"),
    "25P02": (InvalidInput, ABORTED),
    "25P03": (Unavailable, "the server ended the transaction, which was idle: do its work again"),
    "25P04": (Unavailable, "the server ended the transaction, which took too long: do its work again"),
    "23505": (Conflict, "another request did the same at this moment: try again"),
    "42501": (
        Refused,
        "log in with a role that may: pgsched_client for what your own clients have, pgsched_reader to look at "
        "everything, pgsched_worker to change settings",
    ),
    "42883": _ANOTHER,
    "42P01": _ANOTHER,
    "42703": _ANOTHER,
    "3F000": _ANOTHER,
}
_FULL = (Unavailable, "somebody keeps it from being read, and so from being emptied: try again")
_BY_STATEMENT = (Unavailable, "let the pooler lend connections for a transaction or a session: pool_mode = transaction")
_BY_CLASS: dict[str, tuple[type[PgschedError], str]] = {
    "22": (InvalidInput, "write a value that PostgreSQL can store"),
    "54": (InvalidInput, "write less"),
    "08": (Unavailable, "try again"),
    "25": (Unavailable, "the database takes no writes now: try again"),
    "40": (Unavailable, "try again"),
    "53": (Unavailable, "the database has no room: try again later"),
    "55": (Unavailable, "a lock is held by another: try again"),
    "57": (Unavailable, "try again"),
    "58": (Unavailable, "the database's own machine fails it: try again"),
}


def refusal(error: Any) -> PgschedError | None:
    """The error of pgsched for a driver's error; None for one that only a bug explains.

    Takes what psycopg, psycopg2 and asyncpg raise, and what SQLAlchemy wraps around it. Messages end in what to do.
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
    if state == "54000" and "NOTIFY" in message:  # a keyword in all languages; other limits are the caller's own doing
        found = _FULL
    elif state == "08P01" and "statement pooling" in message:
        found = _BY_STATEMENT
    return found[0](_sentence(message, found[1])) if found else None


def _told(driver: Any, name: str, of_asyncpg: str) -> str | None:
    """What the server told besides; SQLAlchemy's error over asyncpg has that of asyncpg as its cause."""
    if (diag := getattr(driver, "diag", None)) is not None:
        return getattr(diag, name, None)
    return getattr(driver, of_asyncpg, None) or getattr(driver.__cause__, of_asyncpg, None)


def _without_state(driver: Any) -> PgschedError | None:
    """Errors that never reached the server, or never came back from it."""
    kinds = {kind.__name__ for kind in type(driver).__mro__}
    if "DataError" in kinds:  # an InterfaceError too, where it is asyncpg's
        return InvalidInput(_sentence(str(driver), "write a value that PostgreSQL can store"))
    if "in progress" in str(driver):
        return _BUSY[0](_sentence(str(driver), _BUSY[1]))
    if kinds & {"OperationalError", "InterfaceError"}:
        return Unavailable(_sentence(f"the database cannot be reached: {driver}".strip(), "try again"))
    return None


def _broken_rule(constraint: str) -> PgschedError:
    return InvalidInput(f"the database refuses a value; its rule is: {constraint.replace('_', ' ')}")


def _sentence(message: str, advice: str | None) -> str:
    return f"{message}; {advice}" if advice else message
