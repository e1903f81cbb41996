"""Outcomes of attempts: what happened, not what follows from it.

A channel returns an Outcome, and the settler sends it to the database, where ``pgsched_internal.decide`` determines
what happens to the row.
"""

import re
from dataclasses import dataclass
from datetime import timedelta

from pgsched.domain.execution_options import Options

LONGEST_ERROR = 2000
"""Maximum length of a stored error, in characters."""
LONGEST_RETRY_AFTER = timedelta(hours=24)
"""Maximum delay that a target can request for its retry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """The target succeeded. ``result`` is JSON text, or None."""

    result: bytes | None = None
    status_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The target failed or did not respond in time. ``retry_after`` is the delay that the target asked for;
    ``traceback`` is the part of a handler's traceback that is stored.
    """

    error: str
    retryable: bool
    status_code: int | None = None
    retry_after: timedelta | None = None
    traceback: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """The target accepted the execution and will complete it later with the execution's token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """It was too late to begin the attempt, so the target was not called."""


LATE = Late()


@dataclass(frozen=True, slots=True, kw_only=True)
class Postponed:
    """The target neither succeeded nor failed; it asked to be called again later."""

    after: timedelta
    reason: str


NO_SLOT = "waits: no free slot"
"""The beginning of the reason for a due row that was postponed because its worker had no free slot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The attempt does not count, because it did not take place or the worker itself cut it short. The row can be
    claimed again after the time ``after``; ``reason`` tells its owner why. ``by_drain`` means that the worker stopped
    before the execution could finish. ``ended`` means that the row had already ended in the database when the call
    returned."""

    after: timedelta = timedelta(0)
    reason: str | None = None
    by_drain: bool = False
    ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadySettled:
    """The success is already recorded, in the handler's own transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undeliverable:
    """This worker lacks a capability that the target needs, so there was no attempt, and none is counted."""

    capability: str


Outcome = Succeeded | Failed | Deferred | Late | Postponed | Released | AlreadySettled | Undeliverable


def is_late(options: Options, attempt: int, age: float) -> bool:
    """Whether it is too late to begin this attempt, numbered from 1, ``age`` seconds after the execution's start.

    ``pgsched_internal.lateness``, which applies the same limits, decides how the execution ends when it is settled.
    """
    return (
        (options.relevant_for is not None and age > options.relevant_for)
        or (options.deadline is not None and age >= options.deadline)
        or (options.max_retry_age is not None and attempt > 1 and age > options.max_retry_age)
    )


def longest_deferred(options: Options, age: float) -> float:
    """Returns the number of seconds that a target has to complete an execution that it accepted."""
    seconds = options.deferred or 0.0
    return seconds if options.deadline is None else max(min(seconds, options.deadline - age), 0.0)


def kept_error(error: str) -> str:
    """Shortens an error to 2,000 characters, and replaces characters that PostgreSQL does not accept."""
    kept = error[:LONGEST_ERROR].replace("\0", "\N{REPLACEMENT CHARACTER}")
    return kept.encode("utf-8", "replace").decode("utf-8")


def escaped(text: str) -> str:
    """Escapes text for a terminal and for PostgreSQL: converts surrogates, and all control characters except line feeds
    and tabs, to Python escape sequences.
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def json_text(result: bytes | None) -> str | None:
    """Returns the result as JSON that jsonb accepts, without NUL characters. A refused row would hold up its batch."""
    if result is None:
        return None
    return _ESCAPED_NUL.sub(r"\1\\ufffd", result.decode("utf-8", "replace"))


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
