"""Claims, settles, renews and releases live rows. One function per verb; every result is fenced by (id, token)."""

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
from pgsched.store.core.wire import LONG_AGO, Instant, Instants, Tokens, Uuids
from pgsched.store.ends.completed_later import with_own_tokens
from pgsched.store.jobs.claimed_next_rows import NOTHING_PLANNED, plan_successors
from pgsched.store.jobs.definition_cache import Definitions
from pgsched.store.live.parked_rows import SetAside
from pgsched.store.live.row_filter_and_next_due import ALL_ROWS, PLAIN, RowFilter

Answer = AsyncCursor[tuple[Any, ...]]
# Like ``_make``, but takes half the time
_execution: Callable[[tuple[Any, ...]], ClaimedExecution] = partial(tuple.__new__, ClaimedExecution)
_OPTIONS: Callable[[ClaimedExecution], bytes | None] = attrgetter("options")
DEPTH = 1000
"""Maximum number of due rows of a priority that are examined to find claimable rows."""


class PartitionShare(NamedTuple):
    """The number of rows that a claim requests from a partition. ``low`` is the instant (wire count) from which it
    reads.
    """

    partition: int
    low: int
    batch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The terms of a claim: the worker number and token under which rows are leased, the lease's length, and how far
    ahead of their time rows are claimed. Claimed rows may begin until ``sure_until`` (monotonic time). ``definitions``
    holds the job definitions that the worker has read.
    """

    owner: int
    token: int
    length: timedelta
    ahead: timedelta
    sure_until: float = float("inf")
    definitions: Definitions = field(default_factory=Definitions)


class Claimed(NamedTuple):
    """The rows that a claim took (``taken``), those that run, and the earliest successor planned in each partition
    (wire count). ``sure_until`` is copied from the lease. ``parked`` lists rows that could not be claimed.
    ``statements`` is the number of statements sent, including begin and commit.
    """

    taken: list[ClaimedExecution]
    rows: list[ClaimedExecution]
    planned: dict[int, int]
    sure_until: float = float("inf")
    parked: tuple[SetAside, ...] = ()
    statements: int = 0


NOTHING_CLAIMED = Claimed([], [], {})

Admit = Callable[[Connection, list[ClaimedExecution]], Awaitable[list[ClaimedExecution]]]
"""Decides within the claim's transaction which of the claimed rows may start."""


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

    The successors of recurring rows are planned in the same transaction, and ``rows`` omits the rows that do not run.
    If another session had already planned a successor, the claim is repeated with ``again``. A cancelled claim leaves
    the connection in the middle of a transaction.
    """
    claims = _claims(lease, shares, row_filter)
    try:
        async with connection.pipeline() as pipeline:  # no waiting between begin and claim, plan and commit
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
    """Processes the rows that a claim took, in the claim's transaction. Returns the rows that run, and the earliest
    successor planned in each partition.
    """
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
    """Leases due rows of one partition in a single round trip, when a row has just arrived. ``row_filter`` must be
    plain, because there is no transaction in which to plan successors or check whose turn it is.
    """
    [claim] = _claims(lease, [share], row_filter)
    cursor = await connection.execute(*claim, binary=True)
    rows = [*map(_execution, await cursor.fetchall())]
    running = await with_own_tokens(connection, rows) if any(map(_OPTIONS, rows)) else rows
    return Claimed(rows, running, {}, statements=1)


def _claims(
    lease: Lease, shares: Sequence[PartitionShare], row_filter: RowFilter
) -> Iterator[tuple[LiteralString, dict[str, Any]]]:
    """Yields the claim's statements and their parameters."""
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
    """Yields the statements of a claim by priority: one for each queue, with the batch of one of its shares."""
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
        """Groups these rows."""
        ids, tokens = zip(*[(row.id, row.token) for row in rows], strict=True)
        return cls(list(ids), list(tokens))

    def parameters(self) -> dict[str, Any]:
        return {"ids": Uuids(self.ids), "tokens": Tokens(dict.fromkeys(self.tokens))}


Groups = Mapping[int, Group]
NOTHING = Group([], [])


class Times(NamedTuple):
    """When an attempt began (wire count), or LONG_AGO if it began with the transaction that settles it; and how many
    seconds it took.
    """

    began: int
    seconds: float


AT_ONCE = Times(LONG_AGO, 0.0)
"""The times of an attempt that took no time."""


class AnsweredRow(NamedTuple):
    """A row that succeeded, with its result as JSON text, if there is one."""

    id: bytes
    token: int
    status_code: int | None
    result: str | None
    times: Times


async def settle_succeeded(
    connection: Connection, code: int | None, groups: Groups, times: Times = AT_ONCE
) -> list[Answer]:
    """Moves succeeded rows, whose attempts all had about these times, into history. The result's rowcounts say how many
    rows were still this worker's.
    """
    common = {"code": code, "began": Instant(times.began), "seconds": times.seconds}
    return [
        await connection.execute(statement_over("live/settle_succeeded", named), rows | common, binary=True)
        for named, rows in over_partitions(groups)
    ]


