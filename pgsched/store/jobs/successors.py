"""Plans the next rows of recurring jobs in the transaction that claims the present ones, and decides which of these
run.

Each claimed row is first reckoned with, for instants may have passed since it was planned (``domain.reckoning``). Of
those that would run, the ones that are not to overlap are held against the runs of their job that are not over: they
are skipped, or wait for that run's end, or end it. What runs or is skipped has its successor inserted; what waits has
none, since its next claim reckons anew. So a job has one waiting row at any time, however much it is behind.

Nothing here waits for a lock that a client can hold. A row whose job, or whose earlier run, somebody else has locked is
given back as it was, to be claimed a moment later.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.execution import Execution
from pgsched.domain.predecessor import LookAgain, SkipRun, WaitFor
from pgsched.domain.reckoning import OverlapDecision, Reckoning, SkippedRange, decide_overlap
from pgsched.domain.rules import Rules
from pgsched.store.core.sql import statement_in
from pgsched.store.core.wire import LAST, LONG_AGO, Instants, Tokens, Uuids, to_instant
from pgsched.store.ends.ends import finish_jobs, skip_claimed, skip_further
from pgsched.store.jobs.definitions import ClaimedDefinition, Definitions, fires_late
from pgsched.store.jobs.earlier import as_planned, cancel_earlier, earlier_runs, queue
from pgsched.store.jobs.following import count_runs, plan_completions
from pgsched.store.jobs.predecessors import decide_after, queue_after
from pgsched.store.jobs.reckoned import Reckoned, ReckonedChanges, changed_since, reckon_rows
from pgsched.store.jobs.starts import Planning, starts_of
from pgsched.store.live.putting_off import PutOff, put_off

_MOST_LOOKED_UP = 50
_Successor = tuple[Execution, ClaimedDefinition, int, int]


class Planned(NamedTuple):
    """The earliest start planned in each partition, a wire count; and the ids of the claimed rows that do not run.

    Among those are the ones that are put off, since somebody else has locked what they need."""

    instants: dict[int, int]
    idle: frozenset[bytes] = frozenset()


NOTHING_PLANNED = Planned({})


@dataclass(slots=True)
class _Turn:
    """What is decided for the rows of one claim."""

    again: bool
    idle: set[bytes] = field(default_factory=set)
    locked: list[PutOff] = field(default_factory=list)
    successors: list[_Successor] = field(default_factory=list)
    skipped: list[tuple[Execution, SkippedRange]] = field(default_factory=list)
    further: list[tuple[UUID, SkippedRange]] = field(default_factory=list)
    ended: list[tuple[ClaimedDefinition, str]] = field(default_factory=list)
    completing: list[tuple[Execution, ClaimedDefinition]] = field(default_factory=list)
    heard: dict[int, int] = field(default_factory=dict)


class _Run(NamedTuple):
    """A claimed row that is to run, unless an earlier run stands in its way.

    Its successor starts at ``earliest`` or later; the instants ``passed`` are skipped unless it waits. With ``changed``
    it has none: whoever changed the job plans it.
    """

    row: Execution
    definition: ClaimedDefinition
    rules: Rules
    successor: int | None
    earliest: int = LONG_AGO
    passed: tuple[SkippedRange, ...] = ()
    changed: bool = False


async def plan_successors(
    connection: AsyncConnection[Any],
    claimed: Sequence[Execution],
    known: Definitions,
    *,
    now: int,
    ahead: timedelta,
    again: bool,
) -> Planned:
    """Carries on the jobs of claimed recurring rows; ``now`` is the database's time as a wire count, and claims look so
    far ``ahead``.

    A job that was edited, paused or cancelled since is left alone: whoever changed it plans it, from the row on that
    runs here. A row that stands already fails the transaction with UniqueViolation, unless it is made ``again``.
    """
    # Of several rows of a job the latest is followed; one of an older revision may be among them.
    latest = sorted(claimed, key=lambda row: (row.plan or 0, row.scheduled_for))
    rows = list({row.job_id: row for row in latest}.values())
    definitions = await known.of_rows(connection, rows)
    rows = await as_planned(connection, rows, definitions)
    turn = _Turn(again=again)
    reckoned, left = await reckon_rows(connection, rows, definitions, now)
    for row in left:
        turn.idle.add(row.id)
        turn.locked.append(PutOff(row, row.fire_at <= row.scheduled_for))
    changed = await changed_since(connection, reckoned, now)
    for one in reckoned:
        if one.row.id in changed.locked:
            _put_off(turn, one.row, one.rules)
    runs = [run for one in reckoned if (run := _run_of(turn, one, changed, now))]
    runs = await _after_others(connection, turn, runs)
    await _let_run(connection, turn, await _unhindered(connection, turn, runs))
    await _write(connection, turn)
    for partition, instant in (await put_off(connection, turn.locked, ahead)).items():
        turn.heard[partition] = min(instant, turn.heard.get(partition, instant))
    return Planned(turn.heard, frozenset(turn.idle))


def _put_off(turn: _Turn, row: Execution, rules: Rules, reason: str | None = None) -> None:
    turn.idle.add(row.id)
    turn.locked.append(PutOff(row, not fires_late(row, rules), reason))


def _run_of(turn: _Turn, one: Reckoned, changed: ReckonedChanges, now: int) -> _Run | None:
    """The run that a claimed row means; None where it does not run."""
    row, definition, rules, reckoned = one
    if row.id in changed.locked:
        return None
    if row.id in changed.rows:
        missed = changed.rows[row.id]
        return _Run(row, definition, rules, None, passed=() if missed is None else (missed,), changed=True)
    if not isinstance(reckoned, Reckoning):
        return _Run(row, definition, rules, reckoned)
    successor = None if reckoned.successor is None else to_instant(reckoned.successor)
    if reckoned.runs:
        earliest = row.fire_at if fires_late(row, rules) else LONG_AGO
        return _Run(row, definition, rules, successor, earliest, reckoned.skipped)
    # What runs instead has its turn now, whenever it was to start: it fires late, at this moment.
    _skip(turn, _Run(row, definition, rules, successor, now + 1), reckoned.skipped)
    return None


def _skip(turn: _Turn, run: _Run, ranges: tuple[SkippedRange, ...]) -> None:
    turn.idle.add(run.row.id)
    turn.skipped.append((run.row, ranges[0]))
    turn.further += [(run.definition.id, one) for one in ranges[1:]]
    _follow(turn, run)


def _follow(turn: _Turn, run: _Run) -> None:
    if run.changed:
        return
    if run.successor is None or run.successor > LAST:
        turn.ended.append((run.definition, "no instant is left"))
    else:
        earliest = run.earliest if run.successor <= run.earliest else LONG_AGO
        turn.successors.append((run.row, run.definition, run.successor, earliest))


async def _after_others(connection: AsyncConnection[Any], turn: _Turn, runs: list[_Run]) -> list[_Run]:
    """Those that need not wait for another job's run. The others are dealt with: a few of them in one claim."""
    looked = 0
    for run in runs:
        if run.rules.after is None:
            continue
        looked += 1
        if looked > _MOST_LOOKED_UP:
            _put_off(turn, run.row, run.rules, "waits: many runs that come after others are due")
            continue
        match await decide_after(connection, run.row, run.definition, run.rules.after):
            case WaitFor() as waits:
                await queue_after(connection, run.row, waits, carries_on=not run.changed)
                turn.idle.add(run.row.id)
                turn.further += [(run.definition.id, one) for one in run.passed if run.changed]
            case LookAgain(reason):
                _put_off(turn, run.row, run.rules, reason)
            case SkipRun(reason):
                nominal = run.row.nominal
                _skip(turn, run, (SkippedRange(first=nominal, last=nominal, count=1, reason=reason), *run.passed))
    return [run for run in runs if run.row.id not in turn.idle]


