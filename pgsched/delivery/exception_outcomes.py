"""Maps exceptions to outcomes. Channels and handlers raise some exceptions on purpose; all others are failures."""

from collections.abc import Iterator
from datetime import timedelta

from pgsched.domain.attempt_outcome import LONGEST_ERROR, Failed, Outcome, Postponed
from pgsched.errors import PgschedError

MOST_CAUSES = 20
"""Maximum number of exceptions examined in a chain of causes, which may be circular."""
MOST_MEMBERS = 1_000
"""Maximum number of exceptions examined in a group, including its nested groups."""


class OutcomeException(Exception):
    """An exception that carries the outcome of the attempt."""

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


class FinalFailure(OutcomeException):
    """A failure that another attempt would only repeat."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Failed(error=message, retryable=False))


class Retry(OutcomeException):
    """Raised by a handler if the attempt has failed. The retry policy decides whether there is another attempt."""

    def __init__(self, reason: str = "the handler asked for another attempt") -> None:
        reason = cut(str(reason))
        super().__init__(reason, Failed(error=reason, retryable=True))


class Snooze(OutcomeException):
    """Raised by a handler that wants to be called again later. The attempt neither fails nor counts.

    ``after`` is clamped to the range from 1 second to 24 hours. Raises TypeError unless ``after`` is a timedelta. If an
    execution has no time limits of its own, snoozes count as failed attempts once seven days have passed since its
    instant.
    """

    def __init__(self, after: timedelta, reason: str = "the handler asked to be called again later") -> None:
        if not isinstance(after, timedelta):
            raise TypeError(f'the argument "after" must be a timedelta, not {type(after).__name__}')
        reason = cut(str(reason))
        super().__init__(reason, Postponed(after=after, reason=reason))


class Fail(FinalFailure):
    """Raised by a handler if the execution has failed and another attempt would not help."""

    def __init__(self, reason: str = "the handler gave up") -> None:
        super().__init__(cut(str(reason)))


def outcome_of(error: BaseException) -> Outcome:
    """Returns the outcome that an exception declares, or else a retryable failure. A stale lease needs no special
    outcome, because settling with a stale token is refused anyway."""
    return declared(error) or Failed(error=describe(error), retryable=True)


def declared(error: BaseException) -> Outcome | None:
    """Returns the outcome that an exception or one of its causes carries, or None if there is none.

    For a group, combines the outcomes of its members. A final failure takes precedence, followed by any other failure.
    If all members ask to be called later, the longest delay counts.
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
    """Yields the outcome that the exception carries. If there is none, yields the outcomes of its cause and group
    members, with None for each exception without an outcome."""
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
    """Returns the exceptions in a group, or nothing for any other exception."""
    return _MEMBERS.__get__(error) if issubclass(type(error), BaseExceptionGroup) else ()


def cause_of(error: BaseException) -> BaseException | None:
    """Returns the cause of an exception, even if its class overrides ``__cause__``."""
    return _CAUSE.__get__(error)  # type: ignore[no-any-return]


def describe(error: BaseException) -> str:
    """Describes an exception by its class and message, cut to the length of a stored error. Never raises, even if the
    exception's own code fails to produce the message."""
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
    """Returns the part of a text that is stored, as a plain str even if the text is an instance of a subclass."""
    return str.__getitem__(text, slice(LONGEST_ERROR))


_MEMBERS = BaseExceptionGroup.__dict__["exceptions"]
_CAUSE = BaseException.__dict__["__cause__"]
_NAME = type.__dict__["__name__"]