async def settle_answered(connection: Connection, rows: Mapping[int, Sequence[AnsweredRow]]) -> list[Answer]:
    """Like ``settle_succeeded``, for rows of these partitions, each with its own code, result and times."""
    cursors = []
    for partitions in together(rows):
        named: dict[str, Any] = {"tokens": Tokens({row.token for p in partitions for row in rows.get(p, ())})}
        for p in partitions:
            some = rows.get(p, ())
            named[f"ids_{p}"] = Uuids(row.id for row in some)
            named[f"codes_{p}"] = [row.status_code for row in some]
            named[f"results_{p}"] = [row.result for row in some]
            named[f"began_{p}"] = Instants(row.times.began for row in some)
            named[f"seconds_{p}"] = [row.times.seconds for row in some]
        text = statement_over("live/settle_answered", partitions)
        cursors.append(await connection.execute(text, named, binary=True))
    return cursors


async def settle_discarded(connection: Connection, groups: Groups) -> list[Answer]:
    """Ends succeeded rows whose client keeps no history of successes. The result's rowcounts say how many rows were
    still this worker's.
    """
    return [
        await connection.execute(statement_over("live/settle_discarded", partitions), rows, binary=True)
        for partitions, rows in over_partitions(groups)
    ]


def over_partitions(groups: Groups) -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
    """Yields groups of partitions that share a statement, each group with the parameters for its rows."""
    for partitions in together(groups):
        rows: dict[str, Any] = {}
        tokens: dict[int, None] = {}
        for partition in partitions:
            group = groups.get(partition, NOTHING)
            rows[f"ids_{partition}"] = Uuids(group.ids)
            tokens.update(dict.fromkeys(group.tokens))
        yield partitions, rows | {"tokens": Tokens(tokens)}


class Finished(NamedTuple):
    """The outcome of an attempt other than a plain success: ``failed``, ``postponed``, ``late``, or a final status.
    ``times`` is None if the attempt never began. ``retryable`` and ``wait`` (in seconds) are what the target asked for;
    ``traceback`` is the handler's.
    """

    id: bytes
    token: int
    outcome: str
    status_code: int | None
    result: str | None
    reason: str | None
    times: Times | None
    retryable: bool = False
    wait: float | None = None
    traceback: str | None = None


async def settle_finished(connection: Connection, partition: int, rows: Sequence[Finished]) -> Answer:
    """Ends rows, or makes them wait for their next attempts, as their options decide. The result has a row for each
    status: the number of rows that were still this worker's, the status, and the earliest instant at which one of them
    fires again.
    """
    ids, tokens, outcomes, codes, results, reasons, times, retryable, waits, tracebacks = zip(*rows, strict=True)
    return await connection.execute(
        statement_in("live/settle_finished", partition),
        {
            "ids": Uuids(ids),
            "tokens": Tokens(tokens),
            "outcomes": list(outcomes),
            "codes": list(codes),
            "results": list(results),
            "reasons": list(reasons),
            "began": Instants(LONG_AGO if one is None else one.began for one in times),
            "seconds": [None if one is None else one.seconds for one in times],
            "retryable": list(retryable),
            "waits": list(waits),
            "tracebacks": list(tracebacks),
        },
        binary=True,
    )


class PostponedRow(NamedTuple):
    """A row to put off by ``seconds`` without an attempt. A ``reason`` is shown to the row's owner."""

    id: bytes
    token: int
    seconds: float
    reason: str | None = None


async def postpone(connection: Connection, partition: int, rows: Sequence[PostponedRow]) -> Answer:
    """Puts rows off as if they had not been claimed. The result's rowcount says how many were still this worker's."""
    ids, tokens, seconds, reasons = zip(*rows, strict=True)
    parameters = {"ids": Uuids(ids), "tokens": Tokens(tokens), "seconds": list(seconds), "reasons": list(reasons)}
    return await connection.execute(statement_in("live/postpone", partition), parameters)


async def release(connection: Connection, partition: int, group: Group) -> Answer:
    """Hands unstarted rows back as if they had not been claimed. The result's rowcount says how many were still this
    worker's.
    """
    return await connection.execute(statement_in("live/release", partition), group.parameters(), binary=True)


async def cut_short(connection: Connection, partition: int, group: Group) -> Answer:
    """Like ``release``, for rows that were running when their worker stopped. A handler that is cut short repeatedly
    will run in isolation.
    """
    return await connection.execute(statement_in("live/cut_short", partition), group.parameters(), binary=True)


async def renew(connection: Connection, partition: int, group: Group, lease: timedelta) -> int:
    """Renews the leases that have used up a third of their length. Returns how many it renewed."""
    parameters = {**group.parameters(), "lease": lease}
    cursor = await connection.execute(statement_in("live/renew", partition), parameters, binary=True)
    return cursor.rowcount
