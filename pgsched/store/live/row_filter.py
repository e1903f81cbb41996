"""Which rows a claim reads: of which clients, and for which targets."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, LiteralString

from pgsched.domain.partitions import queue_of
from pgsched.store.core.wire import Uuids


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
