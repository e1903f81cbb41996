"""Logs why handlers failed: each failed attempt with its traceback, as long as there are not too many.

The row keeps only the last line, as its reason; the log also says where in the application the failure came from.

The message of an exception comes from the handler's code: it may be hundreds of megabytes, take long, or raise in turn,
and a chain of causes may be thousands long or lead back to its beginning. So each message is read once, where the
exception was caught (``Raised``), and only the first exceptions of a chain are examined.
"""

import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pgsched.delivery.channel import cause_of, declared, describe
from pgsched.domain.execution import Execution
from pgsched.domain.outcome import Failed, Outcome
from pgsched.events import Events

LONGEST_TRACEBACK = 6_000
"""Characters of a traceback that are logged, counted from its end."""
_AT_ONCE, _A_SECOND = 10.0, 1.0
_LONGEST_REASON = 500
_DEEPEST = 40
_MOST_TOLD = 8
_OURS = str(Path(__file__).parent)
_CONTEXT = BaseException.__dict__["__context__"]
_IS_SUPPRESSED = BaseException.__dict__["__suppress_context__"]
_GROUPED = BaseExceptionGroup.__dict__["exceptions"]


class Raised:
    """An exception with its outcome and the messages of its chain. It must be made where the exception was caught: in
    the handler's thread, if it has one."""

    __slots__ = ("error", "outcome", "said")

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.said = [(one, how, describe(one)) for one, how in _chain_of(error)]
        self.outcome: Outcome = declared(error) or Failed(error=self.said[0][2], retryable=True)


@dataclass(slots=True)
class _Allowance:
    """How many failures of one target may still be logged, and how many were left out."""

    left: float
    since: float
    untold: int = 0


class FailureLog:
    """Logs ten failures of a target at once and then one a second, each with the number of failures left out since the
    one before."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._allowances: dict[str, _Allowance] = {}

    def note(self, execution: Execution, error: BaseException | Raised, reason: str | None = None) -> None:
        """An attempt failed by this exception; ``reason`` is why, where the exception does not say it."""
        allowance = self._allowance_of(execution.target)
        if allowance.left < 1.0:
            allowance.untold += 1
            return
        allowance.left -= 1.0
        untold, allowance.untold = allowance.untold, 0
        raised = error if isinstance(error, Raised) else Raised(error)
        self._events.emit(
            "handler.failed",
            target=execution.target,
            execution=execution.uuid,
            client=execution.client_id,
            attempt=execution.attempt,
            reason=(reason or raised.said[0][2])[:_LONGEST_REASON],
            untold=untold,
            traceback=traceback_of(raised),
        )

    def _allowance_of(self, target: str) -> _Allowance:
        now = time.monotonic()
        found = self._allowances.get(target)
        if found is None:
            found = self._allowances[target] = _Allowance(_AT_ONCE, now)
        found.left = min(_AT_ONCE, found.left + (now - found.since) * _A_SECOND)
        found.since = now
        return found


def _chain_of(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    """The exception and the first of its causes and group members, each once, with its relation."""
    waiting, seen = [(error, "")], {id(error)}
    for one, how in waiting:
        yield one, how
        found = [(inner, "one of its group") for inner in _grouped(one)]
        if (cause := cause_of(one)) is not None:
            found.append((cause, "raised from"))
        elif not _IS_SUPPRESSED.__get__(one) and (context := _CONTEXT.__get__(one)) is not None:
            found.append((context, "raised while this was handled"))
        for other, relation in found[: _MOST_TOLD - len(waiting)]:
            if id(other) not in seen:
                seen.add(id(other))
                waiting.append((other, relation))


def _grouped(error: BaseException) -> tuple[BaseException, ...]:
    return _GROUPED.__get__(error)[:_MOST_TOLD] if issubclass(type(error), BaseExceptionGroup) else ()


def traceback_of(raised: Raised, longest: int = LONGEST_TRACEBACK) -> str:
    """The traceback from the application's own code on, so many characters from its end; causes stand before their
    exception. Never raises."""
    try:
        parts = [_section(error, how, said, is_first=error is raised.error) for error, how, said in raised.said]
        return "\n".join(reversed(parts))[-longest:]
    except Exception:
        return "(no traceback can be made of it)"


def _section(error: BaseException, how: str, said: str, *, is_first: bool) -> str:
    at = error.__traceback__
    while is_first and at is not None and at.tb_next is not None and at.tb_frame.f_code.co_filename.startswith(_OURS):
        at = at.tb_next
    frames = "".join(traceback.format_tb(at, limit=-_DEEPEST))
    opening = "" if is_first else f"({how}) "
    return f"{opening}Traceback (most recent call last):\n{frames}{said}\n"
