"""What happened to a schedule, in the words of the tables."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from zoneinfo import ZoneInfo

from tests.store.schedule.cells.rows import Row
from tests.store.schedule.cells.stage import Stage

_LATE = timedelta(minutes=10)
_BERLIN = ZoneInfo("Europe/Berlin")
_ACCOUNT = """
select id::text, status::text, scheduled_for, coalesce(instants, 1), reason
  from pgsched.status where status not in ('scheduled', 'retrying', 'held') and scheduled_for between %s and %s
 order by scheduled_for, finished_at
"""
_NEXT = "select scheduled_for from pgsched.status where status in ('scheduled', 'held') and fire_at < 'infinity'"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fate:
    """What happened to ``count`` consecutive instants."""

    words: str
    count: int
    at: datetime


def fates(stage: Stage, row: Row, since: datetime, until: datetime, *, times: bool = False) -> str:
    """What happened to the instants from ``since`` to ``until``, both included; ``times`` adds local times."""
    found = [
        _Fate(
            words=_words(stage, row, id, status, at, reason),
            count=count,
            at=stage.starts[id].at if id in stage.starts else at,
        )
        for id, status, at, count, reason in stage.db.execute(_ACCOUNT, [since, until])
    ]
    if not found:
        return "no instant"
    groups = [list(group) for _, group in groupby(found, key=lambda fate: fate.words)]
    return ", then ".join(_group(group, times=times) for group in groups)


def following(stage: Stage, since: datetime) -> str:
    """How long after an instant the next one is."""
    rows = stage.db.execute(_NEXT).fetchall()
    if not rows:
        return "nothing"
    [(found,)] = rows
    minutes = round((found - since) / timedelta(minutes=1))
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    parts = [f"{count} {unit}" for count, unit in ((days, "d"), (hours, "h"), (minutes, "min")) if count]
    return "next after " + " ".join(parts)


def _group(group: list[_Fate], *, times: bool) -> str:
    words, count = group[0].words, sum(fate.count for fate in group)
    if times and count == len(group):
        return f"{words} at {', '.join(_shown(fate.at) for fate in group)}"
    return words if count == 1 else f"{count} {words}".replace(" runs", " run")


def _shown(at: datetime) -> str:
    """Berlin time, where a time can come twice."""
    local = at.astimezone(_BERLIN)
    return f"second {local:%H:%M}" if local.fold else f"{local:%H:%M}"


def _words(stage: Stage, row: Row, id: str, status: str, nominal: datetime, reason: str | None) -> str:
    if status == "succeeded":
        return _ran(stage, row, id, nominal)
    if status == "running":
        return "is running"
    if status == "expired":
        return "expired"
    assert reason is not None
    return f"{status} ({'coalesced' if reason.startswith('coalesced_into ') else reason})"


def _ran(stage: Stage, row: Row, id: str, nominal: datetime) -> str:
    start = stage.starts[id]
    if start.towards_it is not None:
        return f"runs {start.towards_it}"
    if row.spread is not None and start.fire_at > nominal and not start.stands_for_others:
        stretch, words = row.spread
        assert start.fire_at - nominal < stretch
        nominal += stretch
        if start.at < nominal:
            return f"runs {words}"
    return "runs late" if start.at - nominal > _LATE else "runs"
