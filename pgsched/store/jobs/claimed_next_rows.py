"""Plans the next rows of recurring jobs in the transaction that claims their current rows, and decides which of the
claimed rows run.

Each claimed instant is decided first, because later instants may have passed since it was planned
(``domain.misfire_and_overlap``). A row that must not overlap an unfinished run of its job is skipped, waits for that
run to end, or ends it. A row that waits gets no successor yet, because its next claim decides again. So a job always
has exactly one waiting row, however far behind the job is.

Nothing here waits for a lock that a client can hold. If another session has locked a row's job or its earlier run, the
row is given back unchanged, to be claimed a moment later.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.misfire_and_overlap import InstantDecision, OverlapDecision, decide_overlap
from pgsched.domain.upstream_run import LookAgain, SkipRun, WaitFor
from pgsched.store.core.wire import LONG_AGO, to_instant
from pgsched.store.jobs.claimed_decisions import DecidedChanges, DecidedRow, changed_since, decide_rows
from pgsched.store.jobs.definition_cache import Definitions, fires_late
from pgsched.store.jobs.overlapping_runs import as_planned, cancel_earlier, earlier_runs, early_rows, queue
from pgsched.store.jobs.upstream_runs import decide_after, queue_after
from pgsched.store.jobs.written_decisions import Decisions, Run, count_runs, write
from pgsched.store.live.put_off_rows import PutOff, put_off

_MOST_LOOKED_UP = 50


class Planned(NamedTuple):
    """``instants`` maps each partition to the earliest start planned in it (wire count). ``idle`` contains the ids of
    the claimed rows that do not run, including rows that were put off. ``restored`` contains, by id, the rows whose
    start has changed since they were claimed.
    """

    instants: dict[int, int]
    idle: frozenset[bytes] = frozenset()
    restored: Mapping[bytes, ClaimedExecution] = MappingProxyType({})


NOTHING_PLANNED = Planned({})


async def plan_successors(
    connection: AsyncConnection[Any],
    claimed: Sequence[ClaimedExecution],
    known: Definitions,
    *,
    now: int,
    ahead: timedelta,
    again: bool,
) -> Planned:
    """Plans the next rows of claimed recurring rows. ``now`` is the database's time as a wire count; ``ahead`` is how
    far ahead claims read.

    A job that was edited, paused or cancelled meanwhile is left alone: its next plan begins after the row that runs
    here. If a successor already exists, the transaction fails with UniqueViolation, unless ``again``.
    """
    # If a job has several claimed rows, the successor follows the latest. One of the rows may have an older revision.
    started = await as_planned(connection, claimed)
    restored = {row.id: row for row, before in zip(started, claimed, strict=True) if row is not before}
    latest = sorted(started, key=lambda row: (row.plan or 0, row.scheduled_for))
    rows = list({row.job_id: row for row in latest}.values())
    definitions = await known.of_rows(connection, rows)
    decisions = Decisions(again=again)
    decided, left = await decide_rows(connection, rows, definitions, now)
    for row in left:
        decisions.idle.add(row.id)
        decisions.locked.append(PutOff(row, row.fire_at <= row.scheduled_for))
    changed = await changed_since(connection, decided, now)
    for one in decided:
        if one.row.id in changed.locked:
            decisions.put_off(one.row, one.rules)
    runs = [run for one in decided if (run := _run_of(decisions, one, changed, now))]
    runs = await _after_others(connection, decisions, runs)
    await _let_run(connection, decisions, await _unhindered(connection, decisions, runs))
    await write(connection, decisions)
    if decisions.locked:
        for partition, instant in (await put_off(connection, decisions.locked, ahead)).items():
            decisions.heard[partition] = min(instant, decisions.heard.get(partition, instant))
    return Planned(decisions.heard, frozenset(decisions.idle), restored)


async def _put_off_early(connection: AsyncConnection[Any], decisions: Decisions, runs: Sequence[Run]) -> None:
    """Puts off runs whose instants are still in the future, each until its instant."""
    early = await early_rows(connection, [run.row for run in runs])
    for run in runs:
        if run.row.id in early:
            decisions.put_off(run.row, run.rules, "waits: its scheduled time is in the future", until=run.row.start)


def _run_of(decisions: Decisions, one: DecidedRow, changed: DecidedChanges, now: int) -> Run | None:
    """Returns the run of a claimed row, or None if it does not run."""
    row, definition, rules, decided = one
    if row.id in changed.locked:
        return None
    if row.id in changed.rows:
        missed = changed.rows[row.id]
        return Run(row, definition, rules, None, passed=() if missed is None else (missed,), changed=True)
    if not isinstance(decided, InstantDecision):
        return Run(row, definition, rules, decided)
    successor = None if decided.successor is None else to_instant(decided.successor)
    if decided.runs:
        earliest = row.fire_at if fires_late(row, rules) else LONG_AGO
        return Run(row, definition, rules, successor, earliest, decided.skipped)
    # The replacement run starts now.
    decisions.skip(Run(row, definition, rules, successor, now + 1), decided.skipped)
    return None


async def _after_others(connection: AsyncConnection[Any], decisions: Decisions, runs: list[Run]) -> list[Run]:
    """Returns the runs that need not wait for another job. Of the others, decides a few and puts off the rest."""
    looked, skipping = 0, dict[bytes, tuple[Run, str]]()
    for run in runs:
        if run.rules.after is None:
            continue
        looked += 1
        if looked > _MOST_LOOKED_UP:
            decisions.put_off(run.row, run.rules, "waits: many runs that depend on other jobs are due")
            continue
        match await decide_after(connection, run.row, run.definition, run.rules.after):
            case WaitFor() as waits:
                await queue_after(connection, run.row, waits, carries_on=not run.changed)
                decisions.idle.add(run.row.id)
                decisions.further += [(run.definition.id, one) for one in run.passed if run.changed]
            case LookAgain(reason):
                decisions.put_off(run.row, run.rules, reason)
            case SkipRun(reason):
                skipping[run.row.id] = run, reason
    await _put_off_early(connection, decisions, [run for run, _ in skipping.values()])
    for run, reason in skipping.values():
        if run.row.id not in decisions.idle:
            decisions.skip_alone(run, reason)
    return [run for run in runs if run.row.id not in decisions.idle]


async def _unhindered(connection: AsyncConnection[Any], decisions: Decisions, runs: list[Run]) -> list[Run]:
    """Returns the runs that can start now, and handles those whose job has an unfinished earlier run."""
    wary = [run for run in runs if decide_overlap(run.rules) is not OverlapDecision.RUN]
    hindered = await earlier_runs(connection, [run.row for run in wary])
    if not hindered:
        return runs
    await _put_off_early(connection, decisions, [run for run in wary if run.row.id in hindered])
    runs = [run for run in runs if run.row.id not in decisions.idle]
    # All sessions lock earlier runs in the same order.
    runs = sorted(runs, key=lambda run: (run.row.partition, hindered.get(run.row.id, b"")))
    decided = {run.row.id: decide_overlap(run.rules) for run in wary if run.row.id in hindered}
    queued = [run for run in runs if decided.get(run.row.id) is OverlapDecision.WAIT]
    waiting = await _queue(connection, decisions, [(run, hindered[run.row.id]) for run in queued])
    decisions.idle |= waiting
    decisions.further += [
        (run.definition.id, one) for run in queued if run.changed and run.row.id in waiting for one in run.passed
    ]
    free = []
    for run in runs:
        if run.row.id in decisions.idle:
            continue
        overlap = decided.get(run.row.id)
        if overlap is OverlapDecision.SKIP:
            decisions.skip_alone(run, "overlap")
        elif overlap is OverlapDecision.CANCEL and not await cancel_earlier(connection, run.row):
            decisions.put_off(run.row, run.rules)
        else:
            free.append(run)
    return free


async def _let_run(connection: AsyncConnection[Any], decisions: Decisions, runs: list[Run]) -> None:
    counts = await count_runs(connection, [run.definition.raw_id for run in runs if run.rules.max_runs is not None])
    for run in runs:
        decisions.further += [(run.definition.id, one) for one in run.passed]
        most = run.rules.max_runs
        if most is not None and not run.changed and counts.get(run.definition.raw_id, 0) >= most:
            decisions.ended.append((run.definition, "max_runs"))
        elif run.rules.after_completion and not run.changed:
            decisions.completing.append((run.row, run.definition))
        else:
            decisions.follow(run)


async def _queue(
    connection: AsyncConnection[Any], decisions: Decisions, runs: Iterable[tuple[Run, bytes]]
) -> set[bytes]:
    """Makes each row wait for the end of the run before it, unless that run has ended. Returns the ids of the rows that
    wait.
    """
    queued: set[bytes] = set()
    for run, earlier in runs:
        waits = await queue(connection, run.row, earlier, carries_on=not run.changed)
        if waits is None:
            decisions.put_off(run.row, run.rules)
        elif waits:
            queued.add(run.row.id)
    return queued
