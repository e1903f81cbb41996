"""Parses the ``rules`` of a recurring job, a JSON object, and fills in their defaults.

The database checks the form of rules too (``interface/jobs/recurrence_rules.sql``), for jobs inserted by SQL. But only
Python can tell whether a job ever fires under its rules. Rules are checked before anything is sent, so that a mistake
does not abort the caller's transaction.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import orjson

from pgsched.domain.bounded_cache import Memo
from pgsched.domain.duration import parse_duration
from pgsched.domain.excluded_times import Exclusion, begins_with_a_date, parse_exclusion
from pgsched.domain.headers import shown
from pgsched.domain.json_values import encode_json
from pgsched.domain.schedule import Every, Schedule, from_parts, instant_of
from pgsched.domain.upstream_run import After, parse_after
from pgsched.errors import InvalidSchedule

MOST_PATTERNS = 20
"""Maximum number of cron expressions in ``exclude``. Unlike a date, each expression slows down every search for an
instant."""

_EXAMPLE = 'write an object such as {"exclude": ["2026-12-25"], "jitter": "5m"}'


class OnOverlap(StrEnum):
    """What to do with an instant that comes due while an earlier run of its job is still running."""

    SKIP = "skip"
    ALLOW = "allow"
    QUEUE_ONE = "queue_one"
    QUEUE_ALL = "queue_all"
    CANCEL_RUNNING = "cancel_running"


class OnMissed(StrEnum):
    """What to do with instants that passed while nothing ran."""

    LATEST = "latest"
    ALL = "all"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Also:
    """A further schedule of a job, as written. Missing parts come from the job."""

    cron: str | None = None
    every: str | None = None
    fire_at: str | None = None
    timezone: str | None = None
    gap: str | None = None
    overlap: str | None = None
    anchor: str | None = None

    def schedule(self, *, timezone: str | None, anchor: str | datetime | None, identity: str | None) -> Schedule:
        """Builds the schedule for a job with this time zone, anchor and identity. Raises InvalidSchedule if it is
        invalid.
        """
        zone = timezone if self.timezone is None and self.cron is not None else self.timezone
        start = anchor if self.anchor is None and self.every is not None else self.anchor
        parts = {
            "fire_at": self.fire_at,
            "cron": self.cron,
            "every": self.every,
            "gap": self.gap,
            "overlap": self.overlap,
        }
        return from_parts(**parts, timezone=zone, anchor=start, identity=identity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules that add, exclude, bound, spread out and make up for a recurring job's instants.

    ``also`` adds instants to the job's own schedule, and ``exclude`` removes instants. The job fires from ``starts_at``
    until ``ends_at`` (exclusive), at most ``max_runs`` times. ``jitter`` is the maximum delay of a start; with
    ``window``, runs start in the emptiest part of the window. ``after_completion`` counts the interval from the end of
    the previous run. ``catch_up`` is the maximum age of missed instants that are made up for; None means no limit, or a
    minute with ``OnMissed.SKIP``. ``pause_after`` is the number of consecutive failures that pause the job.
    ``delete_after`` is the time from the job's end to its deletion. ``after`` makes each run wait for a run of another
    job.
    """

    also: tuple[Also, ...] = ()
    exclude: tuple[Exclusion, ...] = ()
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    max_runs: int | None = None
    jitter: timedelta | None = None
    window: timedelta | None = None
    anchor: datetime | None = None
    after_completion: bool = False
    on_overlap: OnOverlap = OnOverlap.SKIP
    on_missed: OnMissed = OnMissed.LATEST
    catch_up: timedelta | None = None
    pause_after: int | None = None
    delete_after: timedelta | None = None
    after: After | None = None

    @property
    def spread(self) -> timedelta | None:
        """The maximum delay of a run after its instant, or None if each run starts at its instant."""
        return self.jitter or self.window


NO_RULES = Rules()
_ENTRY = 500  # bytes that a few rules take
_known = Memo[Rules](16 * 1024 * 1024)


