"""Cron against cronsim, which was written apart from it: random expressions, around the changes of the clocks.

cronsim follows Debian's cron. Where it means something else than pgsched, the expression is not drawn or the answer is
brought to ours; what is done, and why, stands at each place. Not drawn at all: days of the week as ``1/2`` (for cronsim
Sunday, as 7, belongs to what follows 1; for pgsched the week ends with 6) and six fields, which it has by elapsed time.
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
    "Africa/Casablanca",  # back for a month, and forward again
    "Pacific/Apia",  # left out 30 December 2011
]
YEARS = range(2009, 2031)
_COUNT = 12
_MINUTE = timedelta(minutes=1)
_SPAN = timedelta(days=4)


@cache
def changes(zone: str) -> list[datetime]:
    """The hours, in UTC, in which the zone's clocks are changed; some day of each year where they never are."""
    clock, hour, day = ZoneInfo(zone), timedelta(hours=1), timedelta(days=1)

    def changed(at: datetime, step: timedelta) -> bool:
        return at.astimezone(clock).utcoffset() != (at + step).astimezone(clock).utcoffset()

    days = (datetime(YEARS[0], 1, 1, tzinfo=UTC) + n * day for n in range(len(YEARS) * 366))
    hours = (at + n * hour for at in days if changed(at, day) for n in range(24))
    found = [at for at in hours if changed(at, hour)]
    return found or [datetime(year, 3, 1, tzinfo=UTC) for year in YEARS]


def field(low: int, high: int) -> st.SearchStrategy[str]:
    """A field as people write it. A range or step over the end is refused by cronsim, so none is drawn."""
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
    """What cronsim answers, in UTC; by elapsed time only which wall-clock times match, for each minute there is.

    Its own walk through elapsed time steps by whole hours, past the half hour by which Lord Howe changes, and takes the
    day that Apia left out for one that was. Of fixed times, each that a gap swallows comes after the gap by itself, so
    one instant may come several times: for pgsched it is one.
    """
    clock = CronSim(expression, after.astimezone(ZoneInfo(zone)))
    if expression.startswith("*") or expression.split()[1].startswith("*"):
        return _minutes_that_match(clock, ZoneInfo(zone), after)
    found = set[datetime]()
    for at in clock:
        instant = at.astimezone(UTC)
        if instant > after + _SPAN or len(found) > 4 * _COUNT:
            break
        if instant > after:  # it begins with the first pass of an hour that comes twice
            found.add(instant)
    return sorted(found)[:_COUNT]


def _minutes_that_match(clock: CronSim, zone: ZoneInfo, after: datetime) -> list[datetime]:
    return [at.astimezone(UTC) for at in _minutes(zone, after) if matches(clock, at)][:_COUNT]


def _minutes(zone: ZoneInfo, after: datetime) -> list[datetime]:
    """Each minute of the span, on the zone's own clock."""
    first = after.replace(second=0)
    return [(first + n * _MINUTE).astimezone(zone) for n in range(1, _SPAN // _MINUTE + 1)]


def matches(clock: CronSim, at: datetime) -> bool:
    """Whether the fields, as cronsim has read them, name this time on the wall."""
    return at.minute in clock.minutes and at.hour in clock.hours and at.month in clock.months and clock.match_day(at)


def by_policy(expression: str, zone: str, gap: Gap, overlap: Overlap, after: datetime) -> list[datetime]:
    """Where fixed times fire, minute by minute from what the policies say."""
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
def test_both_find_the_same_instants(zone: str, expression: str, change: int, hours: int, seconds: int) -> None:
    at = changes(zone)[change % len(changes(zone))]
    after = at + timedelta(hours=hours, seconds=seconds)
    try:
        mine = ours(expression, zone, after)
    except InvalidSchedule:  # refused as it says something else than it seems to, or never occurs
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
def test_fixed_times_follow_the_policies(
    zone: str, expression: str, gap: Gap, overlap: Overlap, change: int, hours: int
) -> None:
    after = changes(zone)[change % len(changes(zone))] + timedelta(hours=hours)
    try:
        mine = ours(expression, zone, after, gap, overlap)
        expected = by_policy(expression, zone, gap, overlap, after)
    except (InvalidSchedule, CronSimError):
        assume(False)
    assert mine == expected
