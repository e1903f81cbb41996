"""Says in the log why handlers failed: each failed attempt with its traceback, as long as there are not too many.

The row keeps the last line of it, as its reason; where in the application that came from is known here only.
"""

import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from pgsched.delivery.channel import describe
from pgsched.domain.execution import Execution
from pgsched.events import Events

LONGEST_TRACEBACK = 6_000
"""Characters of a traceback that are told; the last ones."""
_AT_ONCE, _A_SECOND = 10.0, 1.0
_LONGEST_REASON = 500
_DEEPEST = 40
_OURS = str(Path(__file__).parent)


@dataclass(slots=True)
class _Allowance:
    """What may be told of one target, and what was not."""

    left: float
    since: float
    untold: int = 0


class Failures:
    """Tells of ten failures of a target at once and of one a second after that, each with how many were not told of
    since the one before."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._allowances: dict[str, _Allowance] = {}

    def note(self, execution: Execution, error: BaseException, reason: str | None = None) -> None:
        """An attempt failed by this exception; ``reason`` is why, where the exception does not say it."""
        allowance = self._allowance_of(execution.target)
        if allowance.left < 1.0:
            allowance.untold += 1
            return
        allowance.left -= 1.0
        untold, allowance.untold = allowance.untold, 0
        self._events.emit(
            "handler.failed",
            target=execution.target,
            execution=execution.uuid,
            client=execution.client_id,
            attempt=execution.attempt,
            reason=(reason or describe(error))[:_LONGEST_REASON],
            untold=untold,
            traceback=_traceback(error),
        )

    def _allowance_of(self, target: str) -> _Allowance:
        now = time.monotonic()
        found = self._allowances.get(target)
        if found is None:
            found = self._allowances[target] = _Allowance(_AT_ONCE, now)
        found.left = min(_AT_ONCE, found.left + (now - found.since) * _A_SECOND)
        found.since = now
        return found


def _traceback(error: BaseException) -> str:
    """From where the application's own code begins. Never raises."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None and at.tb_frame.f_code.co_filename.startswith(_OURS):
        at = at.tb_next
    try:
        lines = traceback.TracebackException(type(error), error, at, limit=-_DEEPEST, compact=True).format()
        return "".join(lines)[-LONGEST_TRACEBACK:]
    except Exception:
        return "(no traceback can be made of it)"
