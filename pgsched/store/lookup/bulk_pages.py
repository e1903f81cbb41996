"""Reads bulk operations: pages of them, or a single one."""

from dataclasses import fields
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store.bulk.operation_types import BulkDetail, BulkOperation, Runs
from pgsched.store.core.query import one, rows
from pgsched.store.lookup.clauses import Query, SortOrder, found, given, query


def page_of_operations(
    *,
    limit: int,
    action: str | None = None,
    job: UUID | None = None,
    after: UUID | None = None,
) -> Query:
    wanted = given({"action": action, "job": job}) | SortOrder.NEWEST.between(after)
    return query("lookup/bulk_operations", wanted, limit=limit)


async def get_operation(connection: AsyncConnection[Any], id: UUID) -> BulkOperation:
    """Returns a bulk operation. Raises NotFound if there is none with this id."""
    missing = f"there is no bulk operation {id}; the ids are in the list of bulk operations"
    return await one(connection, BulkOperation, "lookup/bulk_operations", missing, "id", id=id, limit=1)


async def get_detail(connection: AsyncConnection[Any], id: UUID) -> BulkDetail:
    """Returns a bulk operation and, for a backfill, the counts of its runs. Raises NotFound."""
    operation = await get_operation(connection, id)
    shown = {field.name: getattr(operation, field.name) for field in fields(operation)}
    runs = await rows(connection, Runs, "bulk/runs", operation=id)  # only a backfill has runs
    return BulkDetail(**shown, runs=runs[0] if runs else None)


async def list_operations(
    connection: AsyncConnection[Any],
    *,
    action: str | None = None,
    job: UUID | None = None,
    limit: int,
    after: UUID | None = None,
) -> list[BulkOperation]:
    """Returns up to ``limit`` operations that are older than the operation ``after``, newest first. If ``action`` or
    ``job`` is given, returns only operations with that action or of that job.
    """
    return await found(connection, BulkOperation, page_of_operations(action=action, job=job, after=after, limit=limit))
