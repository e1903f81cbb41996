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

from pgsched.domain.partitions import PARTITIONS_PER_QUEUE
from pgsched.store.core import tables
from pgsched.store.lookup.labelled import labelled
from pgsched.store.lookup.order import SortOrder
from pgsched.store.lookup.rows import Execution, ExecutionFilter

LARGE = {"payload", "result"}
"""Columns that listings for people leave out."""
_queues = tables.queues


def _half(name: str, *columns: str, schema: str = "pgsched") -> sa.TableClause:
    shared = (
        "id", "partition", "client_id", "key", "job_id", "target", "payload", "scheduled_for", "fire_at",
        "attempt", "created_at", "options", "ordering_key", "labels",
    )  # fmt: skip
    return sa.table(name, *(sa.column(column) for column in shared + columns), schema=schema)


_executions = _half("executions", "lease_owner", "lease_expires_at", "gate", "reason")
_history = _half(
    "history", "status", "finished_at", "status_code", "result", "reason", "instants", "last_scheduled_for"
)
_kept = _half(
    "kept_dead_letters", "status", "finished_at", "status_code", "result", "reason", "instants", "last_scheduled_for",
    schema="pgsched_internal",
)  # fmt: skip
_waiting = _executions.c.lease_expires_at.is_(None)  # as the token is, which a client does not read
_FIRST = sa.text(str(-PARTITIONS_PER_QUEUE))  # the bits of a partition that it shares with the first of its queue
_held = _executions.c.fire_at == sa.text("'infinity'::timestamptz")
_AS_LIVE: dict[str, sa.ColumnElement[bool]] = {
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
    return tables.FAILED if name == "failed" else sa.cast(name, tables.STATUS)


def _any_of(conditions: list[sa.ColumnElement[bool]]) -> list[sa.ColumnElement[bool]]:
    return [sa.or_(*conditions)] if conditions else []


def _conditions(
    half: sa.TableClause, *, wanted: ExecutionFilter, after: UUID | None, reach: UUID | None, order: SortOrder
) -> list[sa.ColumnElement[bool]]:
    nominal = sa.func.coalesce(half.c.scheduled_for, half.c.fire_at)
    equal = (("client_id", wanted.client), ("key", wanted.key), ("job_id", wanted.job))
    found: list[sa.ColumnElement[bool]] = [half.c[name] == value for name, value in equal if value is not None]
    if wanted.host is not None:
        host = sa.func.pgsched_internal.canonical_host(wanted.host)
        found.append(sa.func.pgsched_internal.target_host(half.c.target) == host)
    found += [] if wanted.labels is None else labelled(half.c.labels, wanted.labels)
    found += [nominal >= wanted.start] if wanted.start is not None else []
    found += [nominal < wanted.end] if wanted.end is not None else []
    return found + order.beyond(half.c.id, after) + order.within(half.c.id, reach)


def _live(
    conditions: Sequence[sa.ColumnElement[bool]], order: SortOrder, *, limit: int, queue: str | None = None
) -> sa.Select[Any]:
    """The first live rows of each partition, each reached through its primary key."""
    home = tables.homes(queue).subquery("home")
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
    return sa.select(*_as_row(first, home.c.name)).select_from(home.join(first, sa.true()))


def _ended(
    half: sa.TableClause,
    conditions: Sequence[sa.ColumnElement[bool]],
    order: SortOrder,
    *,
    limit: int,
    queue: str | None = None,
) -> sa.Select[Any]:
    """The first finished rows, through the index on their id."""
    of_queue = sa.select(_queues.c.first_partition).where(_queues.c.name == queue).scalar_subquery()
    finished = sa.select(half).where(*conditions)
    if queue is not None:
        finished = finished.where(half.c.partition.between(of_queue, of_queue + PARTITIONS_PER_QUEUE - 1))
    first = finished.order_by(order.by(half.c.id)).limit(limit).subquery("first")
    first_partition = first.c.partition.op("&")(_FIRST)
    return sa.select(*_as_row(first, _queues.c.name)).select_from(
        first.outerjoin(_queues, _queues.c.first_partition == first_partition)
    )


def _as_row(half: sa.FromClause, queue: sa.ColumnElement[Any]) -> list[sa.ColumnElement[Any]]:
    """The columns of an Execution from either half; what a half does not have is null."""
    computed: dict[str, sa.ColumnElement[Any]] = {
        "client": half.c.client_id,
        "queue": queue,
        "status": sa.cast(half.c.status, sa.Text),
        "scheduled_for": sa.func.coalesce(half.c.scheduled_for, half.c.fire_at),
    }
    columns = {**dict.fromkeys(Execution.__dataclass_fields__, sa.null()), **half.c, **computed}
    return [columns[name].label(name) for name in Execution.__dataclass_fields__]


def _first(halves: Sequence[sa.Select[Any]], order: SortOrder, *, limit: int, contents: bool) -> sa.Select[Any]:
    rows = sa.union_all(*halves).subquery("rows") if len(halves) > 1 else halves[0].subquery("rows")
    left_out = set() if contents else LARGE
    columns = (sa.null().label(column.name) if column.name in left_out else column for column in rows.c)
    return sa.select(*columns).order_by(order.by(rows.c.id)).limit(limit)
