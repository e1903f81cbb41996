"""What has waited too long for a place is put off for a moment: what else is due has room here, and a worker that has
places may be quicker to it. Where its own client keeps the places taken, it is put off for longer, and says why.
"""

import random
import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from pgsched.delivery.places import Places
from pgsched.domain.execution import Execution
from pgsched.domain.outcome import Released
from pgsched.events import Events
from pgsched.worker.run.attempts import Settle
from pgsched.worker.run.terms import DEFAULT
from pgsched.worker.run.waiting import Waiting

_LONGEST_WAIT = 1.0
_LEFT_ALONE = 1.0, 2.0  # seconds for which others may have it
_OF_ITS_OWN_MAKING = 5.0, 10.0
_TELL_EVERY = 10.0


class PuttingOff:
    """``turn`` puts off what has waited too long, and says so in the log now and then."""

    def __init__(self, waiting: Waiting, settle: Settle, events: Events) -> None:
        self._waiting, self._settle, self._events = waiting, settle, events
        self._told_at = float("-inf")

    def turn(self) -> None:
        now = time.monotonic()
        for places, rows in self._waiting.take_overdue(now - _LONGEST_WAIT):
            reasons = {client: places.why(client) for client in {row.client_id for row in rows}}
            for row in rows:
                reason = reasons[row.client_id]
                after = timedelta(seconds=random.uniform(*(_OF_ITS_OWN_MAKING if reason else _LEFT_ALONE)))
                self._settle(row, DEFAULT, Released(after=after, reason=reason), 0.0)
            if now - self._told_at >= _TELL_EVERY:
                self._told_at = now
                self._tell(places, rows)

    def _tell(self, places: Places, rows: Sequence[Execution]) -> None:
        """With the client of which most is put off."""
        [(client, _)] = Counter(row.client_id for row in rows).most_common(1)
        reason = places.why(client)
        said = {"reason": reason} if reason else {}
        self._events.emit(
            "places.taken", places=places.name, most=places.most, put_off=len(rows), client=client, **said
        )
