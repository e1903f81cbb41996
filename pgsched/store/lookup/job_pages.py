"""Pages of jobs, in the order of their ids. Indexes: the primary key, jobs_client, jobs_key, jobs_labels."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from pgsched.domain.job_definition import Definition
from pgsched.store.lookup.clauses import SortOrder, calling, equal, in_state, labelled, row_of, table
from pgsched.store.lookup.row_types import JobFilter, JobRow

jobs = table(
    "jobs", "id", "client_id", "key", "queue", "ordering_key", "target", "payload", "options", "rules", "exceptions",
    "labels", "cron", "timezone", "every", "anchor", "gap", "overlap", "state", "reason", "runs", "declared_by",
    "paused_at", "created_at", "updated_at",
)  # fmt: skip


def page_of_jobs(
    wanted: JobFilter, *, limit: int, after: UUID | None, reach: UUID | None = None, order: SortOrder = SortOrder.NEWEST
) -> sa.Select[Any]:
    """Those that come after the one with the id ``after``, as far as ``reach``."""
    return _page(_jobs(), wanted, limit=limit, after=after, reach=reach, order=order)


def page_of_definitions(
    wanted: JobFilter, *, limit: int, after: UUID | None, reach: UUID | None = None, order: SortOrder = SortOrder.NEWEST
) -> sa.Select[Any]:
    """The same, of each only when it fires."""
    return _page(row_of(Definition, jobs), wanted, limit=limit, after=after, reach=reach, order=order)


def one_job(*, id: UUID) -> sa.Select[Any]:
    return _jobs().where(jobs.c.id == id)


def _page(
    query: sa.Select[Any], wanted: JobFilter, *, limit: int, after: UUID | None, reach: UUID | None, order: SortOrder
) -> sa.Select[Any]:
    conditions = [
        *equal((jobs.c.client_id, wanted.client), (jobs.c.key, wanted.key)),
        *([] if wanted.state is None else [in_state(jobs.c.state, wanted.state)]),
        *calling(jobs.c.target, wanted.host),
        *labelled(jobs.c.labels, wanted.labels),
        *order.between(jobs.c.id, after, reach),
    ]
    return query.where(*conditions).order_by(order.by(jobs.c.id)).limit(limit)


def _jobs() -> sa.Select[Any]:
    # A pause that is over is remembered until its instants are accounted for; who looks now is told of one that lasts.
    paused_at = sa.case((in_state(jobs.c.state, "paused"), jobs.c.paused_at))
    return row_of(JobRow, jobs, paused_at=paused_at)
