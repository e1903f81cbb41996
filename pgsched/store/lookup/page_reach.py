"""Decides how far a page looks, so that its cost is bounded, however many rows its filter skips.

A filter that no index answers is tried on the rows in the order of their ids: on fifty thousand where an index has
all that it asks for, on five thousand where each row has to be visited. What these functions select is the id of the
last one to look at, or null where fewer are left. A page ends there, also with fewer rows than it may have, and the
next one goes on behind it. Filters whose index leads to nothing but what they name look at all there is: no id is
selected for them.
"""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from pgsched.domain.queue_partitions import PARTITIONS_PER_QUEUE
from pgsched.domain.states import LIVE_STATUSES
from pgsched.store.lookup.clauses import FAILED, Condition, SortOrder, homes, table
from pgsched.store.lookup.job_pages import jobs
from pgsched.store.lookup.row_types import DeadLetterFilter, ExecutionFilter, JobFilter

ENTRIES = 50_000
VISITS = 5_000
FIRST_LOOK = 50
"""Most pages are full after such a part of what may be looked at."""


_executions = table("executions", "id", "partition", "client_id", "labels")
_history = table("history", "id", "status", "client_id", "labels")
_kept = table("kept_dead_letters", "id", schema="pgsched_internal")


def reach_of_executions(
    wanted: ExecutionFilter, *, after: UUID | None, share: int = 1, order: SortOrder = SortOrder.NEWEST
) -> sa.Select[Any] | None:
    visited = (wanted.queue, wanted.host, wanted.key, wanted.start, wanted.end, wanted.labels)
    if wanted.job is not None or (wanted.client is not None and wanted.key is not None):
        return None
    if wanted.client is None and not wanted.statuses and not any(value is not None for value in visited):
        return None
    visits = VISITS // share
    ends = visits if any(value is not None for value in visited) else ENTRIES // share
    if wanted.client is not None and wanted.labels is not None:
        return _reach_of_labelled(wanted.client, visits, after, order)
    reached = []
    ended = [status for status in wanted.statuses if status not in LIVE_STATUSES]
    if not wanted.statuses or len(ended) < len(wanted.statuses):
        if wanted.queue is None:
            reached.append(_last(_executions, visits, after, order))
        else:
            reached.append(_last_of_queue(wanted.queue, visits, after, order))
    if ended == ["failed"]:
        reached += [_last(_history, ends, after, order, _history.c.status == FAILED), _last(_kept, ends, after, order)]
    elif ended or not wanted.statuses:
        reached += [_last(_history, ends, after, order), _last(_kept, ends, after, order)]
    return sa.select(order.first(*reached))


def _reach_of_labelled(client: Any, visits: int, after: UUID | None, order: SortOrder) -> sa.Select[Any]:
    """Of a client only what has labels is visited."""
    found = [
        _last(rows, visits, after, order, rows.c.client_id == client, rows.c.labels.is_not(None))
        for rows in (_executions, _history)
    ]
    return sa.select(order.first(*found, _last(_kept, visits, after, order)))


def reach_of_dead_letters(
    wanted: DeadLetterFilter, *, state: str, after: UUID | None, share: int = 1, order: SortOrder = SortOrder.NEWEST
) -> sa.Select[Any] | None:
    if wanted.job is not None or (wanted.client is not None and wanted.key is not None):
        return None
    asked = {name for name in DeadLetterFilter.__dataclass_fields__ if getattr(wanted, name) is not None}
    most = (ENTRIES if asked <= {"client"} and state in {"open", "all"} else VISITS) // share
    failed = _last(_history, most, after, order, _history.c.status == FAILED)
    return sa.select(order.first(failed, _last(_kept, most, after, order)))


def reach_of_jobs(
    wanted: JobFilter, *, after: UUID | None, share: int = 1, order: SortOrder = SortOrder.NEWEST
) -> sa.Select[Any] | None:
    visits = VISITS // share
    if wanted.host is not None and wanted.client is not None and wanted.key is None:
        return sa.select(_last(jobs, visits, after, order, jobs.c.client_id == wanted.client))
    named = (wanted.state, wanted.key, wanted.host, wanted.labels)
    if wanted.client is not None or all(value is None for value in named):
        return None
    return sa.select(_last(jobs, visits, after, order))


def _last_of_queue(queue: str, most: int, after: UUID | None, order: SortOrder) -> sa.ScalarSelect[Any]:
    """The first of those at which its partitions end, each of which gets its share."""
    home = homes(queue).subquery("home")
    beyond = order.between(_executions.c.id, after)
    ends = sa.select(_executions.c.id).where(_executions.c.partition == home.c.partition, *beyond)
    last = ends.order_by(order.by(_executions.c.id)).offset(most // PARTITIONS_PER_QUEUE).limit(1).lateral("last")
    return _first(sa.select(last.c.id).select_from(home.join(last, sa.true())), order)


def _first(ids: sa.Select[Any], order: SortOrder) -> sa.ScalarSelect[Any]:
    """Of PostgreSQL 15 there is neither max nor min of ids."""
    found = ids.subquery("ends")
    return sa.select(found.c.id).order_by(order.by(found.c.id)).limit(1).scalar_subquery()


def _last(
    rows: sa.FromClause, most: int, after: UUID | None, order: SortOrder, *conditions: Condition
) -> sa.ScalarSelect[Any]:
    """The last of so many."""
    found = sa.select(rows.c.id).where(*order.between(rows.c.id, after), *conditions)
    return found.order_by(order.by(rows.c.id)).offset(most).limit(1).scalar_subquery()
