"""From which partitions a worker claims now, and when it claims next: its own first, then to help others."""

import time

from pgsched.worker.claim.sight import Sight
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.roster import Roster

HELP_AFTER = 50_000
"""Microseconds overdue before another worker's partition is helped with."""
LOOK_AGAIN = 0.05
"""Seconds for which a look at the others' partitions counts."""
_AT_ONCE = 4


class Wanted:
    """Asks ``sight`` where rows stand; claims look ``ahead`` by so many microseconds."""

    def __init__(self, sight: Sight, roster: Roster, clock: DatabaseClock, *, ahead: int) -> None:
        self._sight, self._roster, self._clock, self._ahead = sight, roster, clock, ahead

    def now(self, looked_at: float) -> list[int]:
        """Own partitions with a row in sight, else the most overdue of the others, where the last look at them was a
        moment ago; the earliest first."""
        due, now = self._sight.due, self._clock.now()
        horizon = now + self._ahead
        own = [p for p in self._roster.own if due.get(p, horizon + 1) <= horizon]
        if own:
            return sorted(own, key=due.__getitem__)
        if time.monotonic() - looked_at > LOOK_AGAIN:
            return []
        overdue = now - HELP_AFTER
        others = [p for p in self._roster.open if due.get(p, overdue + 1) <= overdue]
        return sorted(others, key=due.__getitem__)[:_AT_ONCE]

    def until_own(self) -> float | None:
        """Seconds until a row of its own partitions comes in reach of a claim; None where none is in sight."""
        own = [self._sight.due[p] for p in self._roster.own if p in self._sight.due]
        return (min(own) - self._ahead - self._clock.now()) / 1e6 if own else None

    def until_help(self) -> float | None:
        """Seconds until a row of another's partitions is to be helped with; None where none is in sight."""
        theirs = [self._sight.due[p] for p in self._roster.open if p in self._sight.due and p not in self._roster.own]
        return (min(theirs) + HELP_AFTER - self._clock.now()) / 1e6 if theirs else None
