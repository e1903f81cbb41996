"""Counts one worker process's batches, attempts and events."""

from collections.abc import Mapping
from typing import TypeVar

from pgsched.metrics.catalogue import ALL
from pgsched.metrics.counts import Counts, Labels
from pgsched.observer import AttemptsEnded, BatchClaimed, BatchSettled, Observer
from pgsched.telemetry import WARNINGS, Field

_Counted = TypeVar("_Counted")
_COUNTERS = ("pgsched_claims", "pgsched_claimed_executions")
_HISTOGRAMS = ("pgsched_claim_duration_seconds", "pgsched_settle_duration_seconds")


class Counters(Observer):
    """Counts batches and attempts as an observer, and events as a listener. Identifies queues by their numbers."""

    def __init__(self) -> None:
        self._counts = Counts()
        # Series start at 0, because Prometheus sees no increase in a series whose first value is 1.
        for name in _COUNTERS:
            self._counts.count(0, name)
        for name in _HISTOGRAMS:
            self._counts.observe(0.0, name, times=0)
        for event in WARNINGS:
            self._counts.count(0, "pgsched_events", event)

    def __call__(self, event: str, fields: dict[str, Field]) -> None:
        self._counts.count(1, "pgsched_events", event)

    def claimed(self, batch: BatchClaimed) -> None:
        self._counts.count(1, "pgsched_claims")
        self._counts.count(batch.rows, "pgsched_claimed_executions")
        self._counts.observe(batch.seconds, "pgsched_claim_duration_seconds")

    def settled(self, batch: BatchSettled) -> None:
        for status, count in batch.outcomes.items():
            self._counts.count(count, "pgsched_settled_executions", status)
        self._counts.observe(batch.seconds, "pgsched_settle_duration_seconds")

    def ended(self, attempts: AttemptsEnded) -> None:
        count, observe = self._counts.count, self._counts.observe
        if attempts.committed:
            count(attempts.committed, "pgsched_settled_executions", "succeeded")
        for which, clients in attempts.clients.items():
            count(len(clients), "pgsched_attempts", str(which.queue), which.outcome)
        for number, _, lateness, duration, weight, unclaimed in attempts.timed:
            queue = str(number)
            observe(lateness, "pgsched_lateness_seconds", queue, times=weight)
            observe(duration, "pgsched_attempt_duration_seconds", queue, times=weight)
            if unclaimed is not None:
                observe(unclaimed, "pgsched_queue_time_seconds", queue, times=weight)
                observe(lateness - unclaimed, "pgsched_worker_wait_seconds", queue, times=weight)

    def counts(self, queue_names: Mapping[int, str], gauges: Mapping[str, float]) -> Counts:
        """Returns all counts, and the current ``gauges``. A queue without a known name appears under its number."""
        names = {str(number): name for number, name in queue_names.items()}

        def named(metric: str, by_labels: dict[Labels, _Counted]) -> dict[Labels, _Counted]:
            if "queue" not in ALL[metric].labels:
                return by_labels
            return {(names.get(number, number), *rest): one for (number, *rest), one in by_labels.items()}

        values, histograms = self._counts.values, self._counts.histograms
        return Counts(
            {name: named(name, of) for name, of in values.items()} | {name: {(): one} for name, one in gauges.items()},
            {name: named(name, of) for name, of in histograms.items()},
        )
