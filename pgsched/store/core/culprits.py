"""Finds the row that made a batch fail, so that the others go on without it in the same turn.

A batch is one transaction over many rows of many clients: what one of them cannot take, fails all. It is then done by
halves, and these again, down to single rows. Of n rows k of which cannot be done, that takes about k log n of them, and
nothing where all goes well. What to do with a row that was found out is for the caller: one that is locked waits
(``is_a_lock``), any other is parked (``store.live.set_aside``).
"""

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import psycopg

from pgsched.errors import PgschedError

_PATIENCE = 5.0
# By class: values, rules, limits of the program, what a function raises, our own, corruption, and what others do to a
# row at the same moment. Not: connections, rights, names, room on disk or in memory, shutdown, which are no row's.
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

_PLACE = re.compile(r"\(\d+,\d+\)")  # of a row in its table; the server names it in every language

Row = TypeVar("Row")


class Culprit(NamedTuple, Generic[Row]):
    """A row that failed even alone, and its error."""

    row: Row
    error: Exception


@dataclass(slots=True)
class Parted(Generic[Row]):
    """What became of those that were not done. Nothing was tried with ``untried``: it took too long already."""

    culprits: list[Culprit[Row]] = field(default_factory=list)
    untried: list[Row] = field(default_factory=list)


def is_of_a_row(error: BaseException) -> bool:
    """Whether a single row can be at fault, and not the connection, the server or the statement."""
    if isinstance(error, psycopg.Error):
        state = error.sqlstate
        if state is None:
            return isinstance(error, psycopg.DataError)  # it never reached the server
        return state.startswith(_OF_A_ROW) or state in _LOCKS or state == _TOO_LONG
    return isinstance(error, _RAISED)


def is_a_lock(error: BaseException) -> bool:
    """Whether another transaction held a lock, so that the same may succeed a moment later."""
    return isinstance(error, psycopg.Error) and error.sqlstate in _LOCKS


def is_a_brief_lock(error: BaseException) -> bool:
    """Whether another transaction held a lock that is on no row, such as on the end of a table that many extend in
    turn. Nobody holds those for long, and to do the work by halves would take them more often: so it is done again."""
    return isinstance(error, psycopg.Error) and is_a_lock(error) and not _PLACE.search(error.diag.context or "")


def took_too_long(error: BaseException) -> bool:
    """Whether a statement was ended for taking too long."""
    return isinstance(error, psycopg.Error) and error.sqlstate == _TOO_LONG


async def by_halves(
    rows: Sequence[Row],
    work: Callable[[Sequence[Row]], Awaitable[None]],
    *,
    failed: Exception | None = None,
    patience: float = _PATIENCE,
) -> Parted[Row]:
    """Does the work with all rows but those with which it fails. ``failed`` is the error of having tried all at once.

    The work is done as a whole or, where it raises, not at all. Raises what is no row's fault.
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
    """One line for the owner of the row, which the database can store."""
    return clean(" ".join(str(error).split()))[:500] or type(error).__name__


def clean(text: str) -> str:
    """The text as the database can store it."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()
