"""The rows of the tables: what is scheduled in each."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

Arguments = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The arguments for ``pgsched.schedule`` at a moment, and columns of the job for which it has no argument.

    ``spread`` is the time within which a run starts, and the words for it.
    """

    arguments: Callable[[datetime], Arguments]
    columns: Arguments = field(default_factory=dict)
    spread: tuple[timedelta, str] | None = None


def _once(**arguments: Any) -> Row:
    return Row(arguments=lambda made: arguments)


def _hourly(**rules: Any) -> Row:
    return Row(arguments=lambda made: {"every": HOUR} | ({"rules": rules} if rules else {}))


def _daily(**rules: Any) -> Row:
    return _cron("30 2 * * *", **rules)


def _cron(expression: str, columns: Arguments | None = None, **rules: Any) -> Row:
    given: Arguments = {"cron": expression, "timezone": "Europe/Berlin"} | ({"rules": rules} if rules else {})
    return Row(arguments=lambda made: given, columns=columns or {})


def _at(**options: Any) -> Row:
    return Row(arguments=lambda made: {"fire_at": made + HOUR} | ({"options": options} if options else {}))


def _bounded(name: str, after: timedelta) -> Row:
    return Row(arguments=lambda made: {"every": HOUR, "rules": {name: (made + after).isoformat()}})


def _day_off(made: datetime) -> Arguments:
    return {
        "cron": "30 2 * * *",
        "timezone": "Europe/Berlin",
        "rules": {"exclude": [f"{made + 2 * DAY:%Y-%m-%d}"]},
    }


SPECS = {
    "now": _once(),
    "`fire_at`": _at(),
    "`delay`": _once(delay=HOUR),
    "`every: 1h`": _hourly(),
    "`every: 1h`, `after_completion`": _hourly(after_completion=True),
    "`after_completion`, `ends_at` in 2 h": Row(
        arguments=lambda made: {
            "every": HOUR,
            "rules": {"after_completion": True, "ends_at": (made + 2 * HOUR).isoformat()},
        }
    ),
    "`cron: 30 2 * * *` (fixed time)": _daily(),
    "`cron: 0 * * * *` (elapsed time)": _cron("0 * * * *"),
    "`cron: H 2 * * *`": _cron("H 2 * * *"),
    "`also`: `30 2 * * *` and `0 3 * * *`": _daily(also=[{"cron": "0 3 * * *"}]),
    "`exclude` of the next day: `30 2 * * *`": Row(arguments=_day_off),
    "`exclude` of an hour: `0 * * * *` without `* 2 * * *`": _cron("0 * * * *", exclude=["* 2 * * *"]),
    "`starts_at` in 2 h: `every: 1h`": _bounded("starts_at", 2 * HOUR),
    "`ends_at` in 2 h: `every: 1h`": _bounded("ends_at", 2 * HOUR),
    "`max_runs: 1`: `every: 1h`": _hourly(max_runs=1),
    "`jitter: 20m`: `every: 1h`": Row(
        arguments=_hourly(jitter="20m").arguments, spread=(timedelta(minutes=20), "in its jitter")
    ),
    "`window: 20m`: `every: 1h`": Row(
        arguments=_hourly(window="20m").arguments, spread=(timedelta(minutes=20), "in its window")
    ),
    "`relevant_for: 10m`: `fire_at`": _at(relevant_for="10m"),
    "`relevant_for: 1m`: `every: 1h`": Row(
        arguments=lambda made: {"every": HOUR, "options": {"relevant_for": "1m"}},
    ),
}

CLOCKS = {
    "`gap: shift` (default)": _cron("30 2 * * *", {"gap": "shift"}),
    "`gap: skip`": _cron("30 2 * * *", {"gap": "skip"}),
    "`overlap: first` (default)": _cron("30 2 * * *", {"overlap": "first"}),
    "`overlap: second`": _cron("30 2 * * *", {"overlap": "second"}),
    "`overlap: both`": _cron("30 2 * * *", {"overlap": "both"}),
}

OVERLAP = {
    "`skip` (default)": _hourly(),
    "`allow`": _hourly(on_overlap="allow"),
    "`queue_one`": _hourly(on_overlap="queue_one"),
    "`queue_all`": _hourly(on_overlap="queue_all"),
    "`cancel_running`": _hourly(on_overlap="cancel_running"),
}

MISSED = {
    "`latest` (default)": _hourly(on_missed="latest"),
    "`all`": _hourly(on_missed="all"),
    "`skip`": _hourly(on_missed="skip"),
    "`latest`, `catch_up: 2h`": _hourly(on_missed="latest", catch_up="2h"),
    "`all`, `catch_up: 2h`": _hourly(on_missed="all", catch_up="2h"),
    "`skip`, `catch_up: 2h`": _hourly(on_missed="skip", catch_up="2h"),
}
