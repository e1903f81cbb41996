"""What some jobs have counted with each run, and what follows on the end of one; one statement for all of a claim's."""

from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection

from pgsched.domain.execution import ClaimedExecution, by_partition
from pgsched.store.core.sql import statement, statement_in
from pgsched.store.core.wire import Tokens, Uuids
from pgsched.store.jobs.definitions import ClaimedDefinition


async def count_runs(connection: AsyncConnection[Any], jobs: Sequence[bytes]) -> dict[bytes, int]:
    """Counts one more run of each of these jobs; how many each has had."""
    if not jobs:
        return {}
    cursor = await connection.execute(statement("jobs/count_runs"), {"jobs": Uuids(jobs)}, binary=True)
    return {row[0]: row[1] for row in await cursor.fetchall()}


async def plan_completions(
    connection: AsyncConnection[Any], rows: Sequence[tuple[ClaimedExecution, ClaimedDefinition]]
) -> None:
    """Has each job's next row wait for the end of the claimed one."""
    definitions = {row.id: definition for row, definition in rows}
    for partition, found in by_partition(row for row, _ in rows).items():
        jobs = [definitions[row.id] for row in found]
        parameters = {
            "clients": [job.client for job in jobs],
            "jobs": Uuids(job.raw_id for job in jobs),
            "revisions": Tokens(job.revision for job in jobs),
            "after": Uuids(row.id for row in found),
            "delays": [job.every for job in jobs],
        }
        await connection.execute(statement_in("jobs/plan_completions", partition), parameters)
