"""Decides when a planned row starts: at its instant, later by jitter, or at the emptiest time of its window."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from pgsched.domain.job_definition import Definition
from pgsched.domain.start_jitter import emptiest, jittered, slots
from pgsched.store.core.sql import statement
from pgsched.store.core.wire import LONG_AGO, Instants, to_datetime, to_instant

_Slot = tuple[int, int]
_PASSED = 1_000_000  # larger than any count


class Planning(NamedTuple):
    """A row to be planned in a partition for an instant of its job. If its window allows, the row starts no earlier
    than ``earliest``. Both times are wire counts.
    """

    job: Definition
    partition: int
    instant: int
    earliest: int = LONG_AGO


class _Window(NamedTuple):
    """A window whose emptiest slot is to be found; each slot is a pair of wire counts, from and to."""

    planning: Planning
    instant: datetime
    length: timedelta
    following: datetime | None
    slots: tuple[_Slot, ...]

    def start(self, counts: Mapping[tuple[int, _Slot], int]) -> int:
        partition, earliest = self.planning.partition, self.planning.earliest
        found = [counts[partition, slot] if slot[1] > earliest else _PASSED for slot in self.slots]
        start = to_instant(emptiest(self.planning.job.identity, self.instant, self.length, found, self.following))
        return max(start, earliest + 1) if min(found) < _PASSED else start


async def starts_of(connection: AsyncConnection[Any], plannings: Iterable[Planning]) -> list[int]:
    """Returns when each of these rows starts, as wire counts. Queries each partition once. Raises InvalidSchedule."""
    placed = [_place(planning) for planning in plannings]
    counts = await _waiting(connection, [window for window in placed if isinstance(window, _Window)])
    return [place.start(counts) if isinstance(place, _Window) else place for place in placed]


def _place(planning: Planning) -> int | _Window:
    rules = planning.job.parsed()
    if rules.spread is None:
        return planning.instant
    instant = to_datetime(planning.instant)
    following = planning.job.recurrence().next_instant(instant)
    if rules.jitter is not None:
        return to_instant(jittered(planning.job.identity, instant, rules.jitter, following))
    assert rules.window is not None
    end = instant + rules.window if following is None else min(instant + rules.window, following)
    edges = [*map(to_instant, slots(instant, rules.window, following)), to_instant(end)]
    return _Window(planning, instant, rules.window, following, tuple(pairwise(edges)))


async def _waiting(connection: AsyncConnection[Any], windows: Iterable[_Window]) -> dict[tuple[int, _Slot], int]:
    """Counts the rows that wait in each slot; slots shared by several windows are counted once."""
    wanted: dict[int, dict[_Slot, None]] = defaultdict(dict)
    for window in windows:
        wanted[window.planning.partition].update(dict.fromkeys(window.slots))
    asked = []
    for partition, found in wanted.items():
        lows, highs = zip(*found, strict=True)
        parameters = {"partition": partition, "lows": Instants(lows), "highs": Instants(highs)}
        cursor = await connection.execute(statement("jobs/crowding"), parameters, binary=True)
        asked.append((partition, found, cursor))
    counts: dict[tuple[int, _Slot], int] = {}
    for partition, found, cursor in asked:
        rows = await cursor.fetchall()
        counts.update({(partition, slot): row[0] for slot, row in zip(found, rows, strict=True)})
    return counts
