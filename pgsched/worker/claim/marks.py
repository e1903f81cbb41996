"""How far a reading of its own has come in each partition."""

import time
from collections.abc import Iterable, Sequence

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live.executions import Share

_AT_ONCE = 4  # partitions that one claim reads
_FROM_THE_EDGE = 10.0  # seconds after which it reads from the left edge again, for what came in behind


class Marks:
    """The marks from which claims of a part of the rows read on, where claims of the others read past those rows."""

    def __init__(self) -> None:
        self._lows: dict[int, int] = {}
        self._turn = 0
        self._since = time.monotonic()

    def shares(self, partitions: Sequence[int], budget: int, batch: int) -> list[Share]:
        """Where to claim up to ``budget`` rows; a few partitions at a time, in turn."""
        if time.monotonic() - self._since > _FROM_THE_EDGE:
            self._lows.clear()
            self._since = time.monotonic()
        count = min(len(partitions), _AT_ONCE)
        asked = [partitions[(self._turn + place) % len(partitions)] for place in range(count)]
        self._turn += count
        each = min(-(-budget // count), batch)
        return [Share(partition, self._lows.get(partition, LONG_AGO), each) for partition in asked]

    def read_to(self, shares: Iterable[Share], rows: Iterable[ClaimedExecution]) -> None:
        """Notes the answer to a claim: the next one reads on from the last row of each partition."""
        last: dict[int, int] = {}
        for row in rows:
            last[row.partition] = max(row.fire_at, last.get(row.partition, LONG_AGO))
        for share in shares:
            if share.partition in last:
                self._lows[share.partition] = last[share.partition]
