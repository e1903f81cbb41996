"""Pages of the audit log."""

from typing import Any

from psycopg import AsyncConnection

from pgsched.store.admin.audit import AuditEntry, AuditFilter
from pgsched.store.lookup.clauses import Query, SortOrder, found, found_value, given, query
from pgsched.store.lookup.page_reach import last_of


def page_of_changes(wanted: AuditFilter, *, limit: int, after: int | None = None, most: int | None = None) -> Query:
    others: Any = {"kind": wanted.kind, "action": wanted.action, "actor": wanted.actor, "limit": limit, "most": most}
    return query("lookup/changes", _looked_through(wanted, after), **others)


def reach_of_changes(wanted: AuditFilter, *, most: int, after: int | None = None) -> Query:
    """Selects the id of the last change that a page examines."""
    looked = _looked_through(wanted, after)
    return Query(f"select {last_of('pgsched.audit_log', most - 1, looked, order=SortOrder.NEWEST)}", looked)


def _looked_through(wanted: AuditFilter, after: int | None) -> dict[str, Any]:
    named = {"client": wanted.client, "subject": wanted.subject, "name": wanted.name}
    return given(named) | SortOrder.NEWEST.between(after)


async def changes(
    connection: AsyncConnection[Any],
    wanted: AuditFilter,
    *,
    limit: int,
    after: int | None = None,
    most: int | None = None,
) -> list[AuditEntry]:
    """Returns up to ``limit`` changes that are older than the change ``after``, newest first. ``most`` limits the
    changes examined.
    """
    return await found(connection, AuditEntry, page_of_changes(wanted, limit=limit, after=after, most=most))


async def reach(
    connection: AsyncConnection[Any], wanted: AuditFilter, *, most: int, after: int | None = None
) -> int | None:
    """Returns the id of the last of the ``most`` changes to examine, or None if fewer are left."""
    last: int | None = await found_value(connection, reach_of_changes(wanted, most=most, after=after))
    return last
