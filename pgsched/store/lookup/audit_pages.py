"""Pages of the audit log."""

from typing import Any

import sqlalchemy as sa
from psycopg import AsyncConnection

from pgsched.store.admin.audit import AuditEntry, AuditFilter
from pgsched.store.lookup.clauses import equal, row_of, table
from pgsched.store.lookup.query_texts import found, found_value

_log = table("audit_log", "client_id", *(name for name in AuditEntry.__dataclass_fields__ if name != "client"))


def page_of_changes(
    wanted: AuditFilter, *, limit: int, after: int | None = None, most: int | None = None
) -> sa.Select[Any]:
    """The newest first. What no index has is looked for among so many changes at the most. Indexes: audit_log_client,
    audit_log_subject, audit_log_name, or the primary key backwards."""
    looked = _looked_through(wanted, after, *_log.c).limit(most).subquery("looked")
    conditions = equal((looked.c.kind, wanted.kind), (looked.c.action, wanted.action))
    if wanted.actor is not None:
        conditions.append(sa.or_(looked.c.actor == wanted.actor, looked.c.authenticated == wanted.actor))
    page = row_of(AuditEntry, looked, transaction=sa.cast(looked.c.transaction, sa.Text)).where(*conditions)
    return page.order_by(looked.c.id.desc()).limit(limit)


def reach_of_changes(wanted: AuditFilter, *, most: int, after: int | None = None) -> sa.Select[Any]:
    """The id of the last that a page looks through."""
    return _looked_through(wanted, after, _log.c.id).offset(most - 1).limit(1)


def _looked_through(wanted: AuditFilter, after: int | None, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    pairs = (_log.c.client_id, wanted.client), (_log.c.subject, wanted.subject), (_log.c.name, wanted.name)
    beyond = [] if after is None else [_log.c.id < after]
    return sa.select(*columns).where(*equal(*pairs), *beyond).order_by(_log.c.id.desc())


async def changes(
    connection: AsyncConnection[Any],
    wanted: AuditFilter,
    *,
    limit: int,
    after: int | None = None,
    most: int | None = None,
) -> list[AuditEntry]:
    """At most ``limit`` changes, the newest first, those before the one with the id ``after``; with ``most``, those
    among so many that are looked through."""
    return await found(connection, AuditEntry, page_of_changes, wanted, limit=limit, after=after, most=most)


async def reach(
    connection: AsyncConnection[Any], wanted: AuditFilter, *, most: int, after: int | None = None
) -> int | None:
    """The id of the last of so many changes that are looked through; None where there are no more than these."""
    last: int | None = await found_value(connection, reach_of_changes, wanted, most=most, after=after)
    return last
