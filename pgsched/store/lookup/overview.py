"""The state of the installation, at a cost that does not grow with the number of rows."""

from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import AsyncConnection

from pgsched.store.core.sql import statement

MOST_COUNTED = 10_000
"""So many executions are counted of what is due, of what is due later, of what is held and of what has ended."""
STATUSES = ("scheduled", "retrying", "held", "running", "succeeded", "failed", "cancelled", "expired", "skipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Executions by status; of those in ``at_least`` there may be more. What has ended is counted newest first."""

    executions: dict[str, int]
    at_least: list[str]


async def count(connection: AsyncConnection[Any]) -> Counts:
    live = await _rows(connection, statement("lookup/count_live"))
    found = live + await _rows(connection, statement("lookup/count_ended"))
    counted = {status: number for status, number, _ in found}
    cut = {status for status, _, is_cut in found if is_cut}
    return Counts(
        executions={status: counted[status] for status in STATUSES if status in counted},
        at_least=[status for status in STATUSES if status in cut],
    )


async def oldest_due(connection: AsyncConnection[Any]) -> float:
    """By how many seconds the oldest execution is late that is due and in nobody's hand; 0 where none is."""
    [[late]] = await _rows(connection, statement("lookup/oldest_due"))
    return float(late)


async def _rows(connection: AsyncConnection[Any], query: LiteralString) -> list[tuple[Any, ...]]:
    cursor = await connection.execute(query, {"most": MOST_COUNTED})
    return await cursor.fetchall()
