"""Schedules that nobody can mean, as plain data: to be refused alike wherever a schedule is given."""

from typing import Any

_DAILY = {"cron": "0 9 * * *"}
_HOURLY = {"every": "1h"}


def _cron(expression: str, **further: Any) -> dict[str, Any]:
    return {"cron": expression, **further}


def _daily(**rules: Any) -> dict[str, Any]:
    return {**_DAILY, "rules": rules}


def _hourly(**rules: Any) -> dict[str, Any]:
    return {**_HOURLY, "rules": rules}


INVALID_RULES: list[tuple[str, dict[str, Any]]] = [
    # Cron expressions.
    ("cron is empty", _cron("")),
    ("cron has four fields", _cron("* * * *")),
    ("cron has seven fields", _cron("0 0 0 1 1 * 2026")),
    ("minute out of range", _cron("60 * * * *")),
    ("hour out of range", _cron("0 24 * * *")),
    ("second out of range", _cron("60 * * * * *")),
    ("no such month", _cron("0 0 1 13 *")),
    ("no such weekday", _cron("0 0 * * FOO")),
    ("a step of nothing", _cron("*/0 * * * *")),
    ("a range of one", _cron("5-5 * * * *")),
    ("a day that never comes", _cron("0 0 31 2 *")),
    ("days that a month does not have", _cron("0 0 30,31 feb *")),
    ("a day that none of the months has", _cron("0 0 0 31 4,JUN,09,11 ?")),
    ("a range of days that never come", _cron("0 0 30-31 2 *")),
    ("a random value", _cron("R * * * *")),
    ("H over a range that is none", _cron("H(70-80) * * * *")),
    ("a macro nobody knows", _cron("@reboot")),
    ("the zone inside the expression", _cron("TZ=UTC 0 0 * * *")),
    ("words for a cron", _cron("every monday at nine")),
    # Zones and their policies.
    ("no such zone", _cron("0 9 * * *", timezone="Europe/Berlim")),
    ("an offset for a zone", _cron("0 9 * * *", timezone="+02:00")),
    ("a path for a zone", _cron("0 9 * * *", timezone="../../etc/passwd")),
    ("an empty zone", _cron("0 9 * * *", timezone="")),
    ("no such gap", _cron("0 9 * * *", gap="wait")),
    ("no such overlap", _cron("0 9 * * *", overlap="third")),
    ("a zone with an interval", {"every": "1h", "timezone": "Europe/Berlin"}),
    ("a gap with an interval", {"every": "1h", "gap": "skip"}),
    ("an overlap with an interval", {"every": "1h", "overlap": "both"}),
    # Intervals, delays, instants.
    ("an interval of nothing", {"every": "0s"}),
    ("an interval under a second", {"every": "500ms"}),
    ("an interval over ten years", {"every": "4000d"}),
    ("an interval in months", {"every": "P1M"}),
    ("an interval without a unit", {"every": "60"}),
    ("a negative interval", {"every": "-1h"}),
    ("a delay without a unit", {"delay": "10"}),
    ("a negative delay", {"delay": "-PT5S"}),
    ("an instant without an offset", {"at": "2030-01-01T00:00:00"}),
    ("an instant on a day that is none", {"at": "2030-02-30T00:00:00Z"}),
    ("words for an instant", {"at": "tomorrow"}),
    # Kinds that exclude each other.
    ("cron and every", {"cron": "0 9 * * *", "every": "1h"}),
    ("at and cron", {"at": "2030-01-01T00:00:00Z", "cron": "0 9 * * *"}),
    ("at and delay", {"at": "2030-01-01T00:00:00Z", "delay": "5s"}),
    ("a delay and an interval", {"delay": "5s", "every": "1h"}),
    ("rules for a single instant", {"at": "2030-01-01T00:00:00Z", "rules": {"jitter": "5m"}}),
    ("rules for a delay", {"delay": "5s", "rules": {"max_runs": 3}}),
    # Rules as a whole.
    ("a rule nobody knows", _daily(skip_holidays=True)),
    ("rules as a list", {**_DAILY, "rules": [{"max_runs": 3}]}),
    ("rules as text", {**_DAILY, "rules": "max_runs"}),
    ("rules as a number", {**_DAILY, "rules": 5}),
    # Further schedules.
    ("also is no list", _daily(also={"cron": "0 10 * * *"})),
    ("also is empty", _daily(also=[])),
    ("also has too many", _daily(also=[{"cron": f"{n} 10 * * *"} for n in range(21)])),
    ("also has text", _daily(also=["0 10 * * *"])),
    ("also has nothing in an item", _daily(also=[{}])),
    ("also has a key nobody knows", _daily(also=[{"cron": "0 10 * * *", "zone": "UTC"}])),
    ("also has two kinds in an item", _daily(also=[{"cron": "0 10 * * *", "every": "1h"}])),
    ("also has a bad cron", _daily(also=[{"cron": "0 25 * * *"}])),
    ("also has a bad zone", _daily(also=[{"cron": "0 10 * * *", "timezone": "Mars/Phobos"}])),
    ("also has a bad interval", _daily(also=[{"every": "0s"}])),
    ("also has half seconds", _daily(also=[{"every": "1.5s"}])),
    ("also has an instant without offset", _daily(also=[{"at": "2030-01-01T00:00:00"}])),
    ("also has a zone for an interval", _daily(also=[{"every": "1h", "timezone": "Europe/Berlin"}])),
    ("also has an anchor for a cron", _daily(also=[{"cron": "0 10 * * *", "anchor": "2026-01-01T00:00:00Z"}])),
    ("also has a number", _daily(also=[{"every": 3600}])),
    ("also has an instant before the start", _daily(also=[{"at": "2030-01-01T00:00:00Z"}], starts_at="2031-01-01T00Z")),
    ("also has an instant at the end", _daily(also=[{"at": "2030-01-01T00:00:00Z"}], ends_at="2030-01-01T00:00:00Z")),
    # Exclusions.
    ("exclude is no list", _daily(exclude="2026-12-25")),
    ("exclude is empty", _daily(exclude=[])),
    ("exclude has too many", _daily(exclude=["2026-12-25"] * 1001)),
    ("exclude has a number", _daily(exclude=[20261225])),
    ("exclude has a day that is none", _daily(exclude=["2026-02-29"])),
    ("exclude has a backward range", _daily(exclude=["2026-12-31/2026-12-24"])),
    ("exclude has three ends", _daily(exclude=["2026-12-24/2026-12-25/2026-12-26"])),
    ("exclude joins a date and an instant", _daily(exclude=["2026-12-24/2026-12-31T06:00:00Z"])),
    ("exclude has a single instant", _daily(exclude=["2026-12-24T18:00:00Z"])),
    ("exclude has instants without offset", _daily(exclude=["2026-12-24T18:00:00/2026-12-27T06:00:00"])),
    ("exclude has a stretch of nothing", _daily(exclude=["2026-12-24T18:00:00Z/2026-12-24T18:00:00Z"])),
    ("exclude has a century", _daily(exclude=["2026-01-01/2126-01-01"])),
    ("exclude has a bad cron", _daily(exclude=["* 25 * * *"])),
    ("exclude has words", _daily(exclude=["christmas"])),
    ("exclude has an H", _daily(exclude=["H H * * *"])),
    ("exclude has a day that never comes", _daily(exclude=["* * 31 2 *"])),
    ("everything is excluded", _daily(exclude=["* * * * *"])),
    ("each instant is excluded", _daily(exclude=["0 9 * * *"])),
    ("half seconds with days excluded", {"every": "1.5s", "rules": {"exclude": ["2026-12-25"]}}),
    # Bounds.
    ("a start without offset", _daily(starts_at="2026-01-01T00:00:00")),
    ("a start that is a number", _daily(starts_at=1767225600)),
    ("a start that is no instant", _daily(starts_at="soon")),
    ("an end without offset", _daily(ends_at="2026-01-01")),
    ("an end before the start", _daily(starts_at="2030-01-02T00:00:00Z", ends_at="2030-01-01T00:00:00Z")),
    ("an end at the start", _daily(starts_at="2030-01-01T09:00:00Z", ends_at="2030-01-01T10:00:00+01:00")),
    ("nothing between start and end", _daily(starts_at="2030-01-01T10:00:00Z", ends_at="2030-01-01T11:00:00Z")),
    ("no runs", _daily(max_runs=0)),
    ("a negative number of runs", _daily(max_runs=-1)),
    ("too many runs", _daily(max_runs=1_000_000_001)),
    ("one and a half runs", _daily(max_runs=1.5)),
    ("runs as text", _daily(max_runs="10")),
    ("runs as a truth", _daily(max_runs=True)),
    # Jitter and windows.
    ("jitter of nothing", _daily(jitter="0s")),
    ("jitter too fine", _daily(jitter="PT0.0005S")),
    ("jitter over a day", _daily(jitter="25h")),
    ("jitter as a number", _daily(jitter=300)),
    ("jitter without a unit", _daily(jitter="300")),
    ("a window under a second", _daily(window="500ms")),
    ("a window over a day", _daily(window="2d")),
    ("jitter and a window", _daily(jitter="5m", window="30m")),
    # Intervals from an anchor, or from the end of the run before.
    ("an anchor for a cron", _daily(anchor="2026-01-01T00:00:00Z")),
    ("an anchor without offset", _hourly(anchor="2026-01-01T00:00:00")),
    ("after completion with a cron", _daily(after_completion=True)),
    ("after completion as text", _hourly(after_completion="yes")),
    ("after completion with further schedules", _hourly(after_completion=True, also=[{"cron": "0 9 * * *"}])),
    ("after completion with exclusions", _hourly(after_completion=True, exclude=["2026-12-25"])),
    ("after completion with jitter", _hourly(after_completion=True, jitter="5m")),
    ("after completion with a window", _hourly(after_completion=True, window="5m")),
    ("after completion with overlap", _hourly(after_completion=True, on_overlap="allow")),
    ("after completion with missed instants", _hourly(after_completion=True, on_missed="all")),
    ("after completion with catching up", _hourly(after_completion=True, catch_up="1h")),
    # What becomes of instants and jobs.
    ("an overlap rule nobody knows", _daily(on_overlap="wait")),
    ("an overlap rule as a list", _daily(on_overlap=["skip"])),
    ("a missed rule nobody knows", _daily(on_missed="first")),
    ("a missed rule in capitals", _daily(on_missed="ALL")),
    ("catching up under a second", _daily(catch_up="500ms")),
    ("catching up over ten years", _daily(catch_up="3654d")),
    ("catching up as a number", _daily(catch_up=3600)),
    ("pausing after no failure", _daily(pause_after=0)),
    ("pausing after too many failures", _daily(pause_after=1001)),
    ("pausing as text", _daily(pause_after="5")),
    ("deleting at once", _daily(delete_after="0s")),
    ("deleting after too long", _daily(delete_after="4000d")),
    ("deleting in months", _daily(delete_after="P1M")),
]
"""Names, and arguments of which some are ``cron every timezone gap overlap at delay rules``: all InvalidSchedule."""
