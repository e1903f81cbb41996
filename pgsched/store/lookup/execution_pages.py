"""Finds a page of executions without reading more rows than it shows, however many there are.

Of each partition of the live rows the first are reached by its primary key (id, partition), of history by
``history_id``, of the dead letters that are kept longer by theirs; the page is the first of them all. That is why the
parts of ``pgsched.status`` stand here: of the view, each row would be asked for the status that a page is of.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from pgsched.domain.queue_partitions import PARTITIONS_PER_QUEUE
from pgsched.store.lookup.clauses import (
    FAILED,
    STATUS,
    Condition,
    SortOrder,
    calling,
    equal,
    homes,
    labelled,
    queues,
    row_of,
    table,
)
from pgsched.store.lookup.row_types import Execution, ExecutionFilter

LARGE = {"payload", "result"}
"""Columns that listings for people leave out."""


_SHARED = (
    "id", "partition", "client_id", "key", "job_id", "target", "payload", "scheduled_for", "fire_at",
    "attempt", "created_at", "options", "ordering_key", "labels",
)  # fmt: skip
_OF_ENDED = ("status", "finished_at", "status_code", "result", "reason", "instants", "last_scheduled_for")
_executions = table("executions", *_SHARED, "lease_owner", "lease_expires_at", "gate", "reason")
_history = table("history", *_SHARED, *_OF_ENDED)
_kept = table("kept_dead_letters", *_SHARED, *_OF_ENDED, schema="pgsched_internal")
_waiting = _executions.c.lease_expires_at.is_(None)  # as the token is, which a client does not read
_FIRST = sa.text(str(-PARTITIONS_PER_QUEUE))  # the bits of a partition that it shares with the first of its queue
_held = _executions.c.fire_at == sa.text("'infinity'::timestamptz")
_AS_LIVE: dict[str, Condition] = {
    "running": _executions.c.lease_expires_at.is_not(None),
    "held": sa.and_(_waiting, _held),
    "retrying": sa.and_(_waiting, ~_held, _executions.c.attempt > 0),
    "scheduled": sa.and_(_waiting, ~_held, _executions.c.attempt == 0),
}


def page_of_executions(
    wanted: ExecutionFilter,
    *,
    limit: int,
    after: UUID | None,
    reach: UUID | None = None,
    order: SortOrder = SortOrder.NEWEST,
    contents: bool = True,
) -> sa.Select[Any]:
    """Those that come after the one with the id ``after``, as far as ``reach``. Without ``contents`` they have neither
    payload nor result, each of which may be a MiB: what is not asked for is not read."""
    bounds = partial(_conditions, wanted=wanted, after=after, reach=reach, order=order)
    halves: list[sa.Select[Any]] = []
    live = [condition for name, condition in _AS_LIVE.items() if name in wanted.statuses]
    ended = [_history.c.status == _status(name) for name in wanted.statuses if name not in _AS_LIVE]
    if live or not wanted.statuses:
        halves.append(_live(bounds(_executions) + _any_of(live), order, queue=wanted.queue, limit=limit))
    if ended or not wanted.statuses:
        halves.append(_ended(_history, bounds(_history) + _any_of(ended), order, queue=wanted.queue, limit=limit))
    if not wanted.statuses or "failed" in wanted.statuses:
        halves.append(_ended(_kept, bounds(_kept), order, queue=wanted.queue, limit=limit))
    return _first(halves, order, limit=limit, contents=contents)


def _status(name: str) -> sa.ColumnElement[Any]:
    return FAILED if name == "failed" else sa.cast(name, STATUS)


def _any_of(conditions: list[Condition]) -> list[Condition]:
    return [sa.or_(*conditions)] if conditions else []


def _conditions(
    half: sa.TableClause, *, wanted: ExecutionFilter, after: UUID | None, reach: UUID | None, order: SortOrder
) -> list[Condition]:
    nominal = sa.func.coalesce(half.c.scheduled_for, half.c.fire_at)
    found = equal((half.c.client_id, wanted.client), (half.c.key, wanted.key), (half.c.job_id, wanted.job))
    found += calling(half.c.target, wanted.host) + labelled(half.c.labels, wanted.labels)
    found += [nominal >= wanted.start] if wanted.start is not None else []
    found += [nominal < wanted.end] if wanted.end is not None else []
    return found + order.between(half.c.id, after, reach)


def _live(conditions: Sequence[Condition], order: SortOrder, *, limit: int, queue: str | None = None) -> sa.Select[Any]:
    """The first live rows of each partition, each reached through its primary key."""
    home = homes(queue).subquery("home")
    status = sa.case(*((condition, name) for name, condition in _AS_LIVE.items())).label("status")
    held_by = sa.case((_AS_LIVE["held"], _executions.c.gate)).label("held_by")
    first_partition = sa.cast(_executions.c.partition.op("&")(_FIRST), sa.Text)
    stalled = sa.select(sa.func.pgsched_internal.stalls()).scalar_subquery().op("->>")(first_partition)
    reason = sa.case(
        (_AS_LIVE["running"], sa.null()),
        (_AS_LIVE["held"], _executions.c.reason),
        else_=sa.func.coalesce(stalled, _executions.c.reason),
    ).label("reason")
    others = [column for column in _executions.c if column.name != "reason"]
    first = (
        sa.select(*others, status, held_by, reason)
        .where(_executions.c.partition == home.c.partition, *conditions)
        .order_by(order.by(_executions.c.id))
        .limit(limit)
        .lateral("first")
    )
    return _as_row(first, home.c.name).select_from(home.join(first, sa.true()))


def _ended(
    half: sa.TableClause,
    conditions: Sequence[Condition],
    order: SortOrder,
    *,
    limit: int,
    queue: str | None = None,
) -> sa.Select[Any]:
    """The first finished rows, through the index on their id."""
    of_queue = sa.select(queues.c.first_partition).where(queues.c.name == queue).scalar_subquery()
    finished = sa.select(half).where(*conditions)
    if queue is not None:
        finished = finished.where(half.c.partition.between(of_queue, of_queue + PARTITIONS_PER_QUEUE - 1))
    first = finished.order_by(order.by(half.c.id)).limit(limit).subquery("first")
    first_partition = first.c.partition.op("&")(_FIRST)
    return _as_row(first, queues.c.name).select_from(
        first.outerjoin(queues, queues.c.first_partition == first_partition)
    )


def _as_row(half: sa.FromClause, queue: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """An Execution from either half."""
    return row_of(
        Execution,
        half,
        queue=queue,
        status=sa.cast(half.c.status, sa.Text),
        scheduled_for=sa.func.coalesce(half.c.scheduled_for, half.c.fire_at),
    )


def _first(halves: Sequence[sa.Select[Any]], order: SortOrder, *, limit: int, contents: bool) -> sa.Select[Any]:
    rows = sa.union_all(*halves).subquery("rows") if len(halves) > 1 else halves[0].subquery("rows")
    left_out = set() if contents else LARGE
    columns = (sa.null().label(column.name) if column.name in left_out else column for column in rows.c)
    return sa.select(*columns).order_by(order.by(rows.c.id)).limit(limit)
