"""Evaluates cron expressions on the wall clock of a time zone, including days when the clocks change.

``domain/cron_expression.py`` finds the wall-clock times that match an expression, and this module maps them to
instants. A zone is a sequence of spans of constant offset. Between two spans, the wall clock goes forward and leaves a
*gap* of times that never happen, or goes back and causes an *overlap* of times that happen twice.

An expression is *by elapsed time* if its minute or hour field begins with ``*``. It fires at each instant whose
wall-clock time matches: twice for a time in an overlap, and never for a time in a gap. Every other expression names
fixed times of day; for these, the ``Cron`` has policies for gaps and overlaps.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache

from pgsched.domain.cron_expression import FIRST_WALL_TIME, Matches, read
from pgsched.domain.duration import SECOND
from pgsched.domain.time_zone import LAST_YEAR, OffsetSpan, spans, zone_named
from pgsched.errors import InvalidSchedule

_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)


class Gap(StrEnum):
    """What happens to a fixed time of day that the clocks skip."""

    SHIFT = "shift"  # fires once for all skipped times, at the first instant after the gap
    SKIP = "skip"


class Overlap(StrEnum):
    """What happens to a fixed time of day that the clocks repeat."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """The instants at which a zone's wall clock matches a cron expression.

    ``expression`` has five fields (minute, hour, day of month, month, day of week) or six (seconds first), or is one of
    ``@hourly @daily @midnight @weekly @monthly @yearly @annually``. A day matches if either day field matches; but if
    one of the two fields begins with ``*``, both must match. ``timezone`` is an IANA name. ``gap`` and ``overlap``
    apply to fixed times of day.

    Raises InvalidSchedule if the expression is invalid or never fires, or if the zone is unknown.
    """

    expression: str
    timezone: str = "UTC"
    gap: Gap = Gap.SHIFT
    overlap: Overlap = Overlap.FIRST

    def __post_init__(self) -> None:
        object.__setattr__(self, "expression", " ".join(self.expression.split()))
        if not _occurs(self):
            raise InvalidSchedule(
                f"cron {self.expression!r} never occurs in {self.timezone} with gap={self.gap}: "
                "write a day and a time that exist"
            )


@lru_cache(maxsize=65536)
def next_occurrence(cron: Cron, after: datetime) -> datetime | None:
    """Returns the first instant of ``cron`` strictly later than ``after``, or None if there is none within 50 years.
    Both instants are in UTC. Memoised, so jobs with the same schedule share searches."""
    if after.year >= LAST_YEAR:
        return None
    earliest = max(after.replace(microsecond=0, tzinfo=None), FIRST_WALL_TIME) + SECOND
    matches = Matches(cron.expression)
    for span in spans(cron.timezone, earliest):
        found = _first_in(span, earliest, cron, matches)
        if found is not None:
            return found.replace(tzinfo=UTC)
    return None


def clock_note(cron: Cron, at: datetime) -> str | None:
    """Describes how a clock change affects the occurrence of ``cron`` at ``at``, which must be aware. Returns None if
    no clock change does.
    """
    local = at.astimezone(zone_named(cron.timezone))
    if local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset():
        return f"{'second' if local.fold else 'first'} of two {_clock_face(local)}: the clocks go back"
    instant = at.astimezone(UTC).replace(tzinfo=None)
    span = next(spans(cron.timezone, instant))
    matches = Matches(cron.expression)
    if instant != span.opens or not shifts_to_opening(span, cron, matches):
        return None
    skipped, wall = matches.first_from(span.opens + span.before), local.replace(tzinfo=None)
    day = "" if skipped.date() == wall.date() else f"{skipped:%Y-%m-%d} "
    verb = "also stands in for" if matches.first_from(wall) == wall else "shifted from"
    return f"{verb} {day}{_clock_face(skipped)}: the clocks go forward"


def walls_in(span: OffsetSpan, cron: Cron, *, fixed: bool) -> tuple[datetime, datetime]:
    """Returns the range of wall-clock times in which ``cron`` may fire within the span. The end is exclusive."""
    low, high = span.opens + span.offset, span.closes + span.offset
    if fixed and cron.overlap is Overlap.FIRST:
        low = span.opens + max(span.before, span.offset)
    elif fixed and cron.overlap is Overlap.SECOND:
        high = span.closes + min(span.following, span.offset)
    return low, high


def shifts_to_opening(span: OffsetSpan, cron: Cron, matches: Matches) -> bool:
    """Whether the cron fires at the start of the span, because the gap before the span skipped a matching time."""
    if span.before >= span.offset or not matches.fixed or cron.gap is not Gap.SHIFT:
        return False
    return matches.first_from(span.opens + span.before) < span.opens + span.offset


def _first_in(span: OffsetSpan, earliest: datetime, cron: Cron, matches: Matches) -> datetime | None:
    if span.opens >= earliest and shifts_to_opening(span, cron, matches):
        return span.opens
    low, high = walls_in(span, cron, fixed=matches.fixed)
    wall = matches.first_from(max(low, earliest + span.offset))
    return wall - span.offset if wall < high else None


def _clock_face(local: datetime) -> str:
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"


@lru_cache(maxsize=16384)
def _occurs(cron: Cron) -> bool:
    if not read(cron.expression).occurs(_SOME_DAY.year):
        return False
    return cron.timezone == "UTC" or next_occurrence(cron, _SOME_DAY) is not None
