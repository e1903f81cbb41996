"""Outcomes of attempts: what happened, not what follows from it.

A channel returns an Outcome, and the settler sends it to the database. The settling statement decides what happens to
the row under its options, by ``pgsched_internal.decide``.
"""

import re
from dataclasses import dataclass
from datetime import timedelta

from pgsched.domain.execution_options import Options

LONGEST_ERROR = 2000
"""Maximum characters of an error that are stored."""
LONGEST_RETRY_AFTER = timedelta(hours=24)
"""The longest time for which a target can put off its own retry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """The target succeeded. ``result`` is JSON text, or None."""

    result: bytes | None = None
    status_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The target failed, or did not respond in time. ``retry_after`` is the wait that it asked for, and ``traceback``
    the stored part of a handler's traceback.
    """

    error: str
    retryable: bool
    status_code: int | None = None
    retry_after: timedelta | None = None
    traceback: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """The target accepted the execution and will complete it later by its token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """The execution was too late for another attempt, so the target was not called."""


LATE = Late()


@dataclass(frozen=True, slots=True, kw_only=True)
class Postponed:
    """The target asked to be called again later; it has neither succeeded nor failed."""

    after: timedelta
    reason: str


NO_SLOT = "waits: no free slot"
"""Start of the reason of a row that is due but was put off because a worker had no slot for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The attempt did not take place, or the worker itself cut it short, so it does not count. ``after`` is how long to
    leave the row alone, and ``reason`` tells its owner why. ``by_drain`` means that the worker stopped before the
    execution could finish; ``ended``, that the row had already ended in the database and its call is now over.
    """

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
    """Whether this attempt (counted from 1) is too late to begin, ``age`` seconds after the execution's start.

    How the execution ends is decided when it is settled, by ``pgsched_internal.lateness``, which has the same limits.
    """
    return (
        (options.relevant_for is not None and age > options.relevant_for)
        or (options.deadline is not None and age >= options.deadline)
        or (options.max_retry_age is not None and attempt > 1 and age > options.max_retry_age)
    )


def longest_deferred(options: Options, age: float) -> float:
    """Returns the seconds that a target has to complete what it accepted."""
    seconds = options.deferred or 0.0
    return seconds if options.deadline is None else max(min(seconds, options.deadline - age), 0.0)


def kept_error(error: str) -> str:
    """Shortens an error to 2,000 characters, without any that PostgreSQL's text type would refuse."""
    kept = error[:LONGEST_ERROR].replace("\0", "\N{REPLACEMENT CHARACTER}")
    return kept.encode("utf-8", "replace").decode("utf-8")


def escaped(text: str) -> str:
    """Escapes lines of text for a terminal and for PostgreSQL: control characters other than line breaks and tabs, and
    invalid characters, are written as in Python.
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def json_text(result: bytes | None) -> str | None:
    """Returns JSON that jsonb accepts, without NUL characters: a refused row would hold up its batch."""
    if result is None:
        return None
    return _ESCAPED_NUL.sub(r"\1\\ufffd", result.decode("utf-8", "replace"))


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
