"""Shows when a schedule would fire."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Unpack

from pgsched.domain.recurrence import Recurrence, recurrence
from pgsched.domain.recurrence_rules import parse_rules
from pgsched.domain.schedule import Fire, ScheduleParts, from_parts
from pgsched.domain.schedule_request import check_request


def preview(
    *,
    after: datetime,
    count: int,
    fire_at: str | datetime | None = None,
    identity: str | None = None,
    rules: Mapping[str, Any] | None = None,
    **parts: Unpack[ScheduleParts],
) -> list[Fire]:
    """Returns the first ``count`` instants later than ``after``. Without an anchor, ``every`` counts from ``after``.

    The value of ``H`` in cron depends on ``identity``. Raises InvalidSchedule if the parts do not form a schedule.
    """
    check_request(fire_at=fire_at, rules=rules, **parts)
    if parts.get("cron") is None and parts.get("every") is None:
        return Recurrence(specs=(from_parts(fire_at=fire_at, **parts),)).fires(after, count)
    found = parse_rules(rules)
    if parts.get("every") is not None and parts.get("anchor") is None and found.anchor is None:
        parts["anchor"] = after
    most = count if found.max_runs is None else min(count, found.max_runs)
    return recurrence(**parts, identity=identity, rules=found).fires(after, most)
