"""Deletes what has been kept for long enough, but whole days of history (``interface/admin/days.sql``)."""

from typing import Any

from psycopg import AsyncConnection

from pgsched.store.core.sql import statement


async def delete_audit(connection: AsyncConnection[Any], *, kept: int, most: int) -> int:
    """Deletes what the audit log has had for longer than ``kept`` days, no more than ``most``; returns how many."""
    cursor = await connection.execute(statement("admin/delete_audit"), {"kept": kept, "most": most})
    return cursor.rowcount


async def delete_ended_jobs(connection: AsyncConnection[Any], *, most: int) -> int:
    """Deletes jobs that ended longer ago than their ``delete_after``, no more than ``most``; returns how many."""
    cursor = await connection.execute(statement("admin/delete_ended_jobs"), {"most": most})
    return cursor.rowcount


async def delete_progress(connection: AsyncConnection[Any], *, most: int) -> int:
    """Deletes what handlers said of executions that have ended, no more than ``most``, and returns how many."""
    return (await connection.execute(statement("admin/delete_progress"), {"most": most})).rowcount