async def _unhindered(connection: AsyncConnection[Any], turn: _Turn, runs: list[_Run]) -> list[_Run]:
    """Those that run now. The others have an earlier run of their job before them, and are dealt with."""
    wary = [run for run in runs if decide_overlap(run.rules) is not OverlapDecision.RUN]
    hindered = await earlier_runs(connection, [run.row for run in wary])
    if not hindered:
        return runs
    # Earlier runs are locked in one order by all who do.
    runs = sorted(runs, key=lambda run: (run.row.partition, hindered.get(run.row.id, b"")))
    decided = {run.row.id: decide_overlap(run.rules) for run in wary if run.row.id in hindered}
    queued = [run for run in runs if decided.get(run.row.id) is OverlapDecision.WAIT]
    waiting = await _queue(connection, turn, [(run, hindered[run.row.id]) for run in queued])
    turn.idle |= waiting
    turn.further += [
        (run.definition.id, one) for run in queued if run.changed and run.row.id in waiting for one in run.passed
    ]
    free = []
    for run in runs:
        if run.row.id in turn.idle:
            continue
        overlap = decided.get(run.row.id)
        if overlap is OverlapDecision.SKIP:
            nominal = run.row.nominal
            _skip(turn, run, (SkippedRange(first=nominal, last=nominal, count=1, reason="overlap"), *run.passed))
        elif overlap is OverlapDecision.CANCEL and not await cancel_earlier(connection, run.row):
            _put_off(turn, run.row, run.rules)
        else:
            free.append(run)
    return free