def parse_rules(raw: bytes | str | Mapping[str, Any] | None) -> Rules:
    """Parses the rules in a JSON object. None means the defaults; a key that is missing or null also means its default.

    Memoised by text. Raises InvalidSchedule, with what to write instead, for an unknown key, a wrong type, a value out
    of range, or contradictory keys.
    """
    if raw is None:
        return NO_RULES
    if isinstance(raw, bytes | str):
        return _parsed(raw)
    try:
        return _parsed(encode_json(raw))
    except TypeError:
        raise InvalidSchedule(f"rules cannot be written as JSON: {_EXAMPLE}") from None


def _parsed(raw: bytes | str) -> Rules:
    return _known.get(raw) or _known.put(raw, _read(raw), _ENTRY + 4 * len(raw))


def _read(raw: bytes | str) -> Rules:
    try:
        given = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise InvalidSchedule(f"rules are not JSON ({error}): {_EXAMPLE}") from None
    if not isinstance(given, dict):
        raise InvalidSchedule(f"rules must be a JSON object: {_EXAMPLE}")
    given = {key: value for key, value in given.items() if value is not None}
    _check_completion(given)
    parsed = {key: _parser(key)(key, value) for key, value in given.items()}
    if parsed.get("on_missed") is OnMissed.ALL:  # to make up for all missed instants, runs must follow one another
        parsed.setdefault("on_overlap", OnOverlap.QUEUE_ALL)
    rules = Rules(**parsed)
    _check_bounds(rules)
    if rules.jitter is not None and rules.window is not None:
        raise InvalidSchedule("jitter and window cannot be combined: leave one of them out")
    return rules


def _check_completion(given: dict[str, Any]) -> None:
    """Refuses rules that contradict ``after_completion``. With it, each instant depends on the end of a run, so no
    instant can be added, excluded or missed."""
    if given.get("after_completion") is not True:
        return
    for key in ("also", "exclude", "jitter", "window", "on_overlap", "on_missed", "catch_up", "after"):
        if key in given:
            raise InvalidSchedule(f'"{key}" cannot be combined with "after_completion": leave one of them out')


def _check_bounds(rules: Rules) -> None:
    if rules.starts_at and rules.ends_at and rules.ends_at <= rules.starts_at:
        raise InvalidSchedule("ends_at must be later than starts_at: write a later ends_at, or leave it out")
    for item in rules.also:
        at = instant_of(item.fire_at, "fire_at") if item.fire_at is not None else None
        if at and ((rules.starts_at and at < rules.starts_at) or (rules.ends_at and at >= rules.ends_at)):
            raise InvalidSchedule(
                f'fire_at {item.fire_at} in "also" is not between starts_at and ends_at: leave this item out'
            )


def _parser(key: str) -> Callable[[str, Any], Any]:
    parser = _PARSERS.get(key)
    if parser is None:
        raise InvalidSchedule(f"there is no rule {key[:64]!r}; the rules are {', '.join(_PARSERS)}")
    return parser


def _also(key: str, value: Any) -> tuple[Also, ...]:
    return tuple(_one_more(item) for item in _items(key, value, 20, '[{"cron": "0 9 * * SAT"}]'))


def _one_more(item: Any) -> Also:
    wanted = 'each item of "also" must be an object such as {"cron": "0 9 * * SAT"}, {"every": "1h"} or {"fire_at": …}'
    if not isinstance(item, dict):
        raise InvalidSchedule(f"{wanted} (got {shown(item)})")
    given = {name: text for name, text in item.items() if text is not None}
    if unknown := sorted(given.keys() - set(Also.__slots__)):
        raise InvalidSchedule(f'an item of "also" cannot contain {unknown[0][:64]!r}: {wanted}')
    for name, text in given.items():
        if not isinstance(text, str):
            raise InvalidSchedule(f'in "also": {name} must be a string, not {shown(text)}')
    found = Also(**given)
    _check_item(found)
    return found


