"""What one worker process counts: its batches and their attempts, as an observer, and its events."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from pgsched.event_emitter import WARNINGS, Field
from pgsched.metrics.snapshot import Distribution, Histogram, Snapshot, Value
from pgsched.observer import AttemptsEnded, BatchClaimed, BatchSettled, Observer


class _Queue:
    """What is counted of a queue."""

    __slots__ = ("duration", "lateness", "outcomes", "unclaimed", "waiting")

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.lateness, self.duration = Histogram(), Histogram()
        self.unclaimed, self.waiting = Histogram(), Histogram()

    def distributions(self, name: str) -> list[Distribution]:
        """Its histograms, under the name of the queue."""
        return [
            Distribution("pgsched_lateness_seconds", (name,), self.lateness),
            Distribution("pgsched_queue_time_seconds", (name,), self.unclaimed),
            Distribution("pgsched_worker_wait_seconds", (name,), self.waiting),
            Distribution("pgsched_attempt_duration_seconds", (name,), self.duration),
        ]


class Counters(Observer):
    """Counts in memory. It is an observer and a listener of events."""

    def __init__(self) -> None:
        self._queues: defaultdict[int, _Queue] = defaultdict(_Queue)
        self._statuses: Counter[str] = Counter()
        # Warnings begin at 0: Prometheus sees no increase in a series whose first value is 1.
        self._events: Counter[str] = Counter(dict.fromkeys(WARNINGS, 0))
        self._claims, self._claimed = 0, 0
        self._claiming, self._settling = Histogram(), Histogram()

    def __call__(self, event: str, fields: dict[str, Field]) -> None:
        self._events[event] += 1

    def claimed(self, batch: BatchClaimed) -> None:
        self._claims += 1
        self._claimed += batch.rows
        self._claiming.observe(batch.seconds)

    def settled(self, batch: BatchSettled) -> None:
        self._statuses.update(batch.outcomes)
        self._settling.observe(batch.seconds)

    def ended(self, attempts: AttemptsEnded) -> None:
        if attempts.committed:
            self._statuses["succeeded"] += attempts.committed
        for which, clients in attempts.clients.items():
            self._queues[which.queue].outcomes[which.outcome] += len(clients)
        for number, _, lateness, duration, weight, unclaimed in attempts.timed:
            queue = self._queues[number]
            queue.lateness.observe(lateness, weight)
            queue.duration.observe(duration, weight)
            if unclaimed is not None:
                queue.unclaimed.observe(unclaimed, weight)
                queue.waiting.observe(lateness - unclaimed, weight)

    def snapshot(self, queue_names: Mapping[int, str], gauges: Mapping[str, float]) -> Snapshot:
        """All that was counted. A queue that has no name by now has its number."""
        found = Snapshot(gauges=[Value(name, (), value) for name, value in gauges.items()])
        for number, queue in self._queues.items():
            name = queue_names.get(number, str(number))
            found.counters += [Value("pgsched_attempts", (name, outcome), n) for outcome, n in queue.outcomes.items()]
            found.histograms += queue.distributions(name)
        found.counters += [Value("pgsched_settled_executions", (name,), n) for name, n in self._statuses.items()]
        found.counters += [Value("pgsched_events", (name,), n) for name, n in self._events.items()]
        found.counters += [Value("pgsched_claims", (), self._claims)]
        found.counters += [Value("pgsched_claimed_executions", (), self._claimed)]
        found.histograms.append(Distribution("pgsched_claim_duration_seconds", (), self._claiming))
        found.histograms.append(Distribution("pgsched_settle_duration_seconds", (), self._settling))
        return found
