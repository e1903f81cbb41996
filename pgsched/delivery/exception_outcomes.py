"""Maps exceptions to outcomes: those that channels and handlers raise on purpose, and all others."""

from collections.abc import Iterator
from datetime import timedelta

from pgsched.domain.attempt_outcome import LONGEST_ERROR, Failed, Outcome, Postponed
from pgsched.errors import PgschedError

MOST_CAUSES = 20
"""The most exceptions of a chain that are examined, because a chain may be endless."""
MOST_MEMBERS = 1_000
"""The most exceptions of a group that are examined, because groups may contain groups."""


class OutcomeException(Exception):
    """An exception that carries its outcome."""

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


class FinalFailure(OutcomeException):
    """A failure that another attempt would only repeat."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Failed(error=message, retryable=False))


class Retry(OutcomeException):
    """Raised by a handler: this attempt has failed, and the retry policy decides on the next one."""

    def __init__(self, reason: str = "the handler asked for another attempt") -> None:
        reason = cut(str(reason))
        super().__init__(reason, Failed(error=reason, retryable=True))


class Snooze(OutcomeException):
    """Raised by a handler that wants to be called again later. Nothing has failed, and the attempt does not count.

    ``after`` is from 1 second to 24 hours; anything but a timedelta is a TypeError. Unless the execution has its own
    bounds, each snooze counts as a failed attempt from seven days after its instant.
    """

    def __init__(self, after: timedelta, reason: str = "the handler asked to be called again later") -> None:
        if not isinstance(after, timedelta):
            raise TypeError(f"after must be a timedelta, not {type(after).__name__}")
        reason = cut(str(reason))
        super().__init__(reason, Postponed(after=after, reason=reason))


class Fail(FinalFailure):
    """Raised by a handler: this execution has failed, and no further attempt would change that."""

    def __init__(self, reason: str = "the handler gave up") -> None:
        super().__init__(cut(str(reason)))


def outcome_of(error: BaseException) -> Outcome:
    """The outcome that an exception declares, or else a retryable failure.

    A stale lease needs no special outcome: whatever is settled with its token is refused.
    """
    return declared(error) or Failed(error=describe(error), retryable=True)


def declared(error: BaseException) -> Outcome | None:
    """The outcome carried by an exception, by one of its causes, or by the members of a group together. None if there
    is none.

    In a group, a final failure takes precedence, then any other failure. If all members ask to be called later, the
    longest wait counts.
    """
    told = list(_told(error))
    if len(told) == 1:
        return told[0]
    failures = [one for one in told if not isinstance(one, Postponed)]
    if not failures:
        return max((one for one in told if isinstance(one, Postponed)), key=lambda one: one.after, default=None)
    final = [one for one in failures if isinstance(one, Failed) and not one.retryable]
    return next((one for one in final + failures if one is not None), None)


def _told(error: BaseException) -> Iterator[Outcome | None]:
    """Yields the outcome, or None, of the exception, or else of the last of its causes and each member of its group."""
    waiting, examined = [(error, MOST_CAUSES)], 0
    while waiting and examined < MOST_MEMBERS:
        one, left = waiting.pop()
        examined += 1
        cause = cause_of(one)
        inner = members_of(one)[:MOST_MEMBERS] + (() if cause is None else (cause,))
        if issubclass(type(one), OutcomeException):
            found = vars(one).get("outcome")
            yield found if isinstance(found, Outcome) else None
        elif inner and left > 1:
            waiting += [(other, left - 1) for other in reversed(inner)]
        else:
            yield None


def members_of(error: BaseException) -> tuple[BaseException, ...]:
    """The exceptions of a group; empty for any other exception."""
    return _MEMBERS.__get__(error) if issubclass(type(error), BaseExceptionGroup) else ()


def cause_of(error: BaseException) -> BaseException | None:
    """The cause of an exception, even if its class overrides ``__cause__``."""
    return _CAUSE.__get__(error)  # type: ignore[no-any-return]


def describe(error: BaseException) -> str:
    """An exception in one line: its class and message, cut to the length of a stored error. Never raises, although the
    handler's code may produce the message."""
    try:
        said = cut(str(error))
    except BaseException:
        said = "(its message cannot be read)"
    kind = type(error)
    if issubclass(kind, PgschedError):
        return said
    name = cut(_NAME.__get__(kind))
    return cut(f"{name}: {said}") if said else name


def cut(text: str) -> str:
    """The part of a text that is stored, as a plain string even if the text is of a subclass."""
    return str.__getitem__(text, slice(LONGEST_ERROR))


_MEMBERS = BaseExceptionGroup.__dict__["exceptions"]
_CAUSE = BaseException.__dict__["__cause__"]
_NAME = type.__dict__["__name__"]
