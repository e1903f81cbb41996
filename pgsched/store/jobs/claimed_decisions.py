"""Decides what to do with the claimed rows of jobs, and finds jobs that changed during the claim.

Parsing rules and searching for rare instants can take tens of milliseconds per job. A claim spends little more than
that on all such jobs together, the simplest first. The remaining rows are put off and decided a moment later.

A session that changes a job locks the job, and skips rows that a claim holds. If the claim locks the job first, the
change finds the job already planned. If the change comes first, the claim leaves the job alone: the claimed row runs
and, unless the job is cancelled, a planner plans the next row.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.misfire_and_overlap import InstantDecision, SkippedRange
from pgsched.domain.recurrence_rules import Rules
from pgsched.errors import InvalidSchedule
from pgsched.store.core.sql import statement
from pgsched.store.core.wire import Tokens, Uuids, to_datetime, to_instant
from pgsched.store.jobs.definition_cache import ClaimedDefinition
from pgsched.store.jobs.skipped_instants import mark_invalid

_SECONDS, _SECONDS_OF_RULES = 0.1, 0.03  # of CPU time


class DecidedChanges(NamedTuple):
    """``rows`` are the rows whose jobs have changed since the rows were planned, each with the instants that the job
    had missed if it was cancelled. ``locked`` are the rows whose jobs another session has locked.
    """

    rows: dict[bytes, SkippedRange | None]
    locked: frozenset[bytes]


NOTHING_CHANGED = DecidedChanges({}, frozenset())


class DecidedRow(NamedTuple):
    """A claimed row and the decision about it, which is valid unless the row's job is being changed. If the row simply
    runs, ``decision`` is the instant of the row's successor as a wire count, or None if there is no successor.
    """

    row: ClaimedExecution
    definition: ClaimedDefinition
    rules: Rules
    decision: InstantDecision | int | None

    @property
    def changes_its_job(self) -> bool:
        """Whether running the row writes to the job, for example because it is the job's last row."""
        found, rules = self.decision, self.rules
        successor = found.successor if isinstance(found, InstantDecision) else found
        return successor is None or rules.max_runs is not None or rules.after_completion

    def is_behind(self, now: int) -> bool:
        """Whether later instants of the job have passed too."""
        found = self.decision
        if not isinstance(found, InstantDecision):
            return False
        return bool(found.skipped) or (found.successor is not None and to_instant(found.successor) <= now)


async def decide_rows(
    connection: AsyncConnection[Any],
    rows: Iterable[ClaimedExecution],
    definitions: Mapping[bytes, ClaimedDefinition],
    now: int,
) -> tuple[list[DecidedRow], list[ClaimedExecution]]:
    """Returns the rows that it decided, and those for which there was no time. All other rows simply run."""
    found, left = list[DecidedRow](), list[ClaimedExecution]()
    known = [(row, definition) for row in rows if (definition := definitions.get(row.id))]
    known.sort(key=lambda one: one[1].weight)
    until, are_plain = time.thread_time() + _SECONDS, True
    for row, definition in known:
        if are_plain and definition.rules is not None:
            are_plain, until = False, min(until, time.thread_time() + _SECONDS_OF_RULES)
        if found and time.thread_time() > until:
            left.append(row)
            continue
        try:
            decision = definition.decided(row, now) if definition.revision == row.plan else None
            found.append(DecidedRow(row, definition, definition.parsed(), decision))
        except (InvalidSchedule, OverflowError) as error:
            # The schedule was valid when the row was planned, but time zone rules change. The rest of the claim
            # continues.
            await mark_invalid(connection, definition.id, row.plan, error)
    return found, left


async def changed_since(connection: AsyncConnection[Any], decided: Sequence[DecidedRow], now: int) -> DecidedChanges:
    """Checks which jobs have changed. Locks the jobs that need more than a successor, unless another session has locked
    them. A job that only needs a successor is not checked: if the job has changed, the successor is not inserted.
    """
    behind = {one.definition.raw_id: one for one in decided if _is_to_be_looked_at(one, now)}
    if not behind:
        return NOTHING_CHANGED
    jobs, revisions = zip(*sorted((id, one.row.plan or 0) for id, one in behind.items()), strict=True)
    clients = [behind[id].definition.client for id in jobs]
    parameters = {"clients": clients, "jobs": Uuids(jobs), "revisions": Tokens(revisions)}
    cursor = await connection.execute(statement("jobs/hold_jobs"), parameters, binary=True)
    found = await cursor.fetchall()
    changed = {
        behind[id].row.id: None if cancelled is None else _missed(behind[id], cancelled)
        for id, unchanged, cancelled in found
        if not unchanged
    }
    held = {id for id, _, _ in found}
    return DecidedChanges(changed, frozenset(one.row.id for id, one in behind.items() if id not in held))


def _is_to_be_looked_at(one: DecidedRow, now: int) -> bool:
    return one.definition.revision != one.row.plan or one.changes_its_job or one.is_behind(now)


def _missed(one: DecidedRow, cancelled: int) -> SkippedRange | None:
    missed = one.definition.recurrence().missed(to_datetime(one.row.scheduled_for), to_datetime(cancelled))
    if missed is None:
        return None
    return SkippedRange(first=missed.first, last=missed.last, count=missed.count, reason="job cancelled")