async def _let_run(connection: AsyncConnection[Any], turn: _Turn, runs: list[_Run]) -> None:
    counts = await count_runs(connection, [run.definition.raw_id for run in runs if run.rules.max_runs is not None])
    for run in runs:
        turn.further += [(run.definition.id, one) for one in run.passed]
        most = run.rules.max_runs
        if most is not None and not run.changed and counts.get(run.definition.raw_id, 0) >= most:
            turn.ended.append((run.definition, "max_runs"))
        elif run.rules.after_completion and not run.changed:
            turn.completing.append((run.row, run.definition))
        else:
            _follow(turn, run)


async def _write(connection: AsyncConnection[Any], turn: _Turn) -> None:
    await _insert(connection, turn)
    if turn.skipped:
        await skip_claimed(connection, turn.skipped)
    await skip_further(connection, turn.further)
    await plan_completions(connection, turn.completing)
    if turn.ended:
        await finish_jobs(connection, [(one.id, one.revision, why) for one, why in turn.ended])


async def _insert(connection: AsyncConnection[Any], turn: _Turn) -> None:
    planned: dict[int, list[tuple[bytes, str, int, int, int]]] = defaultdict(list)
    starts = await _starts(connection, turn.successors)
    for row, definition, instant, earliest in turn.successors:
        fire = max(starts.get(definition.raw_id, instant), earliest)
        planned[row.partition].append((definition.raw_id, definition.client, definition.revision, instant, fire))
    if not planned:
        return
    inserted = []
    async with connection.pipeline():  # one wait for all partitions, after which it is known how many each has taken
        for partition, successors in planned.items():
            jobs, clients, revisions, instants, fires = zip(*sorted(successors), strict=True)
            insert = statement_in("jobs/plan_successors", partition, ("unless_it_stands",) if turn.again else ())
            parameters = {
                "clients": list(clients),
                "jobs": Uuids(jobs),
                "revisions": Tokens(revisions),
                "instants": Instants(instants),
                "fires": Instants(fires),
            }
            cursor = await connection.execute(insert, parameters)
            turn.heard[partition] = min(fires)
            inserted.append((partition, parameters, len(jobs), cursor))
    for partition, parameters, count, cursor in inserted:
        if cursor.rowcount < count:
            await _put_off_locked(connection, turn, partition, parameters)


async def _starts(connection: AsyncConnection[Any], successors: Iterable[_Successor]) -> dict[bytes, int]:
    """When the successors start whose jobs have rules, by the jobs' ids."""
    ruled = {
        definition.raw_id: Planning(definition, row.partition, instant)
        for row, definition, instant, _ in successors
        if definition.rules is not None
    }
    return dict(zip(ruled, await starts_of(connection, ruled.values()), strict=True))


async def _put_off_locked(
    connection: AsyncConnection[Any], turn: _Turn, partition: int, parameters: Mapping[str, Any]
) -> None:
    """Puts those rows off that have no successor though their jobs are as they were: somebody else has locked these."""
    named = {name: parameters[name] for name in ("clients", "jobs", "revisions", "instants")}
    cursor = await connection.execute(statement_in("jobs/unplanned_successors", partition), named, binary=True)
    locked = {found[0] for found in await cursor.fetchall()}
    for row, definition, _, _ in turn.successors:
        if row.partition == partition and definition.raw_id in locked:
            turn.further = [one for one in turn.further if one[0] != definition.id]
            turn.skipped = [one for one in turn.skipped if one[0].id != row.id]
            _put_off(turn, row, definition.parsed())


async def _queue(connection: AsyncConnection[Any], turn: _Turn, runs: Iterable[tuple[_Run, bytes]]) -> set[bytes]:
    """Has rows wait for the end of the run before them; the ids of those that do, where it has not ended by now."""
    queued: set[bytes] = set()
    for run, earlier in runs:
        waits = await queue(connection, run.row, earlier, carries_on=not run.changed)
        if waits is None:
            _put_off(turn, run.row, run.rules)
        elif waits:
            queued.add(run.row.id)
    return queued
