"""Logs why attempts failed, at a limited rate. A handler's failure is logged with its traceback.

``note`` logs a handler's exception when the exception is caught. ``failed`` logs the failures of other targets when
their outcome is processed.

An exception's message comes from the handler's code. The message may be huge, slow to produce, or raise an exception
itself, and a chain of causes may be very long or circular. So each message is read once, where the exception was caught
(``Raised``), and only the first exceptions of a chain are examined.
"""

import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pgsched.delivery.exception_outcomes import cause_of, cut, declared, describe, members_of
from pgsched.delivery.own_context import own_context
from pgsched.domain.attempt_outcome import Failed, Outcome
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.gate import host_of
from pgsched.telemetry import Events, Field

LONGEST_TRACEBACK = 6_000
"""Maximum number of characters logged of a traceback, counted from its end."""
_AT_ONCE, _A_SECOND = 5.0, 0.2
_ALL_AT_ONCE, _ALL_A_SECOND = 25.0, 1.0
_MOST_WATCHED = 1_000
_LONGEST_REASON, _LONGEST_TARGET = 500, 300
_DEEPEST = 40
_MOST_TOLD = 8
_OURS = str(Path(__file__).parent)
_CONTEXT = BaseException.__dict__["__context__"]
_IS_SUPPRESSED = BaseException.__dict__["__suppress_context__"]
_GROUPED = "a member of the exception group below"


class Raised:
    """An exception with its outcome and the messages of its chain. It must be created where the exception was caught:
    in the handler's thread if the handler runs in one."""

    __slots__ = ("error", "outcome", "said")

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.said = [(one, how, describe(one)) for one, how in _chain_of(error)]
        self.outcome: Outcome = declared(error) or Failed(error=self.reason, retryable=True)

    @property
    def reason(self) -> str:
        """The message of the exception and, for a group, the message of its first member."""
        first = next((f": {said}" for _, how, said in self.said if how == _GROUPED), "")
        return cut(self.said[0][2] + first)


@dataclass(slots=True)
class _Allowance:
    """The number of failures that may still be logged, and the number suppressed."""

    most: float
    a_second: float
    left: float
    since: float
    untold: int = 0

    def fill(self, now: float) -> None:
        self.left = min(self.most, self.left + (now - self.since) * self.a_second)
        self.since = now


class FailureLog:
    """Logs failures at a limited rate. Each handler or host may log five failures at once, and then one every five
    seconds, with the number suppressed in between. In total, twenty-five may be logged at once, and then one a second.
    At most a thousand handlers and hosts are tracked."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._allowances: dict[str, _Allowance] = {}
        self._all = _Allowance(_ALL_AT_ONCE, _ALL_A_SECOND, _ALL_AT_ONCE, time.monotonic())
        self._noted: set[bytes] = set()

    def note(self, execution: ClaimedExecution, error: BaseException | Raised, reason: str | None = None) -> None:
        """Logs that a handler failed with this exception. ``reason``, if given, replaces the exception's message."""
        if len(self._noted) >= _MOST_WATCHED:
            self._noted.clear()
        self._noted.add(execution.id)
        untold = self._take(execution.target)
        if untold is None:
            return
        raised = error if isinstance(error, Raised) else own_context().run(Raised, error)
        self._tell("handler.failed", execution, reason or raised.reason, untold, traceback=traceback_of(raised))

    def failed(self, execution: ClaimedExecution, outcome: Failed) -> None:
        """Logs a failed attempt, unless ``note`` has already logged it."""
        if execution.id in self._noted:
            self._noted.discard(execution.id)
            return
        untold = self._take(host_of(execution.target) or execution.target)
        if untold is not None:
            code: dict[str, Field] = {} if outcome.status_code is None else {"status_code": outcome.status_code}
            self._tell("attempt.failed", execution, outcome.error, untold, **code)

    def _tell(self, event: str, execution: ClaimedExecution, reason: str, untold: int, **more: Field) -> None:
        self._events.emit(
            event,
            target=_shown(execution.target),
            execution=execution.uuid,
            client=execution.client_id,
            key=execution.key,
            attempt=execution.attempt,
            reason=reason[:_LONGEST_REASON],
            untold=untold,
            **more,
        )

    def _take(self, of: str) -> int | None:
        """Returns the number of failures suppressed since the last one was logged, or None if this failure is
        suppressed."""
        found = self._allowance_of(of)
        if found.left < 1.0 or self._all.left < 1.0:
            found.untold += 1
            return None
        found.left -= 1.0
        self._all.left -= 1.0
        untold, found.untold = found.untold, 0
        return untold

    def _allowance_of(self, of: str) -> _Allowance:
        now = time.monotonic()
        found = self._allowances.get(of)
        if found is None:
            if len(self._allowances) >= _MOST_WATCHED:
                self._allowances.pop(next(iter(self._allowances)))
            found = self._allowances[of] = _Allowance(_AT_ONCE, _A_SECOND, _AT_ONCE, now)
        found.fill(now)
        self._all.fill(now)
        return found


def _shown(target: str) -> str:
    """Returns a target without its query string, which may contain tokens."""
    path, mark, _ = target.partition("?")
    return path[:_LONGEST_TARGET] + ("?…" if mark else "")


def _chain_of(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    """Yields the exception and a limited number of its causes and group members. Each is yielded once, with its
    relation to the exception that led to it."""
    waiting, seen = [(error, "")], {id(error)}
    for one, how in waiting:
        yield one, how
        found = [(inner, _GROUPED) for inner in members_of(one)[:_MOST_TOLD]]
        if (cause := cause_of(one)) is not None:
            found.append((cause, "the cause of the exception below"))
        elif not _IS_SUPPRESSED.__get__(one) and (context := _CONTEXT.__get__(one)) is not None:
            found.append((context, "being handled when the exception below was raised"))
        for other, relation in found[: _MOST_TOLD - len(waiting)]:
            if id(other) not in seen:
                seen.add(id(other))
                waiting.append((other, relation))


def traceback_of(raised: Raised, longest: int = LONGEST_TRACEBACK) -> str:
    """Returns the traceback from the application's own code, cut to the last ``longest`` characters. Causes precede the
    exceptions that they caused. Never raises."""
    try:
        parts = [_section(error, how, said, is_first=error is raised.error) for error, how, said in raised.said]
        return "\n".join(reversed(parts))[-longest:]
    except Exception:
        return "(its traceback cannot be formatted)"


def _section(error: BaseException, how: str, said: str, *, is_first: bool) -> str:
    at = error.__traceback__
    while is_first and at is not None and at.tb_next is not None and at.tb_frame.f_code.co_filename.startswith(_OURS):
        at = at.tb_next
    frames = "".join(traceback.format_tb(at, limit=-_DEEPEST))
    opening = "" if is_first else f"({how}) "
    return f"{opening}Traceback (most recent call last):\n{frames}{said}\n"
