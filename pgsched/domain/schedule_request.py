"""Checks that the parts of a scheduling request fit together.

``check_request`` in the database makes the same checks for SQL callers.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Unpack

from pgsched.domain.duration import NO_TIME, check_duration, length_of
from pgsched.domain.recurrence import recurrence
from pgsched.domain.recurrence_rules import Rules, parse_rules
from pgsched.domain.schedule import ScheduleParts, instant_of
from pgsched.errors import InvalidSchedule

_SOME_ANCHOR = datetime(2000, 1, 1, tzinfo=UTC)


def check_request(
    *,
    fire_at: str | datetime | None = None,
    delay: str | timedelta | None = None,
    rules: bytes | str | Mapping[str, Any] | None = None,
    **parts: Unpack[ScheduleParts],
) -> None:
    """Raises InvalidSchedule, with what to write instead, if the parts do not form a schedule.

    None means not given. A request without ``fire_at``, ``delay``, ``cron`` and ``every`` fires now. Does not detect
    that a job's bounds have passed, because that would require the current time.
    """
    cron, every = parts.get("cron"), parts.get("every")
    given = {"fire_at": fire_at, "delay": delay, "cron": cron, "every": every}
    kinds = [f'"{name}"' for name, value in given.items() if value is not None]
    if len(kinds) > 1:
        raise InvalidSchedule(
            f"{' and '.join(kinds)} cannot be combined: give at most one of them; if none is given, the execution "
            "fires now"
        )
    _only_with("cron", cron, gap=parts.get("gap"), overlap=parts.get("overlap"))
    _only_with("every", every, anchor=parts.get("anchor"))
    if cron is not None or every is not None:
        _check_job(parse_rules(rules), **parts)
        return
    _only_with("cron", cron, timezone=parts.get("timezone"))
    if rules is not None:
        raise InvalidSchedule('rules need "cron" or "every": leave the rules out, or give "cron" or "every"')
    if fire_at is not None:
        instant_of(fire_at, "fire_at")
    if delay is not None:
        _check_delay(delay)


def _check_job(rules: Rules, **parts: Unpack[ScheduleParts]) -> None:
    if parts.get("timezone") is not None and parts.get("every") is not None and not (rules.also or rules.exclude):
        raise InvalidSchedule(
            '"timezone" has no effect with "every" unless the rules contain "also" or "exclude": leave "timezone" out'
        )
    if parts.get("anchor") is None:
        parts["anchor"] = rules.starts_at or _SOME_ANCHOR
    elif rules.anchor is not None:
        raise InvalidSchedule('"anchor" is given twice, once in the rules: leave one of them out')
    recurrence(**parts, identity="", rules=rules)


def _only_with(kind: str, value: object, **companions: object) -> None:
    for name, companion in companions.items():
        if companion is not None and value is None:
            raise InvalidSchedule(f'"{name}" needs "{kind}": leave "{name}" out, or give "{kind}"')


def _check_delay(delay: str | timedelta) -> None:
    length = length_of(delay, '"delay"')
    if length != NO_TIME:
        check_duration(length)
