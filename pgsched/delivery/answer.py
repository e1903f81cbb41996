"""The outcome of an HTTP target's answer."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache

from pgsched.domain.outcome import LONGEST_ERROR, Deferred, Failed, Outcome, Succeeded
from pgsched.domain.policy import Options

_LONGEST_REASON = 200
_LONGEST_DATE = 100
_ACCEPTED = 202
_RETRYABLE = frozenset({408, 425, 429})


def outcome_of_answer(
    status: int,
    options: Options,
    *,
    reason: bytes = b"",
    body: bytes = b"",
    retry_after: timedelta | None = None,
) -> Outcome:
    """2xx is a success; with ``deferred``, 202 says that the target will complete the execution later. 408, 425, 429
    and 5xx are worth another try; any other answer is final. ``retry_on`` and ``fail_on`` of the options override this
    for answers other than 2xx."""
    if status == _ACCEPTED and options.deferred is not None:
        return Deferred()
    if 200 <= status < 300:
        return _succeeded(status)
    return Failed(
        error=_error(status, reason, body),
        retryable=_is_retryable(status, options),
        status_code=status,
        retry_after=retry_after,
    )


def parse_retry_after(text: str | None, now: int) -> timedelta | None:
    """The wait that a Retry-After header asks for, in seconds or as a date; None if it is missing or invalid. Never
    raises, because the status alone decides.

    ``now`` is seconds since 1970. A date in the past asks for no wait.
    """
    if text is None:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text.lstrip("0")[:10] or "0"), 10**9))
    if len(text) > _LONGEST_DATE:
        return None
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(moment - datetime.fromtimestamp(now, UTC), timedelta(0))
    except (ValueError, OverflowError, TypeError, IndexError):  # numbers that no date has
        return None


@lru_cache(maxsize=100)
def _succeeded(status: int) -> Succeeded:
    """Nearly all successes are equal, so they share one object."""
    return Succeeded(status_code=status)


def _is_retryable(status: int, options: Options) -> bool:
    if status in options.fail_on:
        return False
    return status in options.retry_on or status in _RETRYABLE or status >= 500


def _error(status: int, reason: bytes, body: bytes) -> str:
    said = f"answered {status} {reason[:_LONGEST_REASON].decode('utf-8', 'replace')}".rstrip()
    if 300 <= status < 400:
        said += " (redirects are not followed: schedule the address it leads to)"
    # Four bytes are the most a character takes.
    text = body[: 4 * LONGEST_ERROR].decode("utf-8", "replace").strip()
    return f"{said}: {text[:LONGEST_ERROR]}" if text else said
