"""Builds the queries for pages of executions, dead letters and jobs.

A page has the rows after the id ``after``, up to the id ``reach`` (``lookup.page_reach``). Payloads and results may be
as large as a MiB, so they are read only with ``contents``.

A page of executions merges three sources: live rows, history, and the dead letters that are kept longer. From history,
from the dead letters and from each partition of live rows, at most as many rows are read as the page shows.
"""

from typing import Any
from uuid import UUID

from pgsched.domain.states import LIVE_STATUSES
from pgsched.store.lookup.clauses import Conditions, Query, SortOrder, given, query, text
from pgsched.store.lookup.filters import DeadLetterFilter, ExecutionFilter, JobFilter

HISTORY, KEPT = "pgsched.history", "pgsched_internal.kept_dead_letters"


def page_of_executions(
    wanted: ExecutionFilter,
    *,
    limit: int,
    after: UUID | None,
    reach: UUID | None = None,
    order: SortOrder = SortOrder.NEWEST,
    contents: bool = True,
) -> Query:
    bounds = conditions_of(wanted) | order.between(after, reach)
    live, ended = statuses_of(wanted)
    of_ended = bounds | given({"queue": wanted.queue})
    parts = []
    if live is not None:
        parts.append(text("lookup/live_executions", bounds | live, order))
    if ended is not None:
        parts.append(text("lookup/ended_executions", of_ended | ended, order).replace("{table}", HISTORY))
    if not wanted.statuses or "failed" in wanted.statuses:
        parts.append(text("lookup/ended_executions", of_ended, order).replace("{table}", KEPT))
    page = text("lookup/executions", {}, order).replace("{parts}", " union all ".join(f"({part})" for part in parts))
    others = {"queue": wanted.queue, "limit": limit, "contents": contents}
    return Query(page, bounds | (live or {}) | (ended or {}) | others)


def conditions_of(wanted: ExecutionFilter | JobFilter) -> dict[str, Any]:
    """Returns the conditions that a filter sets on each row, other than status and queue."""
    names = wanted.__dataclass_fields__.keys() - {"statuses", "queue"}
    return given({name: getattr(wanted, name) for name in sorted(names)})


def statuses_of(wanted: ExecutionFilter) -> tuple[Conditions | None, Conditions | None]:
    """Returns the conditions on the statuses of live rows and of history; None means that the source is not read."""
    if not wanted.statuses:
        return {}, {}
    live = [status for status in wanted.statuses if status in LIVE_STATUSES]
    ended = [status for status in wanted.statuses if status not in LIVE_STATUSES]
    of_ended: Conditions = {"failed": True} if ended == ["failed"] else {"ended": ended}
    return {"live": live} if live else None, of_ended if ended else None


def page_of_dead_letters(
    wanted: DeadLetterFilter,
    *,
    state: str,
    limit: int,
    after: UUID | None,
    reach: UUID | None = None,
    order: SortOrder = SortOrder.NEWEST,
    contents: bool = True,
) -> Query:
    conditions = _letters(wanted, state) | order.between(after, reach)
    return query("lookup/dead_letters", conditions, order, limit=limit, contents=contents)


def reasons_of_dead_letters(
    wanted: DeadLetterFilter, *, state: str, limit: int, after: UUID | None, reach: UUID | None
) -> Query:
    """Selects the reasons of the newest ``limit`` dead letters. The most frequent reasons come first."""
    conditions = _letters(wanted, state) | SortOrder.NEWEST.between(after, reach)
    return query("lookup/dead_letter_reasons", conditions, limit=limit)


def _letters(wanted: DeadLetterFilter, state: str) -> dict[str, Any]:
    """Returns the conditions that have a value. They match those in ``pgsched_internal.look_through_dead_letters``."""
    names = {"start": "failed_since", "end": "failed_before"}
    asked = {names.get(name, name): getattr(wanted, name) for name in DeadLetterFilter.__dataclass_fields__}
    return given(asked | ({} if state == "all" else {state: True}))


def page_of_jobs(
    wanted: JobFilter,
    *,
    limit: int,
    after: UUID | None,
    reach: UUID | None = None,
    order: SortOrder = SortOrder.NEWEST,
) -> Query:
    return query("lookup/jobs", conditions_of(wanted) | order.between(after, reach), order, limit=limit)


def page_of_definitions(wanted: JobFilter, *, limit: int, after: UUID | None, reach: UUID | None = None) -> Query:
    """Like ``page_of_jobs``, but reads only the columns that decide when a job fires."""
    conditions = conditions_of(wanted) | SortOrder.NEWEST.between(after, reach)
    return query("lookup/definitions", conditions, limit=limit)
