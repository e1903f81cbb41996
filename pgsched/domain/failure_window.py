"""Decides when a target is failing, so that pgsched stops calling it.

Attempts are counted per path and per host, in windows of a few seconds that begin with a failure. A path is failing
when enough of its attempts have failed, in number and in proportion, or when it asks for a pause (429 or 503 with
Retry-After). A host is failing when its paths together meet this condition and several of them, at least half of those
called, are failing. One path's responses say nothing about other paths.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta

from pgsched.domain.attempt_outcome import LONGEST_RETRY_AFTER, Deferred, Failed, Outcome, Succeeded

WINDOW = 10.0
"""Length of a window, in seconds."""
OF_A_HOST = 3
"""Number of paths that must be failing before their host counts as failing."""
_BUSY = frozenset({429, 503})


@dataclass(slots=True, kw_only=True)
class Window:
    """One client's attempts at one target since ``began`` (monotonic seconds). ``failing_since`` is the time of the
    first failure since the last success, which may be before the window, or None if the last attempt did not fail.
    ``pauses`` are the pauses that paths have asked for. A path is ``healthy`` if at least one attempt at it did not
    fail.
    """

    began: float
    attempts: int = 0
    failures: int = 0
    failing_since: float | None = None
    failing: set[str] = field(default_factory=set)
    healthy: set[str] = field(default_factory=set)
    pauses: dict[str, timedelta] = field(default_factory=dict)

    def count(self, now: float, path: str, *, ill: bool, pause: timedelta | None = None) -> None:
        """Counts an attempt that has just ended."""
        self.attempts += 1
        self.failures += ill
        if pause is not None:
            self.pauses[path] = pause
        if not ill:
            self.failing_since = None
            self.healthy.add(path)
        else:
            self.failing.add(path)
            if self.failing_since is None:
                self.failing_since = now

    def fails(self, after: int, *, paths: int = 1) -> bool:
        """Whether at least ``after`` attempts, and at least half of all attempts, have failed. If ``paths`` is more
        than 1, at least that many paths must also be failing, and no fewer than are healthy."""
        return self.failures >= after and 2 * self.failures >= self.attempts and self._is_of(self.failing, paths)

    def pause(self, *, paths: int = 1) -> timedelta | None:
        """Returns the shortest requested pause, or None if none was requested. If ``paths`` is more than 1, at least
        that many paths must have requested a pause, and at least as many as are healthy.
        """
        return min(self.pauses.values()) if self.pauses and self._is_of(self.pauses, paths) else None

    def _is_of(self, concerned: Collection[str], paths: int) -> bool:
        if paths == 1:
            return True
        ill = sum(path not in self.healthy for path in concerned)
        return ill >= max(paths, len(self.healthy))


def is_target_fault(outcome: Outcome) -> bool:
    """Whether an outcome is the target's fault. A permanent failure without a status is not, because the target was
    never called."""
    if type(outcome) is not Failed:
        return False
    if outcome.status_code is None:
        return outcome.retryable
    return outcome.status_code >= 500 or outcome.status_code == 429


def is_healthy(outcome: Outcome) -> bool:
    """Whether the outcome shows a working target: one that did what it was asked, or refused the request."""
    if type(outcome) is Failed:
        return outcome.status_code is not None and not is_target_fault(outcome)
    return type(outcome) in (Succeeded, Deferred)


def asked_pause(outcome: Outcome) -> timedelta | None:
    """Returns the pause that the target asked for, or None if it did not ask for one."""
    if type(outcome) is not Failed or outcome.status_code not in _BUSY or not outcome.retry_after:
        return None
    return min(outcome.retry_after, LONGEST_RETRY_AFTER)
