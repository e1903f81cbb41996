"""The decisions of a claim about the rows of recurring jobs, and how they are written."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.execution import ClaimedExecution, by_partition
from pgsched.domain.misfire_and_overlap import SkippedRange
from pgsched.domain.recurrence_rules import Rules
from pgsched.store.core.sql import statement, statement_in
from pgsched.store.core.wire import LAST, LONG_AGO, Instants, Tokens, Uuids
from pgsched.store.jobs.definition_cache import ClaimedDefinition, fires_late
from pgsched.store.jobs.skipped_instants import finish_jobs, skip_claimed, skip_further
from pgsched.store.jobs.start_windows import Planning, starts_of
from pgsched.store.live.put_off_rows import PutOff

Successor = tuple[ClaimedExecution, ClaimedDefinition, int, int]
"""A claimed row, its job, and the instant and the earliest start of the row's successor."""


class Run(NamedTuple):
    """A claimed row that will run, unless an earlier run prevents it.

    Its successor starts at ``earliest`` or later. The instants ``passed`` are skipped unless the row waits. If
    ``changed``, no successor is planned here: whoever changed the job plans it.
    """

    row: ClaimedExecution
    definition: ClaimedDefinition
    rules: Rules
    successor: int | None
    earliest: int = LONG_AGO
    passed: tuple[SkippedRange, ...] = ()
    changed: bool = False


@dataclass(slots=True)
class Decisions:
    """The decisions of one claim. ``idle`` are the rows that do not run; ``locked`` are the idle rows that are put off;
    ``heard`` maps each partition to the earliest start planned in it.
    """

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
        """Puts a row off, to be claimed again a moment later or at ``until``."""
        self.idle.add(row.id)
        self.locked.append(PutOff(row, not fires_late(row, rules), reason, until))

    def skip_alone(self, run: Run, reason: str) -> None:
        """Skips the instant of a row."""
        nominal = run.row.nominal
        self.skip(run, (SkippedRange(first=nominal, last=nominal, count=1, reason=reason), *run.passed))

    def skip(self, run: Run, ranges: tuple[SkippedRange, ...]) -> None:
        """Skips these ranges of a job's instants. The first range begins with the row's instant."""
        self.idle.add(run.row.id)
        self.skipped.append((run.row, ranges[0]))
        self.further += [(run.definition.id, one) for one in ranges[1:]]
        self.follow(run)

    def follow(self, run: Run) -> None:
        """Plans a row's successor, unless the job has changed."""
        if run.changed:
            return
        if run.successor is None or run.successor > LAST:
            self.ended.append((run.definition, "no further instants"))
        else:
            earliest = run.earliest if run.successor <= run.earliest else LONG_AGO
            self.successors.append((run.row, run.definition, run.successor, earliest))


async def count_runs(connection: AsyncConnection[Any], jobs: Sequence[bytes]) -> dict[bytes, int]:
    """Increments the run count of each of these jobs. Returns the new counts."""
    if not jobs:
        return {}
    cursor = await connection.execute(statement("jobs/count_runs"), {"jobs": Uuids(jobs)}, binary=True)
    return {row[0]: row[1] for row in await cursor.fetchall()}


async def write(connection: AsyncConnection[Any], decisions: Decisions) -> None:
    """Inserts the successors, and records what is skipped or ended."""
    await _insert(connection, decisions)
    if decisions.skipped:
        await skip_claimed(connection, decisions.skipped)
    if decisions.further:
        await skip_further(connection, decisions.further)
    await _plan_completions(connection, decisions.completing)
    if decisions.ended:
        await finish_jobs(connection, [(one.id, one.revision, why) for one, why in decisions.ended])


async def _insert(connection: AsyncConnection[Any], decisions: Decisions) -> None:
    planned: dict[int, list[tuple[bytes, str, int, int, int, int]]] = defaultdict(list)
    starts = await _starts(connection, decisions.successors)
    for row, definition, instant, earliest in decisions.successors:
        start = starts.get(definition.raw_id, instant)
        named = (definition.raw_id, definition.client, definition.revision)
        planned[row.partition].append((*named, instant, start, max(start, earliest)))
    if not planned:
        return
    inserted = []
    async with connection.pipeline():  # one wait for the row counts of all partitions
        for partition, successors in planned.items():
            jobs, clients, revisions, instants, begins, fires = zip(*sorted(successors), strict=True)
            insert = statement_in("jobs/plan_successors", partition, ("unless_it_stands",) if decisions.again else ())
            parameters = {
                "clients": list(clients),
                "jobs": Uuids(jobs),
                "revisions": Tokens(revisions),
                "instants": Instants(instants),
                "starts": Instants(begins),
                "fires": Instants(fires),
            }
            cursor = await connection.execute(insert, parameters)
            decisions.heard[partition] = min(fires)
            inserted.append((partition, parameters, len(jobs), cursor))
    for partition, parameters, count, cursor in inserted:
        if cursor.rowcount < count:
            await _put_off_locked(connection, decisions, partition, parameters)


async def _starts(connection: AsyncConnection[Any], successors: Iterable[Successor]) -> dict[bytes, int]:
    """Returns, by job id, the starts of the successors whose jobs have rules."""
    ruled = {
        definition.raw_id: Planning(definition, row.partition, instant)
        for row, definition, instant, _ in successors
        if definition.rules is not None
    }
    return dict(zip(ruled, await starts_of(connection, ruled.values()), strict=True)) if ruled else {}


async def _put_off_locked(
    connection: AsyncConnection[Any], decisions: Decisions, partition: int, parameters: Mapping[str, Any]
) -> None:
    """Puts off rows that got no successor although their jobs are unchanged, because another session has locked the
    jobs.
    """
    named = {name: parameters[name] for name in ("clients", "jobs", "revisions", "instants")}
    cursor = await connection.execute(statement_in("jobs/unplanned_successors", partition), named, binary=True)
    locked = {found[0] for found in await cursor.fetchall()}
    for row, definition, _, _ in decisions.successors:
        if row.partition == partition and definition.raw_id in locked:
            decisions.further = [one for one in decisions.further if one[0] != definition.id]
            decisions.skipped = [one for one in decisions.skipped if one[0].id != row.id]
            decisions.put_off(row, definition.parsed())


async def _plan_completions(
    connection: AsyncConnection[Any], rows: Sequence[tuple[ClaimedExecution, ClaimedDefinition]]
) -> None:
    """Makes each job's next row wait for the end of its claimed row."""
    definitions = {row.id: definition for row, definition in rows}
    for partition, found in by_partition(row for row, _ in rows).items():
        jobs = [definitions[row.id] for row in found]
        parameters = {
            "clients": [job.client for job in jobs],
            "jobs": Uuids(job.raw_id for job in jobs),
            "revisions": Tokens(job.revision for job in jobs),
            "after": Uuids(row.id for row in found),
            "delays": [job.every for job in jobs],
        }
        await connection.execute(statement_in("jobs/plan_completions", partition), parameters)
