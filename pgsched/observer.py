"""Who is told of each batch on a row's way through a worker: benchmarks, and what counts for metrics.

A batch is told of as a whole, once: nothing is done for a row, and nothing at all where nobody observes.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchClaimed:
    """A claim was answered.

    ``rows`` is how many it leased, which may be none; ``statements`` those that lease, with begin and commit, without
    what plans and admits between them; ``seconds`` is from before it was sent to its answer; ``at_once`` that it was a
    single statement for what just came in.
    """

    rows: int
    statements: int
    seconds: float
    at_once: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDelivered:
    """Outcomes have gathered, and are about to be settled together.

    ``outcomes`` counts what the rows came to: the status in which they end, or ``retrying``, ``postponed``,
    ``deferred``, ``held`` or ``released``; ``seconds`` is how long ago the first of them came.
    """

    rows: int
    outcomes: Mapping[str, int]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettled:
    """The database has taken a batch.

    ``rows`` is how many of it were still this worker's; ``seconds`` is from before the ``statements`` were sent.
    """

    rows: int
    statements: int
    seconds: float


class Observer:
    """Is told of batches, and does nothing. Subclasses write the methods that they need.

    A method must not raise and must not wait: it runs inside the loop that claims and settles. What a handler commits
    together with its own writes is not settled in a batch, and not told of.
    """

    def claimed(self, batch: BatchClaimed) -> None:
        """Called before the rows are dispatched."""

    def delivered(self, batch: BatchDelivered) -> None:
        """Called before the batch is sent for the first time."""

    def settled(self, batch: BatchSettled) -> None:
        """Called once the batch is committed."""
