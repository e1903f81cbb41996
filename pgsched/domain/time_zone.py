"""Time zones as sequences of spans of constant UTC offset, and the version of the time zone rules in this process."""

import re
import zoneinfo
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

from pgsched.domain.duration import SECOND
from pgsched.errors import InvalidSchedule

LAST_YEAR = 9000
"""Nothing recurs from this year onwards."""

HORIZON_YEARS = 50
"""Number of years to search for an instant. A fifth Monday in February can be 40 years away."""

_PROBE = timedelta(hours=12)  # no zone has ever changed its offset twice within half a day
_NOT_ZONES = {"localtime", "posixrules", "Factory", "posix", "right"}  # specific to one machine, or with leap seconds
_SOME_ZONE = Path("Europe", "Berlin")
_VERSION = re.compile(r"\d{4}[a-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetSpan:
    """A span of constant UTC offset, [opens, closes) in UTC. ``before`` and ``following`` are the offsets of the spans
    next to it.
    """

    opens: datetime
    closes: datetime
    before: timedelta
    offset: timedelta
    following: timedelta


def spans(timezone: str, instant: datetime) -> Iterator[OffsetSpan]:
    """Yields the spans from the one that contains ``instant`` (naive, UTC) to the horizon. Spans end at the end of a
    year at the latest.
    """
    opens = datetime(instant.year - 1, 1, 1)
    zone = zone_named(timezone)
    before = offset = zone.fromutc(opens.replace(tzinfo=zone)).replace(tzinfo=None) - opens
    for year in range(opens.year, min(opens.year + 1 + HORIZON_YEARS, LAST_YEAR)):
        for closes, following in _changes(timezone, year):
            if closes > instant:
                yield OffsetSpan(opens=opens, closes=closes, before=before, offset=offset, following=following)
            opens, before, offset = closes, offset, following


@lru_cache(maxsize=8192)
def _changes(timezone: str, year: int) -> tuple[tuple[datetime, timedelta], ...]:
    """Returns each change of offset in the year, as a naive UTC instant and the new offset. The last entry is the end
    of the year.
    """
    zone = zone_named(timezone)
    start, end = (datetime(any_year, 1, 1, tzinfo=zone) for any_year in (year, year + 1))  # UTC despite their tzinfo
    probes = [start + n * _PROBE for n in range((end - start) // _PROBE + 1)]
    offsets = [zone.fromutc(probe) - probe for probe in probes]
    steps = pairwise(zip(probes, offsets, strict=True))
    changes = [(_change_between(zone, early, late), new) for (early, old), (late, new) in steps if old != new]
    return tuple((at.replace(tzinfo=None), offset) for at, offset in (*changes, (end, offsets[-1])))


def _change_between(zone: ZoneInfo, early: datetime, late: datetime) -> datetime:
    """Returns the first whole second that has the offset of ``late`` rather than the offset of ``early``."""
    new = zone.fromutc(late) - late
    while late - early > SECOND:
        middle = early + (late - early) // (2 * SECOND) * SECOND
        early, late = (early, middle) if zone.fromutc(middle) - middle == new else (middle, late)
    return late


@lru_cache(maxsize=1024)
def zone_named(name: str) -> ZoneInfo:
    try:
        if len(name) > 100 or name.partition("/")[0] in _NOT_ZONES:
            raise ValueError(name)
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        known = {zone.casefold(): zone for zone in available_timezones() - _NOT_ZONES}
        near = get_close_matches(name[:64].casefold(), known, n=1)
        hint = known[near[0]] if near else "Europe/Berlin or UTC"
        problem = f"there is no time zone {name[:64]!r}: write an IANA name such as {hint}"
        raise InvalidSchedule(problem) from None


def version_in_use(places: Sequence[str] | None = None) -> str | None:
    """Returns the version of the time zone rules, such as ``2025b``, or None if it is unknown. ``places`` defaults to
    ``zoneinfo.TZPATH``.

    Like zoneinfo, uses the first place that contains a zone or, if there is none, the package ``tzdata``.
    """
    for place in map(Path, zoneinfo.TZPATH if places is None else places):
        if (place / _SOME_ZONE).is_file():
            return _version_at(place)
    try:
        return str(import_module("tzdata").IANA_VERSION)
    except (ImportError, AttributeError):
        return None


def _version_at(place: Path) -> str | None:
    for name in ("tzdata.zi", "+VERSION"):
        try:
            with (place / name).open(encoding="utf-8") as file:
                first = file.readline(100)
        except (OSError, UnicodeDecodeError):
            continue
        if found := _VERSION.search(first):
            return found[0]
    return None
