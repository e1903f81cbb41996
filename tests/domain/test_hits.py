"""Counting how many moments are instants of a job, without stepping through the instants."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsched.domain.recurrence import Recurrence, recurrence
from pgsched.domain.recurrence_rules import parse_rules

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MARCH = datetime(2026, 3, 28, tzinfo=UTC)
ANCHOR = datetime(2026, 3, 28, 0, 0, 0, 250_000, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

JOBS = [
    recurrence(cron="30 2 * * *", timezone="Europe/Berlin"),
    recurrence(
        cron="*/20 * * * * *", rules=parse_rules({"exclude": ["2026-03-29"], "ends_at": "2026-03-30T06:00:00Z"})
    ),
    recurrence(every=timedelta(seconds=90), anchor=ANCHOR),
    recurrence(every=timedelta(minutes=7), anchor=ANCHOR, rules=parse_rules({"also": [{"cron": "0 * * * *"}]})),
    recurrence(every=timedelta(seconds=45), anchor=ANCHOR, rules=parse_rules({"starts_at": "2026-03-29T00:00:00Z"})),
]


def is_instant(job: Recurrence, at: datetime) -> bool:
    return job.next_instant(at - MICROSECOND) == at


def counted(job: Recurrence, moments: set[datetime]) -> int:
    return job.count_hits((at - EPOCH) // MICROSECOND for at in sorted(moments))


@settings(max_examples=60, deadline=None)
@given(job=st.sampled_from(JOBS), seconds=st.sets(st.integers(0, 3 * 86_400), max_size=40), fraction=st.booleans())
def test_only_moments_that_are_instants_of_the_job_are_counted(
    job: Recurrence, seconds: set[int], fraction: bool
) -> None:
    begin = ANCHOR if fraction else MARCH
    moments = {begin + timedelta(seconds=second // 15 * 15) for second in seconds}
    assert counted(job, moments) == sum(is_instant(job, at) for at in moments)


@pytest.mark.parametrize("job", JOBS)
def test_all_of_a_jobs_instants_are_counted(job: Recurrence) -> None:
    instants = job.instants(MARCH, 200)
    assert counted(job, set(instants)) == len(instants)


def test_no_moment_is_counted_for_an_after_completion_job() -> None:
    job = recurrence(every="1h", anchor=ANCHOR, rules=parse_rules({"after_completion": True}))
    assert counted(job, {ANCHOR}) == 0


@pytest.mark.parametrize("job", JOBS)
def test_hourly_counts_match_the_instants(job: Recurrence) -> None:
    end = MARCH + timedelta(days=2, hours=5, minutes=20)
    wanted = dict[datetime, int]()
    at = job.next_instant(ANCHOR - MICROSECOND)
    while at is not None and at < end:
        hour = at.replace(minute=0, second=0, microsecond=0)
        wanted[hour] = wanted.get(hour, 0) + 1
        at = job.next_instant(at)
    assert job.by_hour(ANCHOR, end) == wanted


def test_hourly_counts_are_exact_for_fractional_second_intervals() -> None:
    job = recurrence(every=timedelta(seconds=1500.5), anchor=ANCHOR)
    assert list(job.by_hour(ANCHOR, ANCHOR + timedelta(hours=2)).values()) == [3, 2]
    assert job.by_hour(ANCHOR, ANCHOR) == {}