def _check_item(item: Also) -> None:
    """Checks an item independently of its job, with an arbitrary time zone, anchor and identity."""
    try:
        schedule = item.schedule(timezone="UTC", anchor="2000-01-01T00:00:00Z", identity="")
    except InvalidSchedule as error:
        raise InvalidSchedule(f'in "also": {error}') from None
    if isinstance(schedule, Every):
        check_whole_seconds(schedule)


def check_whole_seconds(every: Every) -> None:
    """Raises InvalidSchedule unless the interval is whole seconds. Other intervals cannot be combined with ``also`` or
    ``exclude``.
    """
    if every.interval % timedelta(seconds=1):
        raise InvalidSchedule(
            'with "also" or "exclude", "every" must be a whole number of seconds: write PT2S rather than PT1.5S'
        )


def _exclude(key: str, value: Any) -> tuple[Exclusion, ...]:
    items = _items(key, value, 1000, '["2026-12-25", "* 0-6 * * SAT,SUN"]')
    for item in items:
        if not isinstance(item, str):
            raise InvalidSchedule(f'each item of "exclude" must be a string (got {shown(item)})')
    if sum(not begins_with_a_date(item) for item in items) > MOST_PATTERNS:
        raise InvalidSchedule(
            f'"exclude" has over {MOST_PATTERNS} cron expressions: merge some of them with lists and ranges'
        )
    return tuple(parse_exclusion(item) for item in items)


def _items(key: str, value: Any, most: int, example: str) -> list[Any]:
    if not isinstance(value, list) or not 1 <= len(value) <= most:
        raise InvalidSchedule(f'"{key}" must be a list of 1 to {most} items, such as {example}, or be left out')
    return value


def _span(low: str, high: str) -> Callable[[str, Any], timedelta]:
    shortest, longest = parse_duration(low), parse_duration(high)

    def parse(key: str, value: Any) -> timedelta:
        wanted = f'{key} must be a duration from {low} to {high}, such as "PT5M" or "5m"'
        if not isinstance(value, str):
            raise InvalidSchedule(f"{wanted} (got {shown(value)})")
        try:
            length = parse_duration(value)
        except InvalidSchedule as error:
            raise InvalidSchedule(f"{wanted}: {error}") from None
        if not shortest <= length <= longest:
            raise InvalidSchedule(f"{wanted} (got {shown(value)})")
        return length

    return parse


def _number(most: int) -> Callable[[str, Any], int]:
    def parse(key: str, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise InvalidSchedule(f'"{key}" must be a whole number from 1 to {most} (got {shown(value)})')
        return value

    return parse


def _choice(kind: type[StrEnum]) -> Callable[[str, Any], StrEnum]:
    def parse(key: str, value: Any) -> StrEnum:
        if not isinstance(value, str) or value not in list(kind):
            raise InvalidSchedule(f'"{key}" cannot be {shown(value)}: write one of {", ".join(kind)}')
        return kind(value)

    return parse


def _instant(key: str, value: Any) -> datetime:
    if not isinstance(value, str):
        raise InvalidSchedule(f'"{key}" must be an instant such as 2026-03-01T09:00:00Z (got {shown(value)})')
    return instant_of(value, key)


def _truth(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidSchedule(f'"{key}" must be true or false (got {shown(value)})')
    return value


_PARSERS: dict[str, Callable[[str, Any], Any]] = {
    "also": _also,
    "exclude": _exclude,
    "starts_at": _instant,
    "ends_at": _instant,
    "max_runs": _number(1_000_000_000),
    "jitter": _span("1ms", "24h"),
    "window": _span("1s", "24h"),
    "anchor": _instant,
    "after_completion": _truth,
    "on_overlap": _choice(OnOverlap),
    "on_missed": _choice(OnMissed),
    "catch_up": _span("1s", "3653d"),
    "pause_after": _number(1000),
    "delete_after": _span("1s", "3653d"),
    "after": parse_after,
}
