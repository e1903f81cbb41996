"""Outcomes of attempts, and the decisions that follow from them.

A channel returns an Outcome, ``decide`` turns it into a Decision under the row's options, and the settler writes the
decision to the database. Each of these steps is taken nowhere else.
"""

import random
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, assert_never

from pgsched.domain.capability import WORKER
from pgsched.domain.duration import format_duration
from pgsched.domain.policy import Options

LONGEST_ERROR = 2000
"""Characters of an error that are kept."""
LONGEST_RETRY_AFTER = timedelta(hours=24)
"""How long a target can put its own retry off."""
POSTPONED_WITHIN = timedelta(days=7)
"""How long after its instant an execution can be postponed without that counting as an attempt."""
_SHORTEST_POSTPONED = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """The target succeeded. ``result`` is JSON text, or None."""

    result: bytes | None = None
    status_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The target failed, or did not answer in time. ``retry_after`` is the wait that it asked for."""

    error: str
    retryable: bool
    status_code: int | None = None
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """The target accepted the execution and will complete it later by its token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """The execution was too late for another attempt, so the target was not called."""

    status: Literal["expired", "failed"]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Postponed:
    """The target asked to be called again later; it has neither succeeded nor failed."""

    after: timedelta
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The attempt did not take place or was cut short by the worker itself; it does not count. ``after`` is how long
    the row is better left alone, and ``reason`` says to its owner why that is; ``by_drain``, that it ran when its
    worker stopped and had no more time for it."""

    after: timedelta = timedelta(0)
    reason: str | None = None
    by_drain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Its success is already recorded, in the handler's own transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undeliverable:
    """This worker lacks a capability that the target needs, so there was no attempt, and none is counted."""

    capability: str


Outcome = Succeeded | Failed | Deferred | Late | Postponed | Released | Settled | Undeliverable


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The row is final. ``result`` is JSON text that jsonb accepts; ``begun`` says whether this attempt took place."""

    status: Literal["succeeded", "failed", "expired"]
    status_code: int | None = None
    result: str | None = None
    reason: str | None = None
    begun: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryAfter:
    """The row is claimed again once ``after`` has passed."""

    after: timedelta
    error: str
    status_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Postpone:
    """The row is claimed again once ``after`` has passed, as if it had not been claimed before. ``reason`` is what it
    waits for, if that is worth saying."""

    after: timedelta
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Park:
    """The target has this many seconds to complete the row by its token."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HandBack:
    """The row is at once anybody's, as if it had not been claimed; ``by_drain``, that a drain cut its attempt short."""

    by_drain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """The row waits behind this gate, as if it had not been claimed."""

    gate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """Nothing is left to record."""


Decision = Finish | RetryAfter | Postpone | Park | HandBack | Hold | Leave


def lateness(options: Options, attempt: int, age: float) -> Late | None:
    """Why the attempt of this number (from 1) must not begin any more, so many seconds after the nominal instant; None
    when it may."""
    if options.relevant_for is not None and age > options.relevant_for:
        return Late(status="expired", reason=f"not begun within {_span(options.relevant_for)} of its instant")
    if options.deadline is not None and age >= options.deadline:
        return Late(
            status="failed", reason=f"not begun before its deadline, {_span(options.deadline)} after its instant"
        )
    if options.max_retry_age is not None and attempt > 1 and age > options.max_retry_age:
        reason = f"no retry begins later than {_span(options.max_retry_age)} after its instant"
        return Late(status="failed", reason=reason)
    return None


def decide(outcome: Outcome, attempt: int, options: Options, *, age: float, rng: random.Random) -> Decision:
    """What becomes of a row after the attempt of this number (from 1), under its options.

    ``age`` is how many seconds ago its nominal instant was.
    """
    match outcome:
        case Succeeded(result=result, status_code=code):
            return Finish(status="succeeded", status_code=code, result=_json_text(result))
        case Failed():
            return _after_failure(outcome, attempt, options, age, rng)
        case Deferred():
            return Park(seconds=_longest_parked(options, age))
        case Late(status=status, reason=reason):
            return Finish(status=status, reason=reason, begun=False)
        case Postponed():
            return _after_postponing(outcome, attempt, options, age, rng)
        case Released(after=after, reason=reason, by_drain=by_drain):
            return Postpone(after=after, reason=reason) if after else HandBack(by_drain=by_drain)
        case Undeliverable(capability=capability):
            return Hold(gate=WORKER + capability)
        case Settled():
            return Leave()
        case _:
            assert_never(outcome)


def _after_failure(
    failure: Failed, attempt: int, options: Options, age: float, rng: random.Random
) -> Finish | RetryAfter:
    error = error_text(failure.error)
    if not failure.retryable or attempt >= options.max_attempts:
        return Finish(status="failed", status_code=failure.status_code, reason=error)
    after = options.backoff.delay(attempt, rng)
    if failure.retry_after is not None:
        after = max(after, min(failure.retry_after, LONGEST_RETRY_AFTER))
    if late := lateness(options, attempt + 1, age + after.total_seconds()):
        return Finish(status=late.status, status_code=failure.status_code, reason=error_text(f"{error}; {late.reason}"))
    return RetryAfter(after=after, error=error, status_code=failure.status_code)


def _after_postponing(
    asked: Postponed, attempt: int, options: Options, age: float, rng: random.Random
) -> Finish | RetryAfter | Postpone:
    """Its options bound how long it can be put off. Where they do not, each further time counts as a failed attempt
    once its instant is long past, or a handler could go on asking for ever."""
    after = min(max(asked.after, _SHORTEST_POSTPONED), LONGEST_RETRY_AFTER)
    begins = age + after.total_seconds()
    if begins > POSTPONED_WITHIN.total_seconds():
        counted = Failed(error=asked.reason, retryable=True, retry_after=after)
        return _after_failure(counted, attempt, options, age, rng)
    if late := lateness(options, attempt + 1, begins):
        return Finish(status=late.status, reason=error_text(f"{asked.reason}; {late.reason}"))
    return Postpone(after=after)


def _longest_parked(options: Options, age: float) -> float:
    seconds = options.deferred or 0.0
    return seconds if options.deadline is None else max(min(seconds, options.deadline - age), 0.0)


def _span(seconds: float) -> str:
    return format_duration(timedelta(seconds=seconds))


def error_text(error: str) -> str:
    """At most 2,000 characters, none of which PostgreSQL's text would refuse."""
    kept = error[:LONGEST_ERROR].replace("\0", "\N{REPLACEMENT CHARACTER}")
    return kept.encode("utf-8", "replace").decode("utf-8")


def _json_text(result: bytes | None) -> str | None:
    """jsonb has no NUL character; one refused row would hold up every outcome that is settled with it."""
    if result is None:
        return None
    return _ESCAPED_NUL.sub(r"\1\\ufffd", result.decode("utf-8"))


_ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
