"""Counting in benchmarks: percentiles within 1%, and accounts that find lost and repeated deliveries."""

from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsched.bench.histogram import ByMinute, DurationHistogram
from pgsched.bench.medians import medians
from pgsched.bench.worker_report import Trace, account
from tests.benchmarks.measuring.memory import Sample, growth_per_hour


def _histogram(values: list[int]) -> DurationHistogram:
    histogram = DurationHistogram()
    for value in values:
        histogram.add(value)
    return histogram


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=200), st.integers(1, 100))
def test_a_percentile_is_within_one_percent_of_the_exact_value(values: list[int], percent: int) -> None:
    exact = sorted(values)[max(-(-len(values) * percent // 100), 1) - 1]
    assert _histogram(values).percentile_ms(percent) == pytest.approx(exact / 1000, rel=0.01)


@given(st.lists(st.integers(0, 10**9)), st.lists(st.integers(0, 10**9)))
def test_merged_histograms_equal_a_histogram_of_all_values(one: list[int], other: list[int]) -> None:
    merged = DurationHistogram.merged([_histogram(one), _histogram(other)])
    assert merged.summary() == _histogram([*one, *other]).summary()


def test_the_worst_minute_is_reported_separately() -> None:
    minutes = ByMinute()
    for second in range(600):
        minutes.add(90_000 if 120 <= second < 180 else 1_000, second)
    assert minutes.whole().percentile_ms(50) == pytest.approx(1, rel=0.01)
    assert minutes.worst_ms(99) == pytest.approx(90, rel=0.01)


def _traces(directory: Path, *numbers: list[int]) -> None:
    for place, noted in enumerate(numbers):
        with (directory / str(place)).open("wb") as file:
            trace = Trace(file)
            for number in noted:
                trace.add(number)
            trace.flush()


def test_deliveries_are_summed_over_several_processes(tmp_path: Path) -> None:
    _traces(tmp_path, [0, 3, 4], [2, 1])
    account(tmp_path, 5)


@pytest.mark.parametrize(
    ("noted", "problem"),
    [
        ([0, 1, 3], "1 not delivered, 0 delivered again, 0 unknown"),
        ([0, 1, 1, 3], "1 not delivered, 1 delivered again, 0 unknown"),
        ([0, 1, 2, 3, 4], "0 not delivered, 0 delivered again, 1 unknown"),
    ],
)
def test_lost_repeated_and_unknown_deliveries_are_reported(tmp_path: Path, noted: list[int], problem: str) -> None:
    _traces(tmp_path, noted)
    with pytest.raises(AssertionError, match=problem):
        account(tmp_path, 4)


def test_a_trace_takes_four_bytes_per_delivery(tmp_path: Path) -> None:
    _traces(tmp_path, list(range(40_000)))
    assert (tmp_path / "0").stat().st_size == 4 * 40_000 == array("I").itemsize * 40_000


def test_growth_is_reported_per_hour() -> None:
    samples = [Sample(seconds, 100 + seconds / 3600 * 6, None) for seconds in range(0, 600, 10)]
    assert growth_per_hour(samples) == pytest.approx(6)


def test_a_figure_missing_from_one_round_has_no_median() -> None:
    summed = medians([{"rate": 1, "cpu": 3.0, "held": True}, {"rate": 3, "cpu": None, "held": False}])
    assert (summed["rate"], summed["cpu"], summed["held"]) == (2, None, False)
