"""Shows when a schedule would fire, before it is used."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from pgsched.domain.recurrence import recurrence
from pgsched.domain.request import check_request
from pgsched.domain.rules import parse_rules
from pgsched.domain.schedule import Fire, from_parts, next_fires


def preview(
    *,
    after: datetime,
    count: int,
    at: str | datetime | None = None,
    cron: str | None = None,
    every: str | timedelta | None = None,
    timezone: str | None = None,
    gap: str | None = None,
    overlap: str | None = None,
    anchor: str | datetime | None = None,
    identity: str | None = None,
    rules: Mapping[str, Any] | None = None,
) -> list[Fire]:
    """The first ``count`` instants later than ``after``; ``every`` counts from there where nothing else is said.

    ``identity`` is what an ``H`` in cron is drawn from. Raises InvalidSchedule for what makes no schedule.
    """
    spec: dict[str, Any] = {
        "cron": cron,
        "every": every,
        "timezone": timezone,
        "gap": gap,
        "overlap": overlap,
        "anchor": anchor,
    }
    check_request(at=at, **spec, rules=rules)
    if cron is None and every is None:
        return next_fires(from_parts(at=at, **spec), after=after, count=count)
    found = parse_rules(rules)
    if every is not None and anchor is None and found.anchor is None:
        spec["anchor"] = after
    most = count if found.max_runs is None else min(count, found.max_runs)
    return recurrence(**spec, identity=identity, rules=found).fires(after, most)
