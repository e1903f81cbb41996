"""Laws of recurrences, checked by stepping through each schedule and testing every exclusion."""

from bisect import bisect_right
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pgsched.domain.misfire_and_overlap import decide_instant
from pgsched.domain.recurrence import Recurrence, recurrence
from pgsched.domain.recurrence_rules import OnMissed, Rules, parse_rules
from pgsched.errors import InvalidSchedule
from tests.domain.drawn import Drawn, drawn

_MOMENTS = st.integers(-200_000, 200_000).map(lambda seconds: timedelta(seconds=seconds / 4))


def _recurrence(given: Drawn) -> Recurrence:
    try:
        return given.recurrence()
    except InvalidSchedule as error:
        assume("would never fire" not in str(error))
        raise


def _from(instants: list[datetime], after: datetime) -> list[datetime]:
    return instants[bisect_right(instants, after) :]


@settings(max_examples=60, deadline=None)
@given(one=drawn(), moment=_MOMENTS)
def test_next_instants_match_all_schedules_minus_exclusions(one: Drawn, moment: timedelta) -> None:
    after = one.change + moment
    expected = _from(one.instants(), after)[:40]
    assert _recurrence(one).instants(after, len(expected)) == expected


@settings(max_examples=80, deadline=None)
@given(one=drawn(), moments=st.tuples(_MOMENTS, _MOMENTS))
def test_missed_instants_are_counted_exactly(one: Drawn, moments: tuple[timedelta, timedelta]) -> None:
    after, until = (one.change + moment for moment in sorted(moments))
    expected = [at for at in _from(one.instants(), after) if at <= until]
    missed = _recurrence(one).missed(after, until)
    if not expected:
        assert missed is None
    else:
        assert missed is not None
        assert (missed.count, missed.first, missed.last) == (len(expected), expected[0], expected[-1])


@settings(max_examples=50, deadline=None)
@given(one=drawn(), moments=st.tuples(_MOMENTS, _MOMENTS))
def test_bounds_limit_both_next_and_missed_instants(one: Drawn, moments: tuple[timedelta, timedelta]) -> None:
    starts_at, ends_at = (one.change + moment for moment in sorted(moments))
    assume(starts_at < ends_at)
    bounds = {"starts_at": starts_at.isoformat(), "ends_at": ends_at.isoformat()}
    expected = [at for at in one.instants() if starts_at <= at < ends_at]
    also = [item for item in one.rules.get("also", []) if "fire_at" not in item]
    assume(len(also) == len(one.rules.get("also", [])))
    bounded = Drawn(arguments=one.arguments, rules=one.rules | bounds, exclusions=one.exclusions, change=one.change)
    if not expected:
        with pytest.raises(InvalidSchedule, match="would never fire"):
            bounded.recurrence()
        return
    far = one.change - timedelta(days=300)
    assert bounded.recurrence().instants(far, len(expected) + 1) == expected
    missed = bounded.recurrence().missed(far, one.change + timedelta(days=300))
    assert missed is not None
    assert (missed.count, missed.first, missed.last) == (len(expected), expected[0], expected[-1])


@settings(max_examples=80, deadline=None)
@given(
    one=drawn(),
    on_missed=st.sampled_from(OnMissed),
    catch_up=st.one_of(st.none(), st.integers(1, 40).map(lambda hours: timedelta(hours=hours))),
    start=st.integers(0, 30),
    late=st.integers(0, 200_000),
)
def test_each_instant_up_to_now_is_accounted_for_exactly_once(
    one: Drawn, on_missed: OnMissed, catch_up: timedelta | None, start: int, late: int
) -> None:
    job, rules = _recurrence(one), Rules(on_missed=on_missed, catch_up=catch_up)
    instants = one.instants()
    assume(start < len(instants))
    now = min(instants[start] + timedelta(seconds=late), one.change + timedelta(hours=60))
    expected = [at for at in instants[start:] if at <= now]
    accounted, at = list[datetime](), instants[start]
    steps = 0
    while at <= now and steps < 60:
        decision, steps = decide_instant(job, rules, at, now), steps + 1
        for part in decision.skipped:
            covered = [instant for instant in expected if part.first <= instant <= part.last]
            assert len(covered) == part.count
            accounted += covered
        if decision.runs:
            accounted.append(at)
        if decision.successor is None or decision.successor > now:
            break
        assert decision.successor > at
        at = decision.successor
    assert accounted == expected[: len(accounted)]
    assert steps == 60 or len(accounted) == len(expected)


_DAYS = st.sampled_from(["*", "L", "15W", "1,15", "13", "*/10", "29-31", "1-31"])
_MONTHS = st.sampled_from(["*", "*", "FEB", "NOV-MAR", "*/5"])
_WEEKDAYS = st.sampled_from(["*", "MON-FRI", "SAT,SUN", "FRI#2", "L5", "*/2", "0-6", "7"])


@settings(max_examples=20, deadline=None)
@given(
    days=st.tuples(_DAYS, _MONTHS, _WEEKDAYS),
    clock=st.sampled_from(["30 2", "15 0,23", "59 59 23"]),
    zone=st.sampled_from(["Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu"]),
    excluded=st.tuples(_DAYS, _MONTHS.filter(lambda months: months != "*"), _WEEKDAYS),
)
def test_counting_by_days_matches_stepping_through_the_instants(
    days: tuple[str, str, str], clock: str, zone: str, excluded: tuple[str, str, str]
) -> None:
    after, until = datetime(2027, 11, 5, 7, tzinfo=UTC), datetime(2029, 1, 2, tzinfo=UTC)
    try:
        whole = recurrence(cron=f"{clock} {' '.join(days)}", timezone=zone)
        out = _days_at_noon(f"* * {' '.join(excluded)}", zone, after, until)
        rules = parse_rules({"exclude": [f"* * {' '.join(excluded)}"]})
        remaining = recurrence(cron=f"{clock} {' '.join(days)}", timezone=zone, rules=rules)
    except InvalidSchedule:  # the day fields cannot be combined, or nothing remains
        assume(False)
    stepped = _stepped(whole, after, until)
    kept = [at for at in stepped if at.astimezone(ZoneInfo(zone)).date() not in out]
    for one, expected in ((whole, stepped), (remaining, kept)):
        missed = one.missed(after, until)
        assert (missed.count if missed else 0) == len(expected)
        assert missed is None or (missed.first, missed.last) == (expected[0], expected[-1])


def _days_at_noon(expression: str, zone: str, after: datetime, until: datetime) -> set[date]:
    """Returns the days, in the zone, on which a cron of whole days fires at noon."""
    noon = recurrence(cron=expression.replace("* *", "0 12", 1), timezone=zone)
    found = _stepped(noon, after - timedelta(days=2), until + timedelta(days=2))
    return {at.astimezone(ZoneInfo(zone)).date() for at in found}


def _stepped(job: Recurrence, after: datetime, until: datetime) -> list[datetime]:
    found, at = list[datetime](), job.next_instant(after)
    while at is not None and at <= until:
        found.append(at)
        at = job.next_instant(at)
    return found
