"""The states of things and the kinds of limits, by their names in SQL, in the API and on the command line."""

from typing import Literal, get_args

ExecutionStatus = Literal[
    "scheduled", "retrying", "held", "running", "succeeded", "failed", "cancelled", "expired", "skipped"
]
STATUSES: tuple[str, ...] = get_args(ExecutionStatus)
JobState = Literal["active", "paused", "invalid", "cancelled", "finished"]
JOB_STATES: tuple[str, ...] = get_args(JobState)
LetterState = Literal["open", "replayed", "discarded", "all"]
"""Which dead letters are listed."""
LETTER_STATES: tuple[str, ...] = get_args(LetterState)
LimitKind = Literal["client", "host", "queue", "key"]
LIMIT_KINDS: tuple[str, ...] = get_args(LimitKind)
