"""Observers are called for each batch on the way of rows through a worker. Benchmarks and metrics use them.

A batch is reported once, as a whole, so a single row costs nothing, and without an observer nothing is done.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


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


class Timed(NamedTuple):
    """How late an attempt began and how long it took, in seconds. It stands for ``weight`` attempts. ``unclaimed`` is
    the part of the lateness that passed before it was claimed; None where that is not known."""

    queue: int
    client: str
    lateness: float
    duration: float
    weight: int
    unclaimed: float | None = None


class QueueOutcome(NamedTuple):
    """A queue, by its number, and an outcome. ``is_plain`` marks plain successes, whose ends nobody else counts."""

    queue: int
    outcome: str
    is_plain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptsEnded:
    """Attempts have ended, and their outcomes are on record.

    ``clients`` has the client of each attempt, by queue and outcome: ``succeeded``, ``failed``, ``snoozed`` or
    ``deferred``, or for what came to no attempt, ``late``, ``released`` or ``undeliverable``. ``committed`` counts
    those that committed together with their handler's writes, and so are in no batch. While many attempts end, only
    some are in ``timed``, and stand for the others of their queue.
    """

    clients: Mapping[QueueOutcome, Sequence[str]]
    timed: Sequence[Timed]
    committed: int = 0


class Observer:
    """The base of observers; its methods do nothing. Subclasses override those that they need.

    A method must not raise and must not wait: it runs inside the loop that claims and settles. Executions that commit
    together with their handler's writes are not settled in a batch: of these only ``ended`` tells.
    """

    def claimed(self, batch: BatchClaimed) -> None:
        """Called before the rows are dispatched."""

    def settled(self, batch: BatchSettled) -> None:
        """Called once the batch is committed."""

    def ended(self, attempts: AttemptsEnded) -> None:
        """Called for the attempts of each batch, once it is committed, and for each one that committed with its
        handler's writes."""
