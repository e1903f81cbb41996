"""The live rows: claim, settle, renew, release. One method a verb; every result is fenced by (id, token)."""

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from operator import attrgetter
from typing import Any, LiteralString, NamedTuple

import psycopg
from psycopg import AsyncCursor

from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.queue_partitions import queue_of
from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement_among, statement_in, statement_over, together
from pgsched.store.core.wire import LONG_AGO, Instant, Tokens, Uuids
from pgsched.store.ends.completed_later import with_own_tokens
from pgsched.store.jobs.claimed_next_rows import NOTHING_PLANNED, plan_successors
from pgsched.store.jobs.definition_cache import Definitions
from pgsched.store.live.looking import ALL_ROWS, PLAIN, RowFilter
from pgsched.store.live.set_aside import SetAside

Answer = AsyncCursor[tuple[Any, ...]]
# As _make, in half the time.
_execution: Callable[[tuple[Any, ...]], ClaimedExecution] = partial(tuple.__new__, ClaimedExecution)
_OPTIONS: Callable[[ClaimedExecution], bytes | None] = attrgetter("options")
DEPTH = 1000
"""How many due rows of a priority are looked at for such as may be claimed."""


class PartitionShare(NamedTuple):
    """How much of which partition a claim asks for; low is the instant (wire count) to begin at."""

    partition: int
    low: int
    batch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Under which worker's number and which claim's token rows are leased, for how long, how far ahead;
    ``sure_until`` is the monotonic moment up to which what is claimed under it may be begun, and ``definitions`` are
    those that the worker has read of its rows' jobs."""

    owner: int
    token: int
    length: timedelta
    ahead: timedelta
    sure_until: float = float("inf")
    definitions: Definitions = field(default_factory=Definitions)


class Claimed(NamedTuple):
    """What a claim took, those of it that run, and the earliest successor it planned in each partition (wire count);
    ``sure_until`` is that of its lease, ``parked`` what it could not do (``store.live.claim_culprits``), and
    ``statements`` how many took them, with begin and commit."""

    taken: list[ClaimedExecution]
    rows: list[ClaimedExecution]
    planned: dict[int, int]
    sure_until: float = float("inf")
    parked: tuple[SetAside, ...] = ()
    statements: int = 0


NOTHING_CLAIMED = Claimed([], [], {})

Admit = Callable[[Connection, list[ClaimedExecution]], Awaitable[list[ClaimedExecution]]]
"""Which of the claimed rows may start, decided within the claim's transaction."""


async def claim(
    connection: Connection,
    lease: Lease,
    shares: Sequence[PartitionShare],
    *,
    now: int,
    admit: Admit | None = None,
    row_filter: RowFilter = ALL_ROWS,
    again: bool = False,
) -> Claimed:
    """Leases due rows of several partitions in one transaction; ``now`` is the database's time as a wire count.

    The jobs of recurring rows are carried on in the same transaction: when this returns, their successors stand, and
    those of their rows that do not run are not among the rows. It is made ``again`` if somebody else had planned a
    successor. A claim that was cancelled leaves the connection in the middle of it.
    """
    claims = _claims(lease, shares, row_filter)
    try:
        async with connection.pipeline() as pipeline:  # without a wait between begin and claim, plan and commit
            await connection.execute("begin")
            cursors = [await connection.execute(*one, binary=True) for one in claims]
            await pipeline.sync()
            taken = [row for cursor in cursors for row in map(_execution, await cursor.fetchall())]
            running, planned = await carry_on(connection, lease, taken, now=now, admit=admit, again=again)
            await connection.execute("commit")
    except Exception as error:
        with contextlib.suppress(psycopg.Error):
            await connection.rollback()
        if again or not isinstance(error, psycopg.errors.UniqueViolation):
            raise
    else:
        return Claimed(taken, running, planned, statements=len(cursors) + 2)
    return await claim(connection, lease, shares, now=now, admit=admit, row_filter=row_filter, again=True)


