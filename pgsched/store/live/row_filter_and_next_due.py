"""Decides which rows claims read. Polls for the earliest waiting instants and for parts of the backlog, without
locking.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, LiteralString, NamedTuple

from pgsched.domain.queue_partitions import queue_of
from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement_among, statement_over, together
from pgsched.store.core.wire import FAR_OFF, LONG_AGO, Instant, Uuids

_FILLING = 0.1  # writers stop sending notifications when the queue is half full


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Which rows a claim may read. If ``only`` is set, it is the only client whose rows are read. If not, all rows are
    read except those of the clients ``apart``, the one-shots of the clients ``held`` and, if ``plain``, rows that recur
    or have an ordering key. Rows that need a capability ``left`` to other workers (by queue number) are never read, nor
    are one-shots that need a capability that no worker has (``missed``).
    """

    held: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    only: str | None = None
    plain: bool = False
    left: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    missed: tuple[str, ...] = ()
    refused: tuple[bytes, ...] = ()
    """Ids of rows on which the database refuses every change."""
    latest_first: bool = False
    """Whether the rows due latest are read first."""
    first: bool = False
    """Whether only rows with a priority above 0 are read, highest first."""
    ordinary: bool = False
    """Whether rows with a priority below 0 are skipped."""
    planned: bool = False
    """Whether only the planned rows of jobs are read."""

    @property
    def is_by_priority(self) -> bool:
        """Whether priority decides which rows are read."""
        return self.first or self.ordinary

    @property
    def clauses(self) -> tuple[str, ...]:
        """The clauses of a statement that reads these rows; empty if it reads all rows."""
        return tuple(self._values())

    @property
    def order(self) -> LiteralString:
        """The sort direction of instants in a statement."""
        return " desc" if self.latest_first else ""

    def parameters_in(self, partition: int) -> dict[str, Any]:
        """Returns the parameters of the clauses, for this partition's queue."""
        values = self._values()
        if "left" in values:
            values["left"] = list(self.left.get(queue_of(partition), ()))
        return values

    def _values(self) -> dict[str, Any]:
        """Returns the value of each clause."""
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
        """Whether the filter skips rows only because of their targets."""
        return not (self.held or self.apart or self.plain) and self.only is None

    def plainly(self) -> "RowFilter":
        """Returns the same filter, but without rows that recur or are ordered."""
        return PLAIN if self is ALL_ROWS else replace(self, plain=True)


ALL_ROWS = RowFilter()
PLAIN = RowFilter(plain=True)


class Next(NamedTuple):
    """When the earliest waiting row of each partition fires, if there is one, and the database's time, as wire counts.
    ``is_silent`` means that the notification queue is filling up, so new rows might send no notifications.
    """

    due: dict[int, int]
    now: int
    is_silent: bool


async def next_due(
    connection: Connection, lows: Mapping[int, int], *, until: int = FAR_OFF, row_filter: RowFilter = ALL_ROWS
) -> Next:
    """Finds the earliest row that waits in each partition, between the partition's low mark and ``until``."""
    rows: list[tuple[Any, ...]] = []
    for partitions in together(lows):
        parameters: dict[str, Any] = {f"low_{p}": Instant(lows.get(p, FAR_OFF)) for p in partitions}
        parameters |= row_filter.parameters_in(partitions[0]) | {"until": Instant(until)}
        text = statement_over("live/next_due", partitions, row_filter.clauses)
        cursor = await connection.execute(text, parameters, binary=True)
        rows += await cursor.fetchall()
    return Next({row[0]: row[1] for row in rows if row[1] is not None}, rows[-1][2], rows[-1][3] > _FILLING)


async def has_priorities(connection: Connection, partitions: Sequence[int]) -> bool:
    """Whether any execution in these partitions has a priority. The check costs a fraction of a claim by priority."""
    text = statement_among("live/has_priorities", tuple(partitions))
    found = await (await connection.execute(text, binary=True)).fetchone()
    return found is not None and bool(found[0])


class WaitingRange(NamedTuple):
    """A part of the waiting rows of a partition, in wire counts. ``first`` is the earliest row that is not skipped, if
    there is one; ``read_to`` is where the part ends if there may be more rows after it.
    """

    first: int | None
    read_to: int | None


class InstantRange(NamedTuple):
    """The range of instants to search in a partition (wire counts, both inclusive)."""

    low: int
    until: int


_NOWHERE = InstantRange(FAR_OFF, LONG_AGO)


async def peek(
    connection: Connection, spans: Mapping[int, InstantRange], *, most: int, row_filter: RowFilter
) -> dict[int, WaitingRange]:
    """Searches the first ``most`` waiting rows of each partition's span for rows that are not skipped."""
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
