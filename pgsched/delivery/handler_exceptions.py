"""What a handler raises to say what becomes of its attempt."""

from datetime import timedelta

from pgsched.delivery.channel import FinalFailure, OutcomeException, cut
from pgsched.domain.outcome import Failed, Postponed


class Retry(OutcomeException):
    """Raised by a handler: this attempt has failed, and the next comes when the policy says."""

    def __init__(self, reason: str = "the handler asked for another try") -> None:
        reason = cut(str(reason))
        super().__init__(reason, Failed(error=reason, retryable=True))


class Snooze(OutcomeException):
    """Raised by a handler that wants to be called again later. Nothing has failed, and the attempt does not count.

    ``after`` is from 1 second to 24 hours; anything but a timedelta is a TypeError. Unless the execution has bounds of
    its own, each time counts as a failed attempt from seven days after its instant on.
    """

    def __init__(self, after: timedelta, reason: str = "the handler asked for a later call") -> None:
        if not isinstance(after, timedelta):
            raise TypeError(f"after is a timedelta, and not {type(after).__name__}")
        reason = cut(str(reason))
        super().__init__(reason, Postponed(after=after, reason=reason))


class Fail(FinalFailure):
    """Raised by a handler: this execution has failed, and no further attempt would change that."""

    def __init__(self, reason: str = "the handler gave up") -> None:
        super().__init__(cut(str(reason)))
