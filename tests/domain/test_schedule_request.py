"""Which schedule requests are refused and which are accepted."""

from typing import Any

import pytest

from pgsched.domain.schedule_request import check_request
from pgsched.errors import InvalidSchedule
from tests.invalid_schedules import INVALID_RULES


@pytest.mark.parametrize("arguments", [pytest.param(given, id=name) for name, given in INVALID_RULES])
def test_invalid_requests_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        check_request(**arguments)
    assert 20 < len(str(refusal.value)) < 400


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"fire_at": "2030-01-01T00:00:00Z"},
        {"delay": "0s"},
        {"delay": "10m"},
        {"every": "1.5s"},
        {"every": "1h", "anchor": "2026-01-01T00:00:00Z"},
        {"every": "1h", "timezone": "Europe/Berlin", "rules": {"exclude": ["2026-12-25"]}},
        {"every": "1h", "rules": {"anchor": "2026-01-01T00:00:00Z", "ends_at": "2027-01-01T00:00:00Z"}},
        {"every": "1h", "rules": {"after_completion": True, "max_runs": 5, "pause_after": 3}},
        {"cron": "H H * * *", "timezone": "Asia/Tokyo", "gap": "skip", "rules": {}},
        {
            "cron": "0 9 * * *",
            "rules": {"also": [{"every": "1h"}, {"fire_at": "2030-01-01T00:00:00Z"}], "jitter": "5m"},
        },
        {"cron": "0 9 * * *", "rules": {"starts_at": "2030-01-01T00:00:00Z", "ends_at": "2030-01-03T00:00:00Z"}},
        {"cron": "0 9 * * *", "rules": {"starts_at": None, "also": [{"cron": "H * * * *", "gap": None}]}},
        {"cron": "0 9 * * *", "rules": b'{"window": "30m", "on_overlap": "queue_one", "delete_after": "7d"}'},
    ],
)
def test_valid_requests_are_accepted(arguments: dict[str, Any]) -> None:
    check_request(**arguments)


def test_names_of_invalid_schedules_are_unique() -> None:
    names = [name for name, _ in INVALID_RULES]
    assert len(set(names)) == len(names) >= 60
