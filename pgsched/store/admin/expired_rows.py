"""Deletes rows that have exceeded their retention, except whole days of history
(``interface/admin/day_partitions.sql``).
"""

from typing import Any

from psycopg import AsyncConnection

from pgsched.store.core.sql import statement


async def delete_audit(connection: AsyncConnection[Any], *, kept: int, most: int) -> int:
    """Deletes at most ``most`` audit log entries older than ``kept`` days. Returns how many."""
    cursor = await connection.execute(statement("admin/delete_audit"), {"kept": kept, "most": most})
    return cursor.rowcount


async def delete_ended_jobs(connection: AsyncConnection[Any], *, most: int) -> int:
    """Deletes at most ``most`` jobs that ended longer ago than their ``delete_after``. Returns how many."""
    cursor = await connection.execute(statement("admin/delete_ended_jobs"), {"most": most})
    return cursor.rowcount


async def delete_progress(connection: AsyncConnection[Any], *, most: int) -> int:
    """Deletes at most ``most`` progress reports of executions that have ended. Returns how many."""
    return (await connection.execute(statement("admin/delete_progress"), {"most": most})).rowcount
