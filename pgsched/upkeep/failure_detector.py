"""Decides which workers are lost and which leases have expired, from one worker's observations of the others.

No worker is judged by timestamps alone. When the database's clock is changed, the database freezes for a while, or
commits wait for a standby, all leases appear to have expired although every worker is alive. So a worker judges only by
what it has observed on its own monotonic clock, in turns that were answered promptly and had no gap between them:

- **gone**: The other worker has had no session for the grace time.
- **silent**: The other worker is late in extending its lease. Since then, this worker has made a quick write, and even
  in the catch-up time after this write, the other worker has not extended its lease.

After a gap, a slow response or a step of the database's clock, all earlier observations are discarded, and running
workers get time to extend their leases.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pgsched.store.admin.worker_registry import RegisteredWorker
from pgsched.worker.assignment import RENEWALS, TERM

_PROMPT = 1.0  # seconds within which a response counts as prompt
_GAP = 4.0
_STEP = 0.5
_GRACE = 0.75  # seconds within which a running worker that has lost all its sessions reconnects
CATCH_UP = 3.0  # seconds within which running workers reconnect, renew their leases and settle finished attempts
_LATE = 1.5


@dataclass(slots=True)
class _Sighting:
    """What was observed of a worker. All times except ``expires_at`` are monotonic: ``since`` is when this
    ``expires_at`` was first seen, ``gone_since`` when the worker was first without a session, and ``silent_since`` when
    its silence began."""

    expires_at: float
    since: float
    gone_since: float | None = None
    silent_since: float | None = None


class FailureDetector:
    """Observes each result of ``worker_registry.watch``. ``lost`` returns the workers that must be declared lost."""

    def __init__(self) -> None:
        self._sightings: dict[int, _Sighting] = {}
        self._steady_since = float("inf")
        self._seen_at = float("-inf")
        self._now = 0.0
        self._proven_at = float("-inf")
        self._longest_lease = 0.0

    def interrupt(self) -> None:
        """Discards all observations, because a statement has failed or taken too long."""
        self._steady_since = float("inf")

    def observe(self, found: Iterable[RegisteredWorker], sent: float, received: float) -> None:
        """Takes a result that was requested at ``sent`` and received at ``received`` (monotonic times)."""
        found = list(found)
        if found:
            self._keep_time(found[0].now, sent, received)
        self._longest_lease = max((worker.lease for worker in found), default=0.0)
        before, self._sightings = self._sightings, {}
        for worker in found:
            self._sightings[worker.id] = self._sight(worker, before.get(worker.id))

    @property
    def needs_proof(self) -> bool:
        """Whether a worker is silent, and it is unknown whether writes are possible at all."""
        return any(
            seen.silent_since is not None and self._proven_at < max(seen.silent_since, self._steady_since)
            for seen in self._sightings.values()
        )

    def prove(self, sent: float, received: float) -> None:
        """Records that one of this worker's own writes was committed."""
        if received - sent > _PROMPT:
            self.interrupt()
        else:
            self._proven_at = received

    def lost(self) -> list[int]:
        """Returns the ids of the workers that are gone or have been silent for too long."""
        return [id for id, seen in self._sightings.items() if self._is_gone(seen) or self._is_silent(seen)]

    def ended_by(self) -> float | None:
        """Returns the database time before which leases have certainly expired, or None if workers have not had time to
        renew their leases since the last disturbance."""
        patience = _LATE * self._longest_lease / RENEWALS + _PROMPT
        return self._now if self._seen_at - self._steady_since >= patience else None

    def is_steady_since(self, moment: float) -> bool:
        """Whether nothing has disturbed the observations since the monotonic time ``moment``."""
        return self._steady_since <= moment

    def _keep_time(self, now: float, sent: float, received: float) -> None:
        passed, theirs = received - self._seen_at, now - self._now
        slow = received - sent > _PROMPT or passed > _GAP
        if slow or abs(theirs - passed) > _STEP + received - sent or self._steady_since == float("inf"):
            self._steady_since = received
        self._seen_at, self._now = received, now

    def _sight(self, worker: RegisteredWorker, before: _Sighting | None) -> _Sighting:
        at = self._seen_at
        if before is None or before.expires_at != worker.expires_at:
            before = _Sighting(worker.expires_at, at)
        before.gone_since = _since(before.gone_since, worker.gone, at)
        unchanged = at - max(before.since, self._steady_since)
        late = worker.expires_at < self._now and unchanged >= _LATE * worker.lease / RENEWALS + _PROMPT / 2
        before.silent_since = _since(before.silent_since, late or unchanged >= TERM * worker.lease, at)
        return before

    def _is_gone(self, seen: _Sighting) -> bool:
        if seen.gone_since is None or self._seen_at - self._steady_since < CATCH_UP:
            return False
        return self._seen_at - max(seen.gone_since, self._steady_since) >= _GRACE

    def _is_silent(self, seen: _Sighting) -> bool:
        if seen.silent_since is None or self._proven_at < max(seen.silent_since, self._steady_since):
            return False
        return self._seen_at - self._proven_at >= CATCH_UP


def _since(before: float | None, holds: bool, now: float) -> float | None:
    if not holds:
        return None
    return now if before is None else before
