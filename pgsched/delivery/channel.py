"""What every way of delivering has in common.

A channel takes one execution to its target and answers with an Outcome. It never raises, except
CancelledError when its caller ends the attempt, and NoPlace before anything has begun: each channel catches whatever
happens and has ``outcome_of`` say what it means, so that there is one place where exceptions become outcomes.
"""

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from psycopg import AsyncConnection

from pgsched.delivery.places import Places
from pgsched.domain.execution import Execution
from pgsched.domain.outcome import LONGEST_ERROR, Failed, Outcome
from pgsched.domain.policy import Options
from pgsched.errors import PgschedError

MOST_CAUSES = 20
"""Exceptions of a chain that are looked at: a chain may be endless."""


class Channel(Protocol):
    """A way of delivering."""

    async def deliver(self, execution: Execution, options: Options, deadline: float) -> Outcome:
        """One attempt. ``deadline`` is how many seconds from now the caller waits before it cancels. Raises NoPlace
        where it cannot begin now."""
        ...

    async def close(self) -> None:
        """Gives back what the channel holds open. Attempts must have ended before."""
        ...


class CompletingConnections(Protocol):
    """Lends connections on which an execution's completion commits, as many at once as there are ``places``."""

    places: Places

    def settle_in_transaction(self, execution: Execution) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """A connection in a transaction. Leaving it normally records the success there, and commits.

        Raises StaleLease, with everything undone, when the execution was leased anew meanwhile; leaving by an
        exception undoes everything too.
        """
        ...


class Verdict(Exception):
    """An exception that knows which outcome it stands for."""

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


def outcome_of(error: BaseException) -> Outcome:
    """What an exception stands for: its own outcome, its cause's, or else a failure worth another try.

    A stale lease needs no outcome of its own: whatever is settled under its token is refused.
    """
    return declared(error) or Failed(error=describe(error), retryable=True)


def declared(error: BaseException) -> Outcome | None:
    """The outcome that an exception, or what it was raised from, knows itself."""
    cause: BaseException | None = error
    for _ in range(MOST_CAUSES):
        if cause is None:
            break
        if issubclass(type(cause), Verdict):
            found = vars(cause).get("outcome")
            return found if isinstance(found, Outcome) else None
        cause = cause_of(cause)
    return None


def cause_of(error: BaseException) -> BaseException | None:
    """From what it was raised; its class may say something else of it."""
    return _CAUSE.__get__(error)  # type: ignore[no-any-return]


def describe(error: BaseException) -> str:
    """An exception in one line: its class and what it says, which may be code of a handler's. Never raises, and answers
    with no more than is kept of an error."""
    try:
        said = cut(str(error))
    except BaseException:
        said = "(it cannot say what it means)"
    kind = type(error)
    if issubclass(kind, PgschedError):
        return said
    name = cut(_NAME.__get__(kind))
    return cut(f"{name}: {said}") if said else name


def cut(text: str) -> str:
    """As much of a text as is kept; a plain string, whatever it was."""
    return str.__getitem__(text, slice(LONGEST_ERROR))


_CAUSE = BaseException.__dict__["__cause__"]
_NAME = type.__dict__["__name__"]
