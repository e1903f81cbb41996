"""Observers, which are called for each batch that passes through a worker. Benchmarks and metrics use them.

Each batch is reported once, as a whole, so there is no cost per row. Without observers, there is no cost at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchClaimed:
    """A claim has returned its rows.

    ``rows`` is the number of leased rows, which may be 0. ``statements`` counts the statements that lease, including
    begin and commit, but not the statements that plan and admit. ``seconds`` is the time until the result arrived.
    ``at_once`` is true if a single statement claimed rows that had just been announced.
    """

    rows: int
    statements: int
    seconds: float
    at_once: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettled:
    """A batch of outcomes was written to the database.

    ``rows`` is the number of rows that were still leased to this worker. ``outcomes`` counts these rows by final
    status, or as ``retrying``, ``postponed``, ``deferred``, ``held`` or ``released``. ``statements`` is the number of
    statements, and ``seconds`` is the time that they took.
    """

    rows: int
    outcomes: Mapping[str, int]
    statements: int
    seconds: float


class Timed(NamedTuple):
    """How late an attempt began and how long it took, in seconds. The attempt counts as ``weight`` attempts.
    ``unclaimed`` is the part of the lateness before the claim, or None if that is unknown."""

    queue: int
    client: str
    lateness: float
    duration: float
    weight: int
    unclaimed: float | None = None


class QueueOutcome(NamedTuple):
    """A queue, by number, and an outcome. ``is_plain`` marks plain successes, whose ends are counted nowhere else."""

    queue: int
    outcome: str
    is_plain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptsEnded:
    """Attempts have ended, and their outcomes are settled.

    ``clients`` contains the client of each attempt, by queue and outcome: ``succeeded``, ``failed``, ``snoozed`` or
    ``deferred``. The outcomes ``late``, ``released`` and ``undeliverable`` are for executions that were not attempted.
    ``committed`` counts the attempts that were committed together with their handler's writes, and so are in no batch.
    Under load, ``timed`` is only a sample, in which each entry represents several attempts of its queue.
    """

    clients: Mapping[QueueOutcome, Sequence[str]]
    timed: Sequence[Timed]
    committed: int = 0


class Observer:
    """The base class of observers. Its methods do nothing; subclasses override the ones they need.

    Methods must not raise or block, because they run in the loop that claims and settles. Executions that are committed
    together with their handler's writes are reported only by ``ended``.
    """

    def claimed(self, batch: BatchClaimed) -> None:
        """Called before the rows are dispatched."""

    def settled(self, batch: BatchSettled) -> None:
        """Called when the batch has been committed."""

    def ended(self, attempts: AttemptsEnded) -> None:
        """Called with a batch's attempts when the batch has been committed, and for each attempt that was committed
        together with its handler's writes."""
