"""The front: from where claims read, also while they pass somebody's rows over (``rear`` says why)."""

import random
from collections.abc import Iterable, Sequence

from pgsched.store.live.executions import Share
from pgsched.worker.claim.rear import Rear
from pgsched.worker.claim.sight import REREAD, Sight
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.roster import Roster


class Front:
    """Claims begin at the low mark, and no further than a moment back while there is somebody to pass over."""

    def __init__(self, sight: Sight, rear: Rear, roster: Roster, clock: DatabaseClock) -> None:
        self._sight, self._rear, self._roster, self._clock = sight, rear, roster, clock
        self._passed_over: set[str] = set()
        self._since = 0
        self._left_behind = False

    def pass_over(self, clients: Iterable[str]) -> bool:
        """Has claims pass these clients over, and no others. True where rows of others may stand behind the low marks,
        which are where they were before: then all is to be looked at."""
        before, self._passed_over = self._passed_over, set(clients)
        if self._passed_over and not before:
            self._since, self._left_behind = self._clock.now(), False
        if not before - self._passed_over:
            return False
        if self._left_behind:
            self._sight.forget()
        else:
            self._sight.reach_back(self._since - REREAD)
        return True

    def low(self, partition: int) -> int:
        """Where a claim begins (wire count)."""
        low, moment_back = self._sight.low(partition), self._clock.now() - REREAD
        if low >= moment_back or not self._passed_over:
            return low
        self._left_behind = True
        if partition in self._roster.own:
            self._rear.read_from(partition, low)
        return moment_back

    def even(self, room: int, batch: int) -> list[Share]:
        """So much of all partitions: with room for few rows, those of any partition must come to their turn."""
        chosen, each = _divided(self._roster.open, room)
        return [Share(partition, self.low(partition), min(batch, each)) for partition in chosen]

    def latest(self, room: int, batch: int) -> list[Share]:
        """So much of what has become due within the last moment in this worker's own partitions."""
        chosen, each = _divided(self._roster.own or self._roster.open, room)
        moment_back = self._clock.now() - REREAD
        return [Share(partition, moment_back, min(batch, each)) for partition in chosen]

    def look_from(self, partition: int) -> int:
        """Where a look begins: no later than a moment back, also where a claim that looked ahead got further."""
        return min(self.low(partition), self._clock.now() - REREAD)


def _divided(partitions: Sequence[int], room: int) -> tuple[list[int], int]:
    """Partitions in no order, no more than there is room for, and the room that each has."""
    chosen = random.sample(partitions, k=len(partitions))[:room]
    return chosen, room // len(chosen) if chosen else 0
