"""Which rows claims and looks read, and looks at what waits, which lock nothing: the earliest instant, a part of a
backlog.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, LiteralString, NamedTuple

from pgsched.domain.queue_partitions import queue_of
from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement_among, statement_over, together
from pgsched.store.core.wire import FAR_OFF, LONG_AGO, Instant, Uuids

_FILLING = 0.1  # writers notify until half of the queue is used


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Which rows a claim may read.

    The filter accepts the rows of one client (``only``), or the rows of all clients except those ``apart``, the
    one-shots of the clients ``held`` and, if it is ``plain``, everything that recurs or has an ordering key.

    In each case it rejects rows that need a capability ``left`` to other workers (by the queue's number), and
    one-shots that need a capability which no worker has (``missed``).
    """

    held: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    only: str | None = None
    plain: bool = False
    left: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    missed: tuple[str, ...] = ()
    refused: tuple[bytes, ...] = ()
    """Rows, by their ids, that the database lets nobody do anything with."""
    latest_first: bool = False
    """Whether they are read from the end, those that are due last before the others."""
    first: bool = False
    """Whether only rows of a priority above 0 are read, in the order of their priorities."""
    ordinary: bool = False
    """Whether rows of a priority below 0 are passed over."""
    planned: bool = False
    """Whether only the planned rows of jobs are read."""

    @property
    def is_by_priority(self) -> bool:
        """Whether priority decides which rows are read."""
        return self.first or self.ordinary

    @property
    def clauses(self) -> tuple[str, ...]:
        """The clauses of a statement that reads these rows; none where it reads all."""
        return tuple(self._values())

    @property
    def order(self) -> LiteralString:
        """What a statement says of the order in which instants are read."""
        return " desc" if self.latest_first else ""

    def parameters_in(self, partition: int) -> dict[str, Any]:
        """The parameters of the clauses, in the queue of this partition."""
        values = self._values()
        if "left" in values:
            values["left"] = list(self.left.get(queue_of(partition), ()))
        return values

    def _values(self) -> dict[str, Any]:
        """What each clause names."""
        values: dict[str, Any] = {
            "left": self.left,
            "missed": list(self.missed),
            "refused": self.refused and Uuids(self.refused),
            "ordinary": self.ordinary,
            "planned": self.planned,
        }
        if self.only is not None:
            values["only"] = self.only
        elif self.plain:
            values["plain"] = True
        else:
            values |= {"held": list(self.held), "apart": list(self.apart)}
        return {clause: value for clause, value in values.items() if value}

    @property
    def is_by_target(self) -> bool:
        """Whether it passes rows over for their targets only."""
        return not (self.held or self.apart or self.plain) and self.only is None

    def plainly(self) -> "RowFilter":
        """The same without what recurs or has an order."""
        return PLAIN if self is ALL_ROWS else replace(self, plain=True)


ALL_ROWS = RowFilter()
PLAIN = RowFilter(plain=True)


class Next(NamedTuple):
    """The earliest instant that waits in each partition, where there is one, and the database's time; wire counts.
    ``is_silent``: the queue of notifications is filling up, so that nobody may be told of what comes in."""

    due: dict[int, int]
    now: int
    is_silent: bool


async def next_due(
    connection: Connection, lows: Mapping[int, int], *, until: int = FAR_OFF, row_filter: RowFilter = ALL_ROWS
) -> Next:
    """What waits next from the low marks on, and not beyond ``until``."""
    rows: list[tuple[Any, ...]] = []
    for partitions in together(lows):
        parameters: dict[str, Any] = {f"low_{p}": Instant(lows.get(p, FAR_OFF)) for p in partitions}
        parameters |= row_filter.parameters_in(partitions[0]) | {"until": Instant(until)}
        text = statement_over("live/next_due", partitions, row_filter.clauses)
        cursor = await connection.execute(text, parameters, binary=True)
        rows += await cursor.fetchall()
    return Next({row[0]: row[1] for row in rows if row[1] is not None}, rows[-1][2], rows[-1][3] > _FILLING)


async def has_priorities(connection: Connection, partitions: Sequence[int]) -> bool:
    """Whether any execution there has a priority: to look is a fraction of what a claim by priority costs."""
    text = statement_among("live/has_priorities", tuple(partitions))
    found = await (await connection.execute(text, binary=True)).fetchone()
    return found is not None and bool(found[0])


class WaitingRange(NamedTuple):
    """A part of what waits in a partition; instants are wire counts. ``first`` is that of the earliest row that is not
    passed over, if there is one, ``read_to`` where the part ends if there may be more behind it."""

    first: int | None
    read_to: int | None


class InstantRange(NamedTuple):
    """The instants between which to look in a partition (wire counts, both included)."""

    low: int
    until: int


_NOWHERE = InstantRange(FAR_OFF, LONG_AGO)


async def peek(
    connection: Connection, spans: Mapping[int, InstantRange], *, most: int, row_filter: RowFilter
) -> dict[int, WaitingRange]:
    """Looks for rows that are not passed over among the first ``most`` waiting ones of each partition's span."""
    found: dict[int, WaitingRange] = {}
    for partitions in together(spans):
        parameters: dict[str, Any] = row_filter.parameters_in(partitions[0]) | {"most": most}
        for partition in partitions:
            low, until = spans.get(partition, _NOWHERE)
            parameters |= {f"low_{partition}": Instant(low), f"until_{partition}": Instant(until)}
        text = statement_over("live/peek", partitions, row_filter.clauses)
        cursor = await connection.execute(text, parameters, binary=True)
        found |= {row[0]: WaitingRange(*row[1:]) for row in await cursor.fetchall() if row[0] in spans}
    return found
