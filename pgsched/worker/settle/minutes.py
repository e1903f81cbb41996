"""What this worker has done lately, by the minute, queue and client, until ``upkeep.rollups`` adds it to the rollups.

It is in memory alone: a worker that is killed takes with it what it has counted since it last added.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from pgsched.domain.histogram import BUCKETS, nothing
from pgsched.observer import AttemptsEnded, Observer, QueueOutcome
from pgsched.store.lookup.rollups import EVERYBODY, Counted
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.settle.counting import TOOK_PLACE

_MINUTE = 60_000_000  # microseconds
_MOST_STRANGERS = 1_000
_MOST_UNSIFTED = 10_000
_Owner = tuple[int, int, str]


class Minutes(Observer):
    """Counts attempts and plain successes. Of clients without settings, whose names may be anything, only the busiest
    thousand of a queue are told apart; the others count for their queue alone. ``is_known`` says whether a client has
    settings."""

    def __init__(self, clock: DatabaseClock, is_known: Callable[[str], bool]) -> None:
        self._clock, self._is_known = clock, is_known
        self._clients: defaultdict[tuple[int, QueueOutcome], Counter[str]] = defaultdict(Counter)
        self._spread: defaultdict[_Owner, tuple[list[int], list[int]]] = defaultdict(lambda: (nothing(), nothing()))
        self._given_back: list[Counted] = []

    def ended(self, attempts: AttemptsEnded) -> None:
        minute = self._clock.now() // _MINUTE * _MINUTE
        for which, clients in attempts.clients.items():
            if which.outcome in TOOK_PLACE:
                counted = self._clients[minute, which]
                counted.update(clients)
                if len(counted) > _MOST_UNSIFTED:
                    self._sift(counted)
        for queue, client, lateness, duration, weight, _ in attempts.timed:
            late, took = self._spread[minute, queue, client]
            late[bisect_left(BUCKETS, lateness)] += weight
            took[bisect_left(BUCKETS, duration)] += weight

    def take(self) -> list[Counted]:
        """All that was counted, which counts no more here."""
        found: dict[_Owner, Counted] = {}
        for (minute, which), clients in self._clients.items():
            self._sift(clients)
            for client, count in clients.items():
                one = found.setdefault((minute, which.queue, client), Counted(minute, which.queue, client))
                one.attempts += count
                one.failed_attempts += count if which.outcome == "failed" else 0
                one.succeeded += count if which.is_plain else 0
        for owner, (lateness, duration) in self._spread.items():
            # Whoever is not told apart, and an attempt whose row is still locked, count for everybody.
            everybody = owner[0], owner[1], EVERYBODY
            one = found.get(owner) or found.setdefault(everybody, Counted(*everybody))
            one.add(Counted(*owner, lateness=lateness, duration=duration))
        for counted in self._given_back:
            owner = counted.minute, counted.queue, counted.client_id
            found.setdefault(owner, Counted(*owner)).add(counted)
        for part in (self._clients, self._spread, self._given_back):
            part.clear()
        return list(found.values())

    def give_back(self, taken: Sequence[Counted]) -> None:
        """Counts again what could not be added to the rollups."""
        self._given_back += taken

    def _sift(self, clients: Counter[str]) -> None:
        strangers = [client for client in clients if client != EVERYBODY and not self._is_known(client)]
        if len(strangers) > _MOST_STRANGERS:
            strangers.sort(key=clients.__getitem__, reverse=True)
            for client in strangers[_MOST_STRANGERS:]:
                clients[EVERYBODY] += clients.pop(client)


def with_everybody(counted: Sequence[Counted]) -> list[Counted]:
    """What was counted of clients, and of all clients of each queue together."""
    queues: dict[tuple[int, int], Counted] = {}
    for one in counted:
        if (one.minute, one.queue) not in queues:
            queues[one.minute, one.queue] = Counted(one.minute, one.queue, EVERYBODY)
        queues[one.minute, one.queue].add(one)
    return [*(one for one in counted if one.client_id != EVERYBODY), *queues.values()]