async def carry_on(
    connection: Connection,
    lease: Lease,
    taken: list[ClaimedExecution],
    *,
    now: int,
    admit: Admit | None,
    again: bool,
) -> tuple[list[ClaimedExecution], dict[int, int]]:
    """What a claim does with the rows that it took, in its transaction: those that run, and what was planned."""
    running = taken
    recurring = [row for row in taken if (row.plan or 0) > 0 and row.attempt == 1]
    planned = NOTHING_PLANNED
    if recurring:
        planned = await plan_successors(
            connection, recurring, lease.definitions, now=now, ahead=lease.ahead, again=again
        )
    if planned.idle or planned.restored:
        running = [planned.restored.get(row.id, row) for row in taken if row.id not in planned.idle]
    if admit:
        running = await admit(connection, running)
    if any(map(_OPTIONS, running)):
        running = await with_own_tokens(connection, running)
    return running, planned.instants


async def claim_at_once(
    connection: Connection, lease: Lease, share: PartitionShare, row_filter: RowFilter = PLAIN
) -> Claimed:
    """Leases due rows of one partition in a single round trip, for a row that just came in; none that recur or have an
    order, for there is no transaction in which to plan on, or to look whose turn it is: ``row_filter`` is plain."""
    [claim] = _claims(lease, [share], row_filter)
    cursor = await connection.execute(*claim, binary=True)
    rows = [*map(_execution, await cursor.fetchall())]
    running = await with_own_tokens(connection, rows) if any(map(_OPTIONS, rows)) else rows
    return Claimed(rows, running, {}, statements=1)


def _claims(
    lease: Lease, shares: Sequence[PartitionShare], row_filter: RowFilter
) -> Iterator[tuple[LiteralString, dict[str, Any]]]:
    """The claim's statements and their parameters."""
    common = {"owner": lease.owner, "token": lease.token, "lease": lease.length, "ahead": lease.ahead}
    if row_filter.first:
        yield from _claims_of_first(common, shares, row_filter)
        return
    wanted = {share.partition: share for share in shares}
    for partitions in together(wanted):
        parameters: dict[str, Any] = common | row_filter.parameters_in(partitions[0])
        for partition in partitions:
            share = wanted.get(partition) or PartitionShare(partition, LONG_AGO, 0)
            parameters[f"low_{partition}"] = Instant(share.low)
            parameters[f"batch_{partition}"] = share.batch
        yield statement_over("live/claim", partitions, row_filter.clauses, row_filter.order), parameters


def _claims_of_first(
    common: Mapping[str, Any], shares: Sequence[PartitionShare], row_filter: RowFilter
) -> Iterator[tuple[LiteralString, dict[str, Any]]]:
    """The same for what goes first by its priority: a statement for each queue, whose room each of its shares names."""
    for queue, batch in {queue_of(share.partition): share.batch for share in shares}.items():
        partitions = [share.partition for share in shares if queue_of(share.partition) == queue]
        asked = {"batch": batch, "depth": DEPTH}
        text = statement_among("live/claim_first", tuple(partitions), row_filter.clauses)
        yield text, {**common, **row_filter.parameters_in(partitions[0]), **asked}


@dataclass(slots=True)
class Group:
    """Rows of one partition that have the same outcome."""

    ids: list[bytes]
    tokens: list[int]

    @classmethod
    def of(cls, rows: Iterable[ClaimedExecution]) -> "Group":
        """The group of these rows."""
        ids, tokens = zip(*[(row.id, row.token) for row in rows], strict=True)
        return cls(list(ids), list(tokens))

    def parameters(self) -> dict[str, Any]:
        return {"ids": Uuids(self.ids), "tokens": Tokens(dict.fromkeys(self.tokens))}


Groups = Mapping[int, Group]
NOTHING = Group([], [])


class AnsweredRow(NamedTuple):
    """A row that succeeded, with its result as JSON text."""

    id: bytes
    token: int
    status_code: int | None
    result: str


async def settle_succeeded(connection: Connection, code: int | None, groups: Groups) -> list[Answer]:
    """Moves succeeded rows into history. The answers' rowcounts are how many still were this worker's."""
    return [
        await connection.execute(statement_over("live/settle_succeeded", named), {**rows, "code": code}, binary=True)
        for named, rows in over_partitions(groups)
    ]


