"""What one worker process counts: its batches by the observer's methods, its attempts one by one, and its events."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from pgsched.domain.execution import Execution
from pgsched.domain.outcome import (
    AlreadySettled,
    Deferred,
    Failed,
    Late,
    Outcome,
    Postponed,
    Released,
    Succeeded,
    Undeliverable,
)
from pgsched.domain.partitions import PARTITIONS_PER_QUEUE
from pgsched.domain.policy import Options
from pgsched.events import Field
from pgsched.metrics.snapshot import Distribution, Histogram, Snapshot, Value
from pgsched.observer import BatchClaimed, BatchSettled, Observer

Settle = Callable[[Execution, Options, Outcome, float], None]
_OUTCOMES: Mapping[type[Outcome], str] = {
    Succeeded: "succeeded",
    AlreadySettled: "succeeded",
    Failed: "failed",
    Postponed: "snoozed",
    Deferred: "deferred",
    Released: "released",
    Late: "late",
    Undeliverable: "undeliverable",
}
_ATTEMPTS = frozenset({Succeeded, AlreadySettled, Failed, Postponed, Deferred})
"""Outcomes of attempts that have taken place."""


_FEW = 512
"""So many attempts are counted together: sorted, they are put into a histogram at a fraction of the price."""


class _Queue:
    """What is counted of a queue."""

    __slots__ = ("duration", "lateness", "outcomes")

    def __init__(self) -> None:
        self.outcomes: Counter[type[Outcome]] = Counter()
        self.lateness, self.duration = Histogram(), Histogram()


class Tally(Observer):
    """Counts in memory. It is an observer and a listener of events; ``counting`` is put before what takes outcomes."""

    def __init__(self) -> None:
        self._queues: defaultdict[int, _Queue] = defaultdict(_Queue)
        self._statuses: Counter[str] = Counter()
        self._events: Counter[str] = Counter()
        self._claims, self._claimed = 0, 0
        self._claiming, self._settling = Histogram(), Histogram()
        self._ended: list[tuple[int, type[Outcome], float, float]] = []

    def __call__(self, event: str, fields: dict[str, Field]) -> None:
        self._events[event] += 1

    def claimed(self, batch: BatchClaimed) -> None:
        self._claims += 1
        self._claimed += batch.rows
        self._claiming.observe(batch.seconds)

    def settled(self, batch: BatchSettled) -> None:
        self._statuses.update(batch.outcomes)
        self._settling.observe(batch.seconds)

    def counting(self, settle: Settle, begin: Callable[[int], float]) -> Settle:
        """What passes outcomes on, and counts them. ``begin`` is where an instant is on the monotonic clock."""
        ended, add, now = self._ended, self._ended.append, time.monotonic

        def settle_counted(row: Execution, options: Options, outcome: Outcome, seconds: float) -> None:
            add((row.partition, type(outcome), seconds, now() - begin(row.fire_at)))
            if len(ended) >= _FEW:
                self._count()
            settle(row, options, outcome, seconds)

        return settle_counted

    def _count(self) -> None:
        """Counts the attempts that have ended since the last time."""
        by_queue: defaultdict[int, list[tuple[int, type[Outcome], float, float]]] = defaultdict(list)
        for one in self._ended:
            by_queue[one[0] // PARTITIONS_PER_QUEUE].append(one)
        self._ended.clear()
        for number, ended in by_queue.items():
            queue = self._queues[number]
            queue.outcomes.update([kind for _, kind, _, _ in ended])
            took = [(seconds, age) for _, kind, seconds, age in ended if kind in _ATTEMPTS]
            queue.duration.observe_all([seconds for seconds, _ in took])
            queue.lateness.observe_all([max(age - seconds, 0.0) for seconds, age in took])

    def snapshot(self, queue_names: Mapping[int, str], gauges: Mapping[str, float]) -> Snapshot:
        """All that was counted. A queue that has no name by now has its number."""
        self._count()
        found = Snapshot(gauges=[Value(name, (), value) for name, value in gauges.items()])
        for number, queue in list(self._queues.items()):
            name = queue_names.get(number, str(number))
            for outcome, count in _named(queue.outcomes).items():
                found.counters.append(Value("pgsched_attempts", (name, outcome), count))
            found.histograms.append(Distribution("pgsched_lateness_seconds", (name,), queue.lateness))
            found.histograms.append(Distribution("pgsched_attempt_duration_seconds", (name,), queue.duration))
        statuses = self._statuses + Counter(succeeded=sum(q.outcomes[AlreadySettled] for q in self._queues.values()))
        found.counters += [Value("pgsched_settled_executions", (name,), n) for name, n in statuses.items()]
        found.counters += [Value("pgsched_events", (name,), n) for name, n in self._events.items()]
        found.counters += [Value("pgsched_claims", (), self._claims)]
        found.counters += [Value("pgsched_claimed_executions", (), self._claimed)]
        found.histograms.append(Distribution("pgsched_claim_duration_seconds", (), self._claiming))
        found.histograms.append(Distribution("pgsched_settle_duration_seconds", (), self._settling))
        return found


def _named(outcomes: Mapping[type[Outcome], int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for kind, count in outcomes.items():
        found[_OUTCOMES[kind]] += count
    return found
