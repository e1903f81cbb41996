"""What a claim decides for the rows of jobs that it took."""

from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.rules import Rules
from pgsched.domain.run_decisions import SkippedRange
from pgsched.store.core.wire import LAST, LONG_AGO
from pgsched.store.jobs.definitions import ClaimedDefinition, fires_late
from pgsched.store.live.putting_off import PutOff

Successor = tuple[ClaimedExecution, ClaimedDefinition, int, int]
"""The claimed row that is followed, its job, the instant of the successor, and the earliest start of that."""


class Run(NamedTuple):
    """A claimed row that is to run, unless an earlier run stands in its way.

    Its successor starts at ``earliest`` or later; the instants ``passed`` are skipped unless it waits. With ``changed``
    it has none: whoever changed the job plans it.
    """

    row: ClaimedExecution
    definition: ClaimedDefinition
    rules: Rules
    successor: int | None
    earliest: int = LONG_AGO
    passed: tuple[SkippedRange, ...] = ()
    changed: bool = False


@dataclass(slots=True)
class Turn:
    """``idle`` are the rows that do not run, ``locked`` those of them that are put off; ``heard`` has the earliest
    start that is planned in each partition."""

    again: bool
    idle: set[bytes] = field(default_factory=set)
    locked: list[PutOff] = field(default_factory=list)
    successors: list[Successor] = field(default_factory=list)
    skipped: list[tuple[ClaimedExecution, SkippedRange]] = field(default_factory=list)
    further: list[tuple[UUID, SkippedRange]] = field(default_factory=list)
    ended: list[tuple[ClaimedDefinition, str]] = field(default_factory=list)
    completing: list[tuple[ClaimedExecution, ClaimedDefinition]] = field(default_factory=list)
    heard: dict[int, int] = field(default_factory=dict)

    def put_off(self, row: ClaimedExecution, rules: Rules, reason: str | None = None, until: int = LONG_AGO) -> None:
        """Has a row read again a moment later, or at an instant."""
        self.idle.add(row.id)
        self.locked.append(PutOff(row, not fires_late(row, rules), reason, until))

    def skip_alone(self, run: Run, reason: str) -> None:
        """Skips the instant of a row."""
        nominal = run.row.nominal
        self.skip(run, (SkippedRange(first=nominal, last=nominal, count=1, reason=reason), *run.passed))

    def skip(self, run: Run, ranges: tuple[SkippedRange, ...]) -> None:
        """Skips these instants of a job, the first of which is that of the row."""
        self.idle.add(run.row.id)
        self.skipped.append((run.row, ranges[0]))
        self.further += [(run.definition.id, one) for one in ranges[1:]]
        self.follow(run)

    def follow(self, run: Run) -> None:
        """Has a row's successor planned, unless whoever changed the job does so."""
        if run.changed:
            return
        if run.successor is None or run.successor > LAST:
            self.ended.append((run.definition, "no instant is left"))
        else:
            earliest = run.earliest if run.successor <= run.earliest else LONG_AGO
            self.successors.append((run.row, run.definition, run.successor, earliest))
