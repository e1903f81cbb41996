"""Which rows a claim reads: of which clients, and for which targets."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, LiteralString

from pgsched.domain.partitions import queue_of
from pgsched.store.core.wire import Uuids

_INDENT: LiteralString = "\n            "
_CAPABILITY: LiteralString = """case when due.target like 'kafka:%%' then 'kafka:'
                when due.target like 'sql:%%' then 'sql:' else due.target end"""

LEFT: LiteralString = _INDENT + "and " + _CAPABILITY + " <> all (%(left)s)"
"""Of rows ``due``, those that need none of the capabilities that are left to other workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Which rows a claim may read.

    The filter accepts the rows of one client (``only``), or the rows of all clients except those ``apart``, the
    one-shots of the clients ``held`` and, if it is ``plain``, everything that recurs or has an ordering key.

    In each case it rejects rows that need a capability ``left`` to other workers (by queue, which is partition // 16),
    and one-shots that need a capability which no worker has (``missed``).
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

    @property
    def condition(self) -> LiteralString:
        """What a statement says of the rows ``due`` beside their instants; nothing where all are read."""
        text: LiteralString = ""
        if self.left:
            text += LEFT
        if self.missed:
            text += _INDENT + "and (" + _CAPABILITY + " <> all (%(missed)s) or due.plan is not null)"
        if self.refused:
            text += _INDENT + "and due.id <> all (%(refused)s)"
        if self.only is not None:
            return text + _INDENT + "and due.client_id = %(only)s"
        if self.plain:
            return text + _INDENT + "and due.plan is null and due.ordering_key is null"
        if self.held:
            text += _INDENT + "and (due.client_id <> all (%(held)s) or due.plan is not null)"
        if self.apart:
            text += _INDENT + "and due.client_id <> all (%(apart)s)"
        return text

    @property
    def order(self) -> LiteralString:
        """What a statement says of the order in which instants are read."""
        return " desc" if self.latest_first else ""

    def parameters_in(self, partition: int) -> dict[str, Any]:
        """What the condition names, in the queue of this partition."""
        named: dict[str, Any] = {"missed": self.missed}
        if self.only is None and not self.plain:
            named |= {"held": self.held, "apart": self.apart}
        given: dict[str, Any] = {name: list(values) for name, values in named.items() if values}
        if self.only is not None:
            given["only"] = self.only
        if self.refused:
            given["refused"] = Uuids(self.refused)
        if self.left:
            given["left"] = list(self.left.get(queue_of(partition), ()))
        return given

    @property
    def is_by_target(self) -> bool:
        """Whether it passes rows over for their targets only."""
        return not (self.held or self.apart or self.plain) and self.only is None

    def plainly(self) -> "RowFilter":
        """The same without what recurs or has an order."""
        return PLAIN if self is ALL_ROWS else replace(self, plain=True)


ALL_ROWS = RowFilter()
PLAIN = RowFilter(plain=True)
