"""Compares Cron with cronsim, an independent implementation, on random expressions around DST changes.

cronsim follows Debian's cron. Where its meaning differs from pgsched's, the expression is not drawn, or the result is
converted; a comment says how and why. Two forms are never drawn: weekdays such as ``1/2`` (cronsim includes Sunday as
day 7; pgsched's week ends with 6) and six fields, which cronsim evaluates by elapsed time.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim, CronSimError
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from pgsched.domain.cron import Cron, Gap, Overlap, next_occurrence
from pgsched.errors import InvalidSchedule

ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",  # by half an hour
    "Africa/Casablanca",  # back for a month, then forward again
    "Pacific/Apia",  # skipped 30 December 2011
]
YEARS = range(2009, 2031)
_COUNT = 12
_MINUTE = timedelta(minutes=1)
_SPAN = timedelta(days=4)


@cache
def changes(zone: str) -> list[datetime]:
    """Returns the hours, in UTC, of the zone's DST changes, or one day of each year if there are none."""
    clock, hour, day = ZoneInfo(zone), timedelta(hours=1), timedelta(days=1)

    def changed(at: datetime, step: timedelta) -> bool:
        return at.astimezone(clock).utcoffset() != (at + step).astimezone(clock).utcoffset()

    days = (datetime(YEARS[0], 1, 1, tzinfo=UTC) + n * day for n in range(len(YEARS) * 366))
    hours = (at + n * hour for at in days if changed(at, day) for n in range(24))
    found = [at for at in hours if changed(at, hour)]
    return found or [datetime(year, 3, 1, tzinfo=UTC) for year in YEARS]


def field(low: int, high: int) -> st.SearchStrategy[str]:
    """Draws a field as people write it. cronsim refuses a range or step past the end, so none is drawn."""
    number = st.integers(low, high)
    ends = st.tuples(number, number).filter(lambda pair: pair[0] < pair[1])
    step = st.integers(1, high)
    item = st.one_of(
        number.map(str),
        ends.map(lambda pair: f"{pair[0]}-{pair[1]}"),
        st.tuples(ends, step).map(lambda drawn: f"{drawn[0][0]}-{drawn[0][1]}/{drawn[1]}"),
        st.tuples(number, step).map(lambda drawn: f"{drawn[0]}/{drawn[1]}"),
    )
    return st.one_of(st.just("*"), step.map(lambda n: f"*/{n}"), st.lists(item, min_size=1, max_size=3).map(",".join))


def expressions() -> st.SearchStrategy[str]:
    minute, hour = field(0, 59), st.one_of(field(0, 23), st.sampled_from(["0", "1", "2", "3", "0-3", "1,2"]))
    day = st.one_of(st.just("*"), field(1, 31), st.just("L"))
    month = st.one_of(st.just("*"), field(1, 12), st.sampled_from(["MAR", "OCT", "MAR-NOV"]))
    weekday = st.sampled_from(["*", "SUN", "MON-FRI", "0,6", "1-5/2", "*/2", "3", "2-4"])
    return st.tuples(minute, hour, day, month, weekday).map(" ".join)


def theirs(expression: str, zone: str, after: datetime) -> list[datetime]:
    """Returns cronsim's instants in UTC. For elapsed-time expressions, checks each minute against cronsim's fields.

    cronsim's own iteration by elapsed time steps in whole hours, so it misses Lord Howe's half-hour change, and it
    treats the day that Apia skipped as a real day. It returns each fixed time that falls into a gap separately, after
    the gap, so an instant may appear several times; pgsched returns it once.
    """
    clock = CronSim(expression, after.astimezone(ZoneInfo(zone)))
    if expression.startswith("*") or expression.split()[1].startswith("*"):
        return _minutes_that_match(clock, ZoneInfo(zone), after)
    found = set[datetime]()
    for at in clock:
        instant = at.astimezone(UTC)
        if instant > after + _SPAN or len(found) > 4 * _COUNT:
            break
        if instant > after:  # for a repeated hour, cronsim starts with the first pass
            found.add(instant)
    return sorted(found)[:_COUNT]


