"""What the attempts of a batch came to, for those who count them."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.outcome import Deferred, Failed, Postponed, Succeeded
from pgsched.domain.partitions import queue_of
from pgsched.observer import AttemptsEnded, QueueOutcome, Timed
from pgsched.store.live.executions import Group
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.settle.batch import Batch

MEASURED_IN_A_BATCH = 16
"""So many attempts of a large batch are timed, or up to twice as many."""
MEASURED = frozenset({Succeeded, Failed, Postponed, Deferred})
"""Outcomes of the attempts of a batch that have taken place."""
TOOK_PLACE = frozenset({"succeeded", "failed", "snoozed", "deferred"})
_OF_GROUPS: Mapping[str, str] = {
    "succeeded": "succeeded", "discarded": "succeeded", "released": "released", "cut_short": "released",
}  # fmt: skip
_OF_FINISHED: Mapping[str, str] = {
    "succeeded": "succeeded", "failed": "failed", "postponed": "snoozed", "late": "late",
}  # fmt: skip


class Measured(NamedTuple):
    """An attempt, how many seconds it took, and the monotonic moment at which it ended."""

    row: ClaimedExecution
    seconds: float
    at: float


class Weighing:
    """Lets each attempt that was measured stand for as many of its queue as fall to it. Where none of a batch was
    measured, its attempts fall to the next that are."""

    def __init__(self, clock: DatabaseClock, claimed_at: Mapping[int, float]) -> None:
        self._clock, self._claimed_at = clock, claimed_at
        self._unmeasured: Counter[int] = Counter()

    def attempts_of(self, clients: Mapping[QueueOutcome, Sequence[str]], measured: Sequence[Measured]) -> AttemptsEnded:
        """The attempts of these clients, of which some were measured."""
        unmeasured = self._unmeasured
        for which, some in clients.items():
            if which.outcome in TOOK_PLACE:
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
        """One attempt whose execution ended in the transaction of its handler."""
        queue = queue_of(row.partition)
        timed = [self._timed(queue, row, seconds, time.monotonic(), 1)]
        return AttemptsEnded(clients={QueueOutcome(queue, "succeeded"): [row.client_id]}, timed=timed, committed=1)

    def _timed(self, queue: int, row: ClaimedExecution, seconds: float, at: float, weight: int) -> Timed:
        due, claimed = self._clock.monotonic(row.fire_at), self._claimed_at.get(row.token)
        late = max(at - seconds - due, 0.0)
        unclaimed = None if claimed is None else min(max(claimed - due, 0.0), late)
        return Timed(queue, row.client_id, late, seconds, weight, unclaimed)


def ended_in(batch: Batch) -> Iterator[tuple[QueueOutcome, Group]]:
    """The rows of a batch by what became of them. Each comes once."""
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
