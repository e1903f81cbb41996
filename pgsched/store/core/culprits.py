"""Finds the row that made a batch fail, so that the rest of the batch can continue in the same pass.

A batch is one transaction over many rows of many clients, so one bad row makes all of them fail. A failed batch is
split in half repeatedly, down to single rows. Finding k bad rows among n takes about k log n transactions. The caller
decides what to do with a bad row.
"""

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import psycopg

from pgsched.errors import PgschedError

_PATIENCE = 5.0
# SQLSTATE classes that a single row can cause: invalid values, broken constraints, program limits, errors raised by
# functions (ours included), corruption, and conflicts with concurrent transactions. Not included: connections,
# privileges, unknown names, lack of disk or memory, shutdown.
_OF_A_ROW = ("21", "22", "23", "27", "2F", "38", "39", "40", "44", "54", "P0", "PS", "XX")
_LOCKS = frozenset({"55P03", "40001", "40P01"})
_TOO_LONG = "57014"
_RAISED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    PgschedError,
    RecursionError,
    TypeError,
    ValueError,
)

# A row's position in its table, which the server writes in the same form in every language.
_PLACE = re.compile(r"\(\d+,\d+\)")

Row = TypeVar("Row")


class Culprit(NamedTuple, Generic[Row]):
    """A row that failed even alone, and its error."""

    row: Row
    error: Exception


@dataclass(slots=True)
class Parted(Generic[Row]):
    """The rows that were not processed: the culprits, and those left ``untried`` because time ran out."""

    culprits: list[Culprit[Row]] = field(default_factory=list)
    untried: list[Row] = field(default_factory=list)


def is_of_a_row(error: BaseException) -> bool:
    """Whether a single row can be at fault, rather than the connection, the server or the statement."""
    if isinstance(error, psycopg.Error):
        state = error.sqlstate
        if state is None:
            return isinstance(error, psycopg.DataError)  # the statement never reached the server
        return state.startswith(_OF_A_ROW) or state in _LOCKS or state == _TOO_LONG
    return isinstance(error, _RAISED)


def is_a_lock(error: BaseException) -> bool:
    """Whether the statement failed because another transaction held a lock: a retry may succeed a moment later."""
    return isinstance(error, psycopg.Error) and error.sqlstate in _LOCKS


def is_a_brief_lock(error: BaseException) -> bool:
    """Whether the statement failed because of a lock that is not on a row, such as the lock to extend a table. Such
    locks are brief, and a split batch would take them more often, so the whole batch is retried."""
    return isinstance(error, psycopg.Error) and is_a_lock(error) and not _PLACE.search(error.diag.context or "")


def took_too_long(error: BaseException) -> bool:
    """Whether a statement was cancelled because it took too long."""
    return isinstance(error, psycopg.Error) and error.sqlstate == _TOO_LONG


async def by_halves(
    rows: Sequence[Row],
    work: Callable[[Sequence[Row]], Awaitable[None]],
    *,
    failed: Exception | None = None,
    patience: float = _PATIENCE,
) -> Parted[Row]:
    """Does the work for all rows except those that make it fail. ``failed`` is the error of an earlier attempt with all
    rows.

    ``work`` must be atomic: if it raises, it has changed nothing. Raises any error that no single row can cause.
    """
    parted = Parted[Row]()
    end = time.monotonic() + patience
    parts = [list(rows)]
    while parts:
        part = parts.pop()
        if time.monotonic() > end:
            parted.untried += part
            continue
        error, failed = failed or await _attempt(work, part), None
        if error is None or not part:
            continue
        if len(part) == 1:
            parted.culprits.append(Culprit(part[0], error))
        else:
            middle = len(part) // 2
            parts += [part[middle:], part[:middle]]
    return parted


async def _attempt(work: Callable[[Sequence[Row]], Awaitable[None]], part: Sequence[Row]) -> Exception | None:
    try:
        await work(part)
    except Exception as error:
        if not is_of_a_row(error):
            raise
        return error
    return None


def reason_of(error: Exception) -> str:
    """Returns the error as one line for the row's owner, in a form that the database can store."""
    return clean(" ".join(str(error).split()))[:500] or type(error).__name__


def clean(text: str) -> str:
    """Returns the text without characters that the database cannot store."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()
