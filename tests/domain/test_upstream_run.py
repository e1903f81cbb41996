"""The ``after`` rule: parsing it, and the hour, day, week or month that a run belongs to."""

from datetime import UTC, datetime, timedelta

import pytest

from pgsched.domain.upstream_run import After, OnFailure, Same, parse_after
from pgsched.errors import InvalidSchedule


@pytest.mark.parametrize(
    ("same", "begin", "hours"),
    [
        ("hour", datetime(2026, 3, 29, 10, tzinfo=UTC), 1),
        ("day", datetime(2026, 3, 28, 23, tzinfo=UTC), 23),
        ("week", datetime(2026, 3, 22, 23, tzinfo=UTC), 167),
        ("month", datetime(2026, 2, 28, 23, tzinfo=UTC), 743),
    ],
)
def test_periods_follow_local_time_across_dst_changes(same: str, begin: datetime, hours: int) -> None:
    instant = datetime(2026, 3, 29, 10, 30, 5, 7, tzinfo=UTC)
    found = After(job="a", same=Same(same)).period(instant, "Europe/Berlin")
    assert found == (begin, begin + timedelta(hours=hours))


def test_an_after_rule_is_parsed() -> None:
    assert parse_after("after", {"job": "import", "on_none": None}) == After(job="import")
    found = parse_after("after", {"job": "import", "same": "hour", "on_failure": "wait"})
    assert (found.same, found.on_failure) == (Same.HOUR, OnFailure.WAIT)


@pytest.mark.parametrize("value", ["import", {}, {"job": ""}, {"job": "a", "same": []}, {"job": "a", "when": "now"}])
def test_an_invalid_after_rule_is_refused_with_advice(value: object) -> None:
    with pytest.raises(InvalidSchedule, match="write"):
        parse_after("after", value)
