"""Pages of jobs, in the order of their ids. Indexes: the primary key, jobs_client, jobs_key, jobs_labels."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from pgsched.domain.definition import Definition
from pgsched.store.core import tables
from pgsched.store.lookup.labelled import labelled
from pgsched.store.lookup.order import SortOrder
from pgsched.store.lookup.rows import JobFilter, JobRow


def page_of_jobs(
    wanted: JobFilter, *, limit: int, after: UUID | None, reach: UUID | None = None, order: SortOrder = SortOrder.NEWEST
) -> sa.Select[Any]:
    """Those that come after the one with the id ``after``, as far as ``reach``."""
    return _page(_jobs(), wanted, limit=limit, after=after, reach=reach, order=order)


def page_of_definitions(
    wanted: JobFilter, *, limit: int, after: UUID | None, reach: UUID | None = None, order: SortOrder = SortOrder.NEWEST
) -> sa.Select[Any]:
    """The same, of each only when it fires."""
    columns = {**tables.jobs.c, "client": tables.jobs.c.client_id}
    query = sa.select(*(columns[name].label(name) for name in Definition.__dataclass_fields__))
    return _page(query, wanted, limit=limit, after=after, reach=reach, order=order)


def one_job(id: UUID) -> sa.Select[Any]:
    return _jobs().where(tables.jobs.c.id == id)


def _page(
    query: sa.Select[Any], wanted: JobFilter, *, limit: int, after: UUID | None, reach: UUID | None, order: SortOrder
) -> sa.Select[Any]:
    jobs = tables.jobs.c
    for column, value in ((jobs.client_id, wanted.client), (jobs.state, wanted.state), (jobs.key, wanted.key)):
        query = query.where(column == value) if value is not None else query
    if wanted.host is not None:
        host = sa.func.pgsched_internal.canonical_host(wanted.host)
        query = query.where(sa.func.pgsched_internal.target_host(jobs.target) == host)
    query = query if wanted.labels is None else query.where(*labelled(jobs.labels, wanted.labels))
    query = query.where(*order.beyond(jobs.id, after), *order.within(jobs.id, reach))
    return query.order_by(order.by(jobs.id)).limit(limit)


def _jobs() -> sa.Select[Any]:
    jobs = tables.jobs.c
    # A pause that is over is remembered until its instants are accounted for; who looks now is told of one that lasts.
    paused_at = sa.case((jobs.state == "paused", jobs.paused_at)).label("paused_at")
    computed = {"client": jobs.client_id.label("client"), "paused_at": paused_at}
    plain = (jobs[name] for name in JobRow.__dataclass_fields__ if name not in computed)
    return sa.select(*computed.values(), *plain)
