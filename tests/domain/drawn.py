"""Random recurrences around DST changes, each with a simple model of the expected result."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from pgsched.domain.recurrence import Recurrence, recurrence
from pgsched.domain.recurrence_rules import parse_rules
from pgsched.domain.schedule import from_parts, next_instant

CHANGES = [
    ("Europe/Berlin", "2026-03-29T01:00"),
    ("Europe/Berlin", "2026-10-25T01:00"),
    ("America/New_York", "2026-03-08T07:00"),
    ("America/New_York", "2026-11-01T06:00"),
    ("Australia/Lord_Howe", "2026-04-04T15:00"),
    ("Australia/Lord_Howe", "2026-10-03T15:30"),
    ("Pacific/Apia", "2011-12-30T10:00"),
    ("Africa/Casablanca", "2026-02-15T02:00"),
    ("Africa/Casablanca", "2026-03-22T02:00"),
    ("America/Havana", "2026-11-01T05:00"),
    ("UTC", "2026-12-31T23:59"),
]
_SPAN = timedelta(hours=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """An item of ``exclude``. ``takes`` returns whether it excludes the instant of a local time."""

    text: str
    takes: Callable[[datetime], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Arguments of ``recurrence``, and the DST change to test around."""

    arguments: dict[str, Any]
    rules: dict[str, Any]
    exclusions: list[Exclusion]
    change: datetime

    def recurrence(self) -> Recurrence:
        return recurrence(**self.arguments, rules=parse_rules(self.rules))

    def instants(self) -> list[datetime]:
        """Returns the expected instants in order: steps through each schedule and checks every exclusion."""
        low, high = self.change - _SPAN, self.change + _SPAN
        zone, anchor = self.arguments["timezone"], self.arguments["anchor"]
        own = {key: self.arguments[key] for key in ("cron", "every", "gap", "overlap") if key in self.arguments}
        found = set[datetime]()
        for item in [own, *self.rules.get("also", [])]:
            parts = ({"timezone": zone} if "cron" in item else {"anchor": anchor} if "every" in item else {}) | item
            schedule, at = from_parts(**parts), low
            while (following := next_instant(schedule, at)) is not None and following <= high:
                found.add(at := following)
        clock = ZoneInfo(zone)
        return sorted(at for at in found if not any(item.takes(at.astimezone(clock)) for item in self.exclusions))


def _some(low: int, high: int, most: int = 3) -> st.SearchStrategy[set[int]]:
    return st.sets(st.integers(low, high), min_size=1, max_size=most)


def _text(values: set[int] | None) -> str:
    return "*" if values is None else ",".join(map(str, sorted(values)))


_minutes = st.one_of(_some(0, 59), st.sampled_from([{0, 30}, {0}, None]))
_hours = st.one_of(_some(0, 23, 8), st.sampled_from([{1, 2, 3}, {0, 23}, None]))
_weekdays = st.one_of(st.none(), _some(0, 6, 6))
_zones = st.sampled_from(sorted({zone for zone, _ in CHANGES}))


@st.composite
def _crons(draw: st.DrawFn) -> dict[str, str]:
    fields = [_text(draw(strategy)) for strategy in (_minutes, _hours)]
    weekdays = _text(draw(_weekdays))
    seconds = draw(st.sampled_from(["", "", "", "0,20 ", "59 "]))
    policies = {"gap": draw(st.sampled_from(["shift", "skip"]))}
    policies["overlap"] = draw(st.sampled_from(["first", "second", "both"]))
    return {"cron": f"{seconds}{' '.join(fields)} * * {weekdays}", **policies}


_everies = st.integers(300, 200_000).map(lambda seconds: {"every": f"{seconds}s"})
_own_anchors = st.sampled_from([{}, {"anchor": "2026-03-01T09:00:00.5Z"}, {"anchor": "2011-12-29T09:00:00.25Z"}])


@st.composite
def _also(draw: st.DrawFn, change: datetime) -> dict[str, str]:
    kind = draw(st.sampled_from(["cron", "every", "fire_at"]))
    if kind == "cron":
        return draw(_crons()) | draw(st.one_of(st.just({}), _zones.map(lambda zone: {"timezone": zone})))
    if kind == "every":
        return draw(_everies) | draw(_own_anchors)
    return {"fire_at": (change + timedelta(seconds=draw(st.integers(-90_000, 90_000)))).isoformat()}


@st.composite
def _exclusions(draw: st.DrawFn, change: datetime) -> Exclusion:
    match draw(st.sampled_from(["days", "stretch", "pattern"])):
        case "days":
            return _days_out(change.date() + timedelta(days=draw(st.integers(-2, 1))), draw(st.integers(0, 1)))
        case "stretch":
            start = change + timedelta(seconds=draw(st.integers(-90_000, 90_000)), milliseconds=draw(st.integers(0, 9)))
            end = start + timedelta(seconds=draw(st.integers(1, 20_000)))
            text = f"{start.isoformat()}/{end.isoformat()}"
            return Exclusion(text=text, takes=lambda at: start <= at < end)
        case _:
            return _pattern_out(draw(_minutes), draw(_hours), draw(_weekdays), draw(st.sampled_from([None, {0, 59}])))


def _days_out(first: date, further: int) -> Exclusion:
    last = first + timedelta(days=further)
    text = f"{first}/{last}" if further else str(first)
    return Exclusion(text=text, takes=lambda at: first <= at.date() <= last)


def _pattern_out(
    minutes: set[int] | None, hours: set[int] | None, weekdays: set[int] | None, seconds: set[int] | None
) -> Exclusion:
    text = f"{_text(minutes)} {_text(hours)} * * {_text(weekdays)}"

    def takes(at: datetime) -> bool:
        shown = [(at.second, seconds), (at.minute, minutes), (at.hour, hours), (at.isoweekday() % 7, weekdays)]
        return all(allowed is None or value in allowed for value, allowed in shown)

    return Exclusion(text=text if seconds is None else f"{_text(seconds)} {text}", takes=takes)


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    """Draws a recurrence with up to three additional schedules and up to three exclusions."""
    zone, text = draw(st.sampled_from(CHANGES))
    change = datetime.fromisoformat(text).replace(tzinfo=UTC)
    own = draw(st.one_of(_crons(), _everies))
    also = draw(st.lists(_also(change), max_size=3))
    exclusions = draw(st.lists(_exclusions(change), max_size=3))
    rules: dict[str, Any] = {"also": also} if also else {}
    if exclusions:
        rules["exclude"] = [item.text for item in exclusions]
    arguments = {**own, "timezone": zone, "anchor": "2011-12-01T00:00:00.125Z"}
    return Drawn(arguments=arguments, rules=rules, exclusions=exclusions, change=change)
