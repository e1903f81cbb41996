"""Observers are called for each batch on the way of rows through a worker. Benchmarks and metrics use them.

A batch is reported once, as a whole, so a single row costs nothing, and without an observer nothing is done.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchClaimed:
    """A claim was answered.

    ``rows`` is the number of leased rows, which may be 0. ``statements`` counts the statements that lease, with begin
    and commit, but not those between them that plan and admit. ``seconds`` is the time until the answer. ``at_once``
    says that it was a single statement, for rows that had just been announced.
    """

    rows: int
    statements: int
    seconds: float
    at_once: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDelivered:
    """Outcomes have gathered, and are about to be settled together.

    ``seconds`` is the time since the first of them came.
    """

    rows: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettled:
    """The database has taken a batch.

    ``rows`` is the number of rows that were still leased to this worker, and ``outcomes`` counts them by the status in
    which they ended, or ``retrying``, ``postponed``, ``deferred``, ``held`` or ``released``. ``seconds`` is the time
    that the ``statements`` took.
    """

    rows: int
    outcomes: Mapping[str, int]
    statements: int
    seconds: float


class Observer:
    """The base of observers; its methods do nothing. Subclasses override those that they need.

    A method must not raise and must not wait: it runs inside the loop that claims and settles. Executions that commit
    together with their handler's writes are not settled in a batch, and not reported.
    """

    def claimed(self, batch: BatchClaimed) -> None:
        """Called before the rows are dispatched."""

    def delivered(self, batch: BatchDelivered) -> None:
        """Called before the batch is sent for the first time."""

    def settled(self, batch: BatchSettled) -> None:
        """Called once the batch is committed."""
