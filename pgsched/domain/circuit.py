"""Decides when a target counts as failing, so that pgsched stops calling it.

Attempts are counted from the first failure on, in windows of a few seconds. A target is failing when enough
of its attempts have failed, in number and in proportion, or when it asks for a pause (429 or 503 with Retry-After).
"""

from dataclasses import dataclass
from datetime import timedelta

from pgsched.domain.outcome import LONGEST_RETRY_AFTER, Deferred, Failed, Outcome, Succeeded

WINDOW = 10.0
"""Seconds over which attempts are counted."""
_SHARE = 0.5
_BUSY = frozenset({429, 503})


@dataclass(slots=True, kw_only=True)
class Window:
    """The attempts at one target for one client since ``began`` (monotonic seconds). ``failing_since`` is when the
    first failed after the last that did not, which may be before the window; None where the last one did not fail."""

    began: float
    attempts: int = 0
    failures: int = 0
    failing_since: float | None = None

    def count(self, now: float, *, ill: bool) -> None:
        """Counts an attempt that has ended now."""
        self.attempts += 1
        self.failures += ill
        if not ill:
            self.failing_since = None
        elif self.failing_since is None:
            self.failing_since = now

    def fails(self, after: int) -> bool:
        """Whether at least so many attempts failed, and at least half of all."""
        return self.failures >= after and self.failures >= _SHARE * self.attempts


def is_target_fault(outcome: Outcome) -> bool:
    """Whether an outcome is a fault of the target rather than of what it was asked. A failure for good without a status
    is neither: the target was never called, as at an address to which this worker may not go."""
    if type(outcome) is not Failed:
        return False
    if outcome.status_code is None:
        return outcome.retryable
    return outcome.status_code >= 500 or outcome.status_code == 429


def is_healthy(outcome: Outcome) -> bool:
    """Whether the target did what it was asked, or said that it never will."""
    if type(outcome) is Failed:
        return outcome.status_code is not None and not is_target_fault(outcome)
    return type(outcome) in (Succeeded, Deferred)


def asked_pause(outcome: Outcome) -> timedelta | None:
    """The pause that the target asked for."""
    if type(outcome) is not Failed or outcome.status_code not in _BUSY or not outcome.retry_after:
        return None
    return min(outcome.retry_after, LONGEST_RETRY_AFTER)
