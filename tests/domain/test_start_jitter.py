"""Jitter and flexible windows: within bounds, before the next instant, repeatable, and spread out."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pgsched.domain.start_jitter import emptiest, jittered, slots

INSTANT = datetime(2026, 3, 1, 9, tzinfo=UTC)
_LENGTHS = st.timedeltas(min_value=timedelta(milliseconds=1), max_value=timedelta(hours=24))
_INSTANTS = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
_FOLLOWING = st.one_of(st.none(), st.timedeltas(min_value=timedelta(microseconds=1), max_value=timedelta(days=2)))
_COUNTS = st.lists(st.integers(0, 3), min_size=1, max_size=20)


@given(st.text(max_size=30), _INSTANTS, _LENGTHS, _FOLLOWING)
def test_jitter_is_bounded_and_ends_before_the_next_instant(
    identity: str, instant: datetime, jitter: timedelta, further: timedelta | None
) -> None:
    following = None if further is None else instant + further
    found = jittered(identity, instant, jitter, following)
    assert instant <= found < instant + jitter
    assert following is None or found < following
    assert found == jittered(identity, instant, jitter, following)


def test_jobs_are_spread_evenly_over_the_jitter() -> None:
    starts = [jittered(f"payments/{n}", INSTANT, timedelta(minutes=10), None) for n in range(5000)]
    minutes = Counter(start.minute for start in starts)
    assert sorted(minutes) == list(range(10))
    assert max(minutes.values()) < 600


def test_a_jobs_jitter_differs_from_instant_to_instant() -> None:
    instants = [INSTANT + timedelta(days=n) for n in range(100)]
    late = {jittered("payments/nightly", at, timedelta(minutes=10), None) - at for at in instants}
    assert len(late) == 100


@given(_LENGTHS, _FOLLOWING)
def test_slots_divide_the_window_evenly_and_precede_the_next_instant(
    window: timedelta, further: timedelta | None
) -> None:
    found = slots(INSTANT, window, None if further is None else INSTANT + further)
    room = window if further is None else min(window, further)
    assert len(found) == 16
    assert found[0] == INSTANT
    assert found[-1] < INSTANT + room
    gaps = [late - early for early, late in pairwise(found)]
    assert max(gaps) - min(gaps) <= timedelta(microseconds=1)


@given(st.text(max_size=30), _LENGTHS, _COUNTS, _FOLLOWING)
def test_a_start_lies_in_one_of_the_emptiest_slots(
    identity: str, window: timedelta, counts: list[int], further: timedelta | None
) -> None:
    following = None if further is None else INSTANT + further
    found = emptiest(identity, INSTANT, window, counts, following)
    begins = slots(INSTANT, window, following, len(counts))
    chosen = [counts[n] for n, begin in enumerate(begins) if begin <= found]
    room = window if further is None else min(window, further)
    assert INSTANT <= found < INSTANT + room
    assert found == emptiest(identity, INSTANT, window, counts, following)
    if len(set(begins)) == len(begins):
        assert chosen[-1] == min(counts)


def test_jobs_spread_over_equally_empty_slots() -> None:
    counts = [3, 0, 5, 0, 0, 9]
    window = timedelta(minutes=6)
    chosen = Counter(emptiest(f"payments/{n}", INSTANT, window, counts).minute for n in range(900))
    assert sorted(chosen) == [1, 3, 4]
    assert min(chosen.values()) > 200
