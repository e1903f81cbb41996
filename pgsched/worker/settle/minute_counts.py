"""Counts the outcomes of attempts. Observers get the counts of each batch. ``upkeep.rollups`` adds the counts by
minute, queue and client to the rollups.

Counts that have not yet been added are only in memory, so a killed worker loses them.
"""

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pgsched.domain.attempt_outcome import Deferred, Failed, Postponed, Succeeded
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.histogram import BUCKETS, nothing
from pgsched.domain.queue_partitions import queue_of
from pgsched.observer import AttemptsEnded, Observer, QueueOutcome, Timed
from pgsched.store.live.executions import Group
from pgsched.store.live.rollups import EVERYBODY, Counted
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.settle.batch import Batch

MEASURED_IN_A_BATCH = 16
"""Minimum number of timed attempts of a large batch. The maximum is twice as high."""
MEASURED = frozenset({Succeeded, Failed, Postponed, Deferred})
"""The outcomes of attempts that took place. Only such attempts are timed."""
_TOOK_PLACE = frozenset({"succeeded", "failed", "snoozed", "deferred"})
_OF_GROUPS: Mapping[str, str] = {
    "succeeded": "succeeded", "discarded": "succeeded", "released": "released", "cut_short": "released",
}  # fmt: skip
_OF_FINISHED: Mapping[str, str] = {
    "succeeded": "succeeded", "failed": "failed", "postponed": "snoozed", "late": "late",
}  # fmt: skip
_MINUTE = 60_000_000  # microseconds
_MOST_STRANGERS = 1_000
_MOST_UNSIFTED = 10_000
_Owner = tuple[int, int, str]


class Measured(NamedTuple):
    """A timed attempt, with the seconds that it took and the monotonic time at which it ended."""

    row: ClaimedExecution
    seconds: float
    at: float


class Weighing:
    """Weights each measured attempt by the number of attempts in its queue that it represents. If a batch has no
    measured attempt of a queue, the queue's next measured attempt also represents that batch's attempts."""

    def __init__(self, clock: DatabaseClock, claimed_at: Mapping[int, float]) -> None:
        self._clock, self._claimed_at = clock, claimed_at
        self._unmeasured: Counter[int] = Counter()

    def attempts_of(self, clients: Mapping[QueueOutcome, Sequence[str]], measured: Sequence[Measured]) -> AttemptsEnded:
        """Returns the report of these clients' attempts, with weights for the measured ones."""
        unmeasured = self._unmeasured
        for which, some in clients.items():
            if which.outcome in _TOOK_PLACE:
                unmeasured[which.queue] += len(some)
        left = Counter([queue_of(one.row.partition) for one in measured])
        timed = []
        for row, seconds, at in measured:
            queue = queue_of(row.partition)
            weight = unmeasured[queue] // left[queue]
            unmeasured[queue] -= weight
            left[queue] -= 1
            timed.append(self._timed(queue, row, seconds, at, weight))
        return AttemptsEnded(clients=clients, timed=timed)

    def attempt_alone(self, row: ClaimedExecution, seconds: float) -> AttemptsEnded:
        """Returns the report of one attempt whose execution ended in its handler's transaction."""
        queue = queue_of(row.partition)
        timed = [self._timed(queue, row, seconds, time.monotonic(), 1)]
        return AttemptsEnded(clients={QueueOutcome(queue, "succeeded"): [row.client_id]}, timed=timed, committed=1)

    def _timed(self, queue: int, row: ClaimedExecution, seconds: float, at: float, weight: int) -> Timed:
        due, claimed = self._clock.monotonic(row.fire_at), self._claimed_at.get(row.token)
        late = max(at - seconds - due, 0.0)
        unclaimed = None if claimed is None else min(max(claimed - due, 0.0), late)
        return Timed(queue, row.client_id, late, seconds, weight, unclaimed)