async def settle_answered(connection: Connection, rows: Mapping[int, Sequence[AnsweredRow]]) -> list[Answer]:
    """``settle_succeeded`` for rows of these partitions that succeeded with results."""
    cursors = []
    for partitions in together(rows):
        named: dict[str, Any] = {"tokens": Tokens({row.token for p in partitions for row in rows.get(p, ())})}
        for p in partitions:
            some = rows.get(p, ())
            named[f"ids_{p}"] = Uuids(row.id for row in some)
            named[f"codes_{p}"] = [row.status_code for row in some]
            named[f"results_{p}"] = [row.result for row in some]
        text = statement_over("live/settle_answered", partitions)
        cursors.append(await connection.execute(text, named, binary=True))
    return cursors


async def settle_discarded(connection: Connection, groups: Groups) -> list[Answer]:
    """Ends succeeded rows whose client keeps no history of successes. The answers' rowcounts are how many were this
    worker's."""
    return [
        await connection.execute(statement_over("live/settle_discarded", partitions), rows, binary=True)
        for partitions, rows in over_partitions(groups)
    ]


def over_partitions(groups: Groups) -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
    """The partitions that statements over several name together, each time with the parameters for their rows."""
    for partitions in together(groups):
        rows: dict[str, Any] = {}
        tokens: dict[int, None] = {}
        for partition in partitions:
            group = groups.get(partition, NOTHING)
            rows[f"ids_{partition}"] = Uuids(group.ids)
            tokens.update(dict.fromkeys(group.tokens))
        yield partitions, rows | {"tokens": Tokens(tokens)}


class Finished(NamedTuple):
    """What an attempt came to, if that is more than a plain success: ``failed``, ``postponed``, ``late``, or an end
    that stands. Seconds is how long it took; None when it never began. ``retryable`` and the seconds to ``wait`` are
    what its target asked for; ``traceback`` is where its handler failed."""

    id: bytes
    token: int
    outcome: str
    status_code: int | None
    result: str | None
    reason: str | None
    seconds: float | None
    retryable: bool = False
    wait: float | None = None
    traceback: str | None = None


async def settle_finished(connection: Connection, partition: int, rows: Sequence[Finished]) -> Answer:
    """Ends rows, or sends them back to wait for their next attempts, as their options decide. Answers for each status
    with how many were this worker's, the status, and the instant at which the first of them fires again."""
    ids, tokens, outcomes, codes, results, reasons, durations, retryable, waits, tracebacks = zip(*rows, strict=True)
    return await connection.execute(
        statement_in("live/settle_finished", partition),
        {
            "ids": Uuids(ids),
            "tokens": Tokens(tokens),
            "outcomes": list(outcomes),
            "codes": list(codes),
            "results": list(results),
            "reasons": list(reasons),
            "durations": list(durations),
            "retryable": list(retryable),
            "waits": list(waits),
            "tracebacks": list(tracebacks),
        },
        binary=True,
    )


class PostponedRow(NamedTuple):
    """A row that waits for so many seconds without having been tried, and why, if its owner is to know."""

    id: bytes
    token: int
    seconds: float
    reason: str | None = None


async def postpone(connection: Connection, partition: int, rows: Sequence[PostponedRow]) -> Answer:
    """Puts rows off as if they had not been claimed. The answer's rowcount: how many were this worker's."""
    ids, tokens, seconds, reasons = zip(*rows, strict=True)
    parameters = {"ids": Uuids(ids), "tokens": Tokens(tokens), "seconds": list(seconds), "reasons": list(reasons)}
    return await connection.execute(statement_in("live/postpone", partition), parameters)


async def release(connection: Connection, partition: int, group: Group) -> Answer:
    """Hands unstarted rows back as if they had not been claimed. The answer's rowcount: how many were this worker's."""
    return await connection.execute(statement_in("live/release", partition), group.parameters(), binary=True)


async def cut_short(connection: Connection, partition: int, group: Group) -> Answer:
    """The same of rows that ran when their worker stopped; a handler to which this happens again and again is to run
    alone."""
    return await connection.execute(statement_in("live/cut_short", partition), group.parameters(), binary=True)


async def renew(connection: Connection, partition: int, group: Group, lease: timedelta) -> int:
    """Prolongs the leases that are past a third of their life."""
    parameters = {**group.parameters(), "lease": lease}
    cursor = await connection.execute(statement_in("live/renew", partition), parameters, binary=True)
    return cursor.rowcount
