"""Quantiles from a histogram of seconds."""

import pytest

from pgsched.domain.histogram import BUCKETS, nothing, quantile


@pytest.mark.parametrize("seconds", [0.03, 12.0, 60.05, 100.0, 400.0, 1000.0, 3000.0])
def test_quantile_error_is_bounded_by_the_bucket_width(seconds: float) -> None:
    counts = nothing()
    counts[next(place for place, high in enumerate(BUCKETS) if seconds <= high)] = 100
    found = quantile(counts, 0.99)
    assert found is not None
    assert seconds / 2 < found < (1.5 if seconds >= 10 else 2.5) * seconds