def ended_in(batch: Batch) -> Iterator[tuple[QueueOutcome, Group]]:
    """Yields the rows of a batch, by outcome."""
    found: defaultdict[QueueOutcome, Group] = defaultdict(lambda: Group([], []))
    for (group, _), groups in batch.groups.items():
        outcome = _OF_GROUPS[group]
        for partition, some in groups.items():
            into = found[QueueOutcome(queue_of(partition), outcome, outcome == "succeeded")]
            into.ids.extend(some.ids)
            into.tokens.extend(some.tokens)
    for partition, finished in batch.finished.items():
        for row in finished:
            into = found[QueueOutcome(queue_of(partition), _OF_FINISHED[row.outcome])]
            into.ids.append(row.id)
            into.tokens.append(row.token)
    for outcome, answers in (
        ("succeeded", batch.answered),
        ("released", batch.postponed),
        ("deferred", batch.deferred),
        ("undeliverable", batch.held),
    ):
        for partition, answered in answers.items():
            into = found[QueueOutcome(queue_of(partition), outcome, outcome == "succeeded")]
            into.ids.extend(row.id for row in answered)
            into.tokens.extend(row.token for row in answered)
    yield from found.items()


class Minutes(Observer):
    """Counts attempts and plain successes by minute, queue and client. Clients without settings may have any name, so
    only the thousand busiest of them are counted separately in each queue. The others count only for the queue.
    ``is_known`` returns whether a client has settings."""

    def __init__(self, clock: DatabaseClock, is_known: Callable[[str], bool]) -> None:
        self._clock, self._is_known = clock, is_known
        self._clients: defaultdict[tuple[int, QueueOutcome], Counter[str]] = defaultdict(Counter)
        self._spread: defaultdict[_Owner, tuple[list[int], list[int]]] = defaultdict(lambda: (nothing(), nothing()))
        self._given_back: list[Counted] = []

    def ended(self, attempts: AttemptsEnded) -> None:
        minute = self._clock.now() // _MINUTE * _MINUTE
        for which, clients in attempts.clients.items():
            if which.outcome in _TOOK_PLACE:
                counted = self._clients[minute, which]
                counted.update(clients)
                if len(counted) > _MOST_UNSIFTED:
                    self._sift(counted)
        for queue, client, lateness, duration, weight, _ in attempts.timed:
            late, took = self._spread[minute, queue, client]
            late[bisect_left(BUCKETS, lateness)] += weight
            took[bisect_left(BUCKETS, duration)] += weight

    def take(self) -> list[Counted]:
        """Removes and returns all counts."""
        found: dict[_Owner, Counted] = {}
        for (minute, which), clients in self._clients.items():
            self._sift(clients)
            for client, count in clients.items():
                one = found.setdefault((minute, which.queue, client), Counted(minute, which.queue, client))
                one.attempts += count
                one.failed_attempts += count if which.outcome == "failed" else 0
                one.succeeded += count if which.is_plain else 0
        for owner, (lateness, duration) in self._spread.items():
            # The times of clients that are not counted separately, and of rows that are still locked, count only for
            # the queue.
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
        """Puts back counts that could not be added to the rollups."""
        self._given_back += taken

    def _sift(self, clients: Counter[str]) -> None:
        strangers = [client for client in clients if client != EVERYBODY and not self._is_known(client)]
        if len(strangers) > _MOST_STRANGERS:
            strangers.sort(key=clients.__getitem__, reverse=True)
            for client in strangers[_MOST_STRANGERS:]:
                clients[EVERYBODY] += clients.pop(client)


def with_everybody(counted: Sequence[Counted]) -> list[Counted]:
    """Returns the counts of each client, and the totals of each queue."""
    queues: dict[tuple[int, int], Counted] = {}
    for one in counted:
        if (one.minute, one.queue) not in queues:
            queues[one.minute, one.queue] = Counted(one.minute, one.queue, EVERYBODY)
        queues[one.minute, one.queue].add(one)
    return [*(one for one in counted if one.client_id != EVERYBODY), *queues.values()]
