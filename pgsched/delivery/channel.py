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
from pgsched.domain.outcome import Failed, Outcome
from pgsched.domain.policy import Options
from pgsched.errors import PgschedError


class Channel(Protocol):
    """A way of delivering."""

    async def deliver(self, execution: Execution, options: Options, deadline: float) -> Outcome:
        """One attempt. ``deadline`` is how many seconds from now the caller waits before it cancels. Raises NoPlace
        where it cannot begin now."""
        ...

    async def close(self) -> None:
        """Gives back what the channel holds open. Attempts must have ended before."""
        ...


class Completion(Protocol):
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
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, Verdict):
            return cause.outcome
        cause = cause.__cause__
    return Failed(error=describe(error), retryable=True)


def describe(error: BaseException) -> str:
    """An exception in one line: its class and what it says. Never raises."""
    try:
        said = str(error)
    except Exception:
        said = "(it cannot say what it means)"
    if isinstance(error, PgschedError):
        return said
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
