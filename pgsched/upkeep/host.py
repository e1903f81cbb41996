"""What the upkeep needs of the worker in whose process it runs. The worker's roster and clock implement these
protocols."""

from collections.abc import Sequence
from typing import Protocol

from pgsched.store.core.connect import Connection


class Numbered(Protocol):
    @property
    def number(self) -> int:
        """The worker's number; 0 while it has none."""


class LocalWorker(Numbered, Protocol):
    @property
    def own(self) -> Sequence[int]:
        """The partitions that are this worker's share."""

    @property
    def partitions_to_reap(self) -> Sequence[int]:
        """The worker's share, and partitions from which no worker claims."""

    def next_token(self) -> int: ...

    async def renew(self, connection: Connection, /) -> bool: ...


class Clock(Protocol):
    def now(self) -> int:
        """The database's time, in microseconds since 2000-01-01 UTC."""
