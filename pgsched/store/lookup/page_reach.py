"""Decides how far a page reads, so that its cost is bounded, however many rows its filter skips.

If no index can answer a filter, the filter is tested on rows in order of id: on 50,000 rows if an index has all the
columns that the filter needs, on 5,000 if each row must be visited. These functions select the id of the last row to
examine, or null if fewer rows are left. A page ends at this row even if it is not full. If an index leads only to
matching rows, the page is not bounded, and no id is selected.
"""

from typing import Any
from uuid import UUID

from pgsched.domain.queue_partitions import PARTITIONS_PER_QUEUE
from pgsched.store.lookup.clauses import Conditions, Query, SortOrder, text
from pgsched.store.lookup.filters import DeadLetterFilter, ExecutionFilter, JobFilter
from pgsched.store.lookup.page_queries import HISTORY, KEPT, statuses_of

ENTRIES = 50_000
VISITS = 5_000
FIRST_LOOK = 50
"""The first look examines 1/50 of the rows that a page may examine, which fills most pages."""

_LIVE, _JOBS = "pgsched.executions", "pgsched.jobs"
_FAILED = {"failed": True}


def reach_of_executions(
    wanted: ExecutionFilter, *, after: UUID | None, share: int = 1, order: SortOrder = SortOrder.NEWEST
) -> Query | None:
    is_visited = any(
        value is not None for value in (wanted.queue, wanted.host, wanted.key, wanted.start, wanted.end, wanted.labels)
    )
    if wanted.job is not None or (wanted.client is not None and wanted.key is not None):
        return None
    if wanted.client is None and not wanted.statuses and not is_visited:
        return None
    beyond, visits = order.between(after), VISITS // share
    if wanted.client is not None and wanted.labels is not None:  # only the client's rows that have labels are visited
        labelled = {"client": wanted.client, "labelled": True} | beyond
        return _first(order, labelled, (_LIVE, visits, labelled), (HISTORY, visits, labelled), (KEPT, visits, beyond))
    ends = visits if is_visited else ENTRIES // share
    live, ended = statuses_of(wanted)
    parts: list[tuple[str, int, Conditions]] = []
    if live is not None:
        parts.append((_LIVE, visits, beyond))
    if ended is not None:
        parts += [(HISTORY, ends, beyond | (_FAILED if ended == _FAILED else {})), (KEPT, ends, beyond)]
    return _first(order, beyond, *parts, queue=wanted.queue)


def reach_of_dead_letters(
    wanted: DeadLetterFilter, *, state: str, after: UUID | None, share: int = 1, order: SortOrder = SortOrder.NEWEST
) -> Query | None:
    if wanted.job is not None or (wanted.client is not None and wanted.key is not None):
        return None
    asked = {name for name in DeadLetterFilter.__dataclass_fields__ if getattr(wanted, name) is not None}
    most = (ENTRIES if asked <= {"client"} and state in {"open", "all"} else VISITS) // share
    beyond = order.between(after)
    return _first(order, beyond, (HISTORY, most, beyond | _FAILED), (KEPT, most, beyond))


def reach_of_jobs(
    wanted: JobFilter, *, after: UUID | None, share: int = 1, order: SortOrder = SortOrder.NEWEST
) -> Query | None:
    beyond, visits = order.between(after), VISITS // share
    if wanted.host is not None and wanted.client is not None and wanted.key is None:
        of_client = beyond | {"client": wanted.client}
        return _first(order, of_client, (_JOBS, visits, of_client))
    named = (wanted.state, wanted.key, wanted.host, wanted.labels)
    if wanted.client is not None or all(value is None for value in named):
        return None
    return _first(order, beyond, (_JOBS, visits, beyond))


def _first(
    order: SortOrder, parameters: Conditions, *parts: tuple[str, int, Conditions], queue: str | None = None
) -> Query:
    """Selects the first, in page order, of the last rows to examine in several tables; null if every table ends
    earlier.
    """
    last = [last_of(*part, order=order, queue=queue) for part in parts]
    first = "greatest" if order is SortOrder.NEWEST else "least"
    return Query(f"select {first}({', '.join(last)})", {**parameters, "queue": queue})


def last_of(table: str, most: int, conditions: Conditions, *, order: SortOrder, queue: str | None = None) -> str:
    """Returns the SQL for the id of the last of ``most`` rows of a table. For a queue's live rows, ``most`` is shared
    among the partitions.
    """
    by_queue = queue is not None and table == _LIVE
    shared = most // PARTITIONS_PER_QUEUE if by_queue else most
    found: Any = text("lookup/last_of_queue" if by_queue else "lookup/last_of", conditions, order)
    return str(found.replace("{table}", table).replace("{most}", str(shared)))
