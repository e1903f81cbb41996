"""Settles rows that succeeded with results; and what the wary way of settling asks first: which rows are locked."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement, statement_over, together
from pgsched.store.core.wire import Tokens, Uuids
from pgsched.store.live.executions import Answer, Groups, over_partitions


class AnsweredRow(NamedTuple):
    """A row that succeeded, with its result as JSON text."""

    id: bytes
    token: int
    status_code: int | None
    result: str


async def settle_answered(connection: Connection, rows: Mapping[int, Sequence[AnsweredRow]]) -> list[Answer]:
    """``executions.settle_succeeded`` for rows of these partitions that succeeded with results."""
    cursors = []
    for partitions in together(rows):
        named: dict[str, Any] = {"tokens": Tokens({row.token for p in partitions for row in rows.get(p, ())})}
        for p in partitions:
            some = rows.get(p, ())
            named[f"ids_{p}"] = Uuids(row.id for row in some)
            named[f"codes_{p}"] = [row.status_code for row in some]
            named[f"results_{p}"] = [row.result for row in some]
        text = statement_over("live/settle_answered", partitions)
        cursors.append(await connection.execute(text, named, binary=True))
    return cursors


async def lock_free(connection: Connection, groups: Groups) -> set[bytes]:
    """Those of a worker's rows that nobody else has locked; they are locked until the transaction ends."""
    return await _leased(connection, groups, ("free",))


async def still_leased(connection: Connection, groups: Groups) -> set[bytes]:
    """Those that are still leased as they are named, also where somebody has locked them."""
    return await _leased(connection, groups)


async def lock_free_jobs(connection: Connection, jobs: Iterable[bytes]) -> set[bytes]:
    """Those of these jobs that nobody else has locked; they are locked until the transaction ends."""
    cursor = await connection.execute(statement("live/free_jobs"), {"jobs": Uuids(set(jobs))}, binary=True)
    return {row[0] for row in await cursor.fetchall()}


async def _leased(connection: Connection, groups: Groups, clauses: tuple[str, ...] = ()) -> set[bytes]:
    found: set[bytes] = set()
    for partitions, parameters in over_partitions(groups):
        text = statement_over("live/leased_rows", partitions, clauses)
        cursor = await connection.execute(text, parameters, binary=True)
        found.update([row[0] for row in await cursor.fetchall()])
    return found