def _minutes_that_match(clock: CronSim, zone: ZoneInfo, after: datetime) -> list[datetime]:
    return [at.astimezone(UTC) for at in _minutes(zone, after) if matches(clock, at)][:_COUNT]


def _minutes(zone: ZoneInfo, after: datetime) -> list[datetime]:
    """Returns each minute of the span in the zone's local time."""
    first = after.replace(second=0)
    return [(first + n * _MINUTE).astimezone(zone) for n in range(1, _SPAN // _MINUTE + 1)]


def matches(clock: CronSim, at: datetime) -> bool:
    """Returns True if the fields, as cronsim parsed them, match this local time."""
    return at.minute in clock.minutes and at.hour in clock.hours and at.month in clock.months and clock.match_day(at)


def by_policy(expression: str, zone: str, gap: Gap, overlap: Overlap, after: datetime) -> list[datetime]:
    """Returns the instants at which fixed times fire, checking each minute against the policies."""
    clock, found = CronSim(expression, after), list[datetime]()
    minutes = _minutes(ZoneInfo(zone), after)
    for before, at in pairwise([(minutes[0].astimezone(UTC) - _MINUTE).astimezone(ZoneInfo(zone)), *minutes]):
        twice = at.utcoffset() != at.replace(fold=1 - at.fold).utcoffset() and not _in_a_gap(at)
        wanted = {Overlap.FIRST: not at.fold, Overlap.SECOND: bool(at.fold), Overlap.BOTH: True}[overlap]
        fires = matches(clock, at) and (wanted or not twice)
        skipped, wall = before.replace(tzinfo=None) + _MINUTE, at.replace(tzinfo=None)
        while gap is Gap.SHIFT and skipped < wall and not fires:
            fires = matches(clock, skipped)
            skipped += _MINUTE
        if fires:
            found.append(at.astimezone(UTC))
    return found[:_COUNT]


def _in_a_gap(at: datetime) -> bool:
    return at.astimezone(UTC).astimezone(at.tzinfo).replace(tzinfo=None) != at.replace(tzinfo=None)


def ours(
    expression: str, zone: str, after: datetime, gap: Gap = Gap.SHIFT, overlap: Overlap = Overlap.FIRST
) -> list[datetime]:
    cron, found = Cron(expression=expression, timezone=zone, gap=gap, overlap=overlap), list[datetime]()
    while len(found) < _COUNT:
        at = next_occurrence(cron, found[-1] if found else after)
        if at is None or at > after + _SPAN:
            break
        found.append(at)
    return found


@pytest.mark.parametrize("zone", ZONES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(expression=expressions(), change=st.integers(0, 1000), hours=st.integers(-30, 6), seconds=st.integers(0, 3599))
@example(expression="30 2 * * *", change=0, hours=-30, seconds=0)
@example(expression="0,30 0-3 * * *", change=1, hours=-6, seconds=0)
def test_instants_match_cronsims_instants(zone: str, expression: str, change: int, hours: int, seconds: int) -> None:
    at = changes(zone)[change % len(changes(zone))]
    after = at + timedelta(hours=hours, seconds=seconds)
    try:
        mine = ours(expression, zone, after)
    except InvalidSchedule:  # ambiguous, or never fires
        assume(False)
    try:
        expected = theirs(expression, zone, after)
    except CronSimError:
        assume(False)
    assert mine == expected


@pytest.mark.parametrize("zone", ZONES[1:])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    expression=expressions().filter(lambda text: not text.startswith("*") and not text.split()[1].startswith("*")),
    gap=st.sampled_from(Gap),
    overlap=st.sampled_from(Overlap),
    change=st.integers(0, 1000),
    hours=st.integers(-30, 6),
)
@example(expression="30 2 * * *", gap=Gap.SKIP, overlap=Overlap.BOTH, change=1, hours=-30)
def test_fixed_times_follow_the_gap_and_overlap_policies(
    zone: str, expression: str, gap: Gap, overlap: Overlap, change: int, hours: int
) -> None:
    after = changes(zone)[change % len(changes(zone))] + timedelta(hours=hours)
    try:
        mine = ours(expression, zone, after, gap, overlap)
        expected = by_policy(expression, zone, gap, overlap, after)
    except (InvalidSchedule, CronSimError):
        assume(False)
    assert mine == expected
