"""The names of states, as used in SQL, in the API and on the command line."""

from collections.abc import Collection
from typing import Literal, get_args

ExecutionStatus = Literal[
    "scheduled", "retrying", "held", "running", "succeeded", "failed", "cancelled", "expired", "skipped"
]
STATUSES: tuple[str, ...] = get_args(ExecutionStatus)
EndStatus = Literal["succeeded", "failed", "cancelled", "expired", "skipped"]
END_STATUSES: tuple[str, ...] = get_args(EndStatus)
LiveStatus = Literal["scheduled", "retrying", "held", "running"]
LIVE_STATUSES: tuple[str, ...] = get_args(LiveStatus)


def each_once(statuses: Collection[str]) -> tuple[str, ...]:
    """Returns the statuses without duplicates, in the order of ``STATUSES``, so that each set of statuses results in
    one query text."""
    return tuple(status for status in STATUSES if status in statuses)


JobState = Literal["active", "paused", "invalid", "cancelled", "finished"]
JOB_STATES: tuple[str, ...] = get_args(JobState)
LetterState = Literal["open", "replayed", "discarded", "all"]
"""The dead letters that a listing contains."""
LETTER_STATES: tuple[str, ...] = get_args(LetterState)
Sort = Literal["newest", "oldest"]
"""The order of a listing, by when the rows were scheduled: newest or oldest first."""
SORTS: tuple[str, ...] = get_args(Sort)
