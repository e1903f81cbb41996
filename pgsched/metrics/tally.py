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
from pgsched.events import WARNINGS, Field
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
"""So many attempts are counted together: columns at a time, which costs a fraction of one at a time."""
_ONE_IN = 8
"""Which part of the attempts is timed while ``_FEW`` of them end within a second; each then counts for so many."""


class _Queue:
    """What is counted of a queue."""

    __slots__ = ("duration", "lateness", "outcomes")

    def __init__(self) -> None:
        self.outcomes: Counter[type[Outcome]] = Counter()
        self.lateness, self.duration = Histogram(), Histogram()


class _Ended:
    """Attempts that have ended and are not counted yet, in columns. Of those that are timed, ``timed`` has the places,
    ``durations`` how long they took and ``ages`` how long after their instant they ended."""

    __slots__ = ("ages", "durations", "kinds", "partitions", "timed")

    def __init__(self) -> None:
        self.partitions: list[int] = []
        self.kinds: list[type[Outcome]] = []
        self.timed: list[int] = []
        self.durations: list[float] = []
        self.ages: list[float] = []

    def clear(self) -> None:
        for column in (self.partitions, self.kinds, self.timed, self.durations, self.ages):
            column.clear()


class Tally(Observer):
    """Counts in memory. It is an observer and a listener of events; ``counting`` is put before what takes outcomes."""

    def __init__(self) -> None:
        self._queues: defaultdict[int, _Queue] = defaultdict(_Queue)
        self._statuses: Counter[str] = Counter()
        # Warnings begin at 0: Prometheus sees no increase in a series whose first value is 1.
        self._events: Counter[str] = Counter(dict.fromkeys(WARNINGS, 0))
        self._claims, self._claimed = 0, 0
        self._claiming, self._settling = Histogram(), Histogram()
        self._ended, self._each, self._counted_at = _Ended(), 1, 0.0

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
        ended, now = self._ended, time.monotonic
        partitions, kinds = ended.partitions, ended.kinds

        def settle_counted(row: Execution, options: Options, outcome: Outcome, seconds: float) -> None:
            place = len(kinds)
            if place % self._each == 0:
                ended.timed.append(place)
                ended.durations.append(seconds)
                ended.ages.append(now() - begin(row.fire_at))
            partitions.append(row.partition)
            kinds.append(type(outcome))
            if place == _FEW - 1:
                self._count()
            settle(row, options, outcome, seconds)

        return settle_counted

    def _count(self) -> None:
        """Counts the attempts that have ended since the last time. Where that is not long ago, only some of the next
        are timed."""
        ended, now = self._ended, time.monotonic()
        queues = [partition // PARTITIONS_PER_QUEUE for partition in ended.partitions]
        for (number, kind), count in Counter(zip(queues, ended.kinds, strict=True)).items():
            self._queues[number].outcomes[kind] += count
        for number in set(queues):
            self._time(self._queues[number], [queues[place] == number for place in ended.timed])
        is_much = len(queues) >= _FEW and now - self._counted_at < 1.0
        self._each, self._counted_at = _ONE_IN if is_much else 1, now
        ended.clear()

    def _time(self, queue: _Queue, mine: list[bool]) -> None:
        """Puts the times of those that are a queue's, and were attempts, into its histograms."""
        ended = self._ended
        took, late = [], []
        for place, is_mine, seconds, age in zip(ended.timed, mine, ended.durations, ended.ages, strict=True):
            if is_mine and ended.kinds[place] in _ATTEMPTS:
                took.append(seconds)
                late.append(max(age - seconds, 0.0))
        queue.duration.observe_all(took, each=self._each)
        queue.lateness.observe_all(late, each=self._each)

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
