"""A long request that workers carry out in parts: a backfill, or a bulk change."""

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from pgsched.domain.round_robin import Payers


@dataclass(frozen=True, slots=True, kw_only=True)
class Active:
    """One that is not done, and the clients that it is for; None stands for all."""

    id: UUID
    clients: list[str | None]

    @property
    def payers(self) -> Payers:
        """Whose share of the time it takes; one for all clients has a share of its own."""
        return frozenset(client or "" for client in self.clients)


class Chunk(NamedTuple):
    """What became of one turn at a bulk change. ``more``: the next chunk need not wait."""

    changed: int
    more: bool
    finished: bool
