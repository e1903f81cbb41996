"""Gives back claimed rows of jobs that cannot run yet, to be claimed again a moment later: another session holds a lock
that they need, or it is not their turn."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.sql import statement_in
from pgsched.store.core.wire import LONG_AGO, Instants, Tokens, Uuids


class PutOff(NamedTuple):
    """A claimed row to be claimed again a moment later, or at ``until`` (wire count). A row is ``marked`` if its new
    start would wrongly suggest that it had waited for an earlier run. It has a ``reason`` unless a lock is the cause.
    """

    row: ClaimedExecution
    marked: bool = False
    reason: str | None = None
    until: int = LONG_AGO


async def put_off(connection: AsyncConnection[Any], rows: Iterable[PutOff], ahead: timedelta) -> dict[int, int]:
    """Gives rows back, to fire later than claims read ahead. Returns the earliest new start in each partition (wire
    count).
    """
    partitions: dict[int, list[PutOff]] = defaultdict(list)
    for one in rows:
        partitions[one.row.partition].append(one)
    earliest: dict[int, int] = {}
    for partition, some in partitions.items():
        parameters = {
            "ids": Uuids(one.row.id for one in some),
            "instants": Instants(one.row.scheduled_for for one in some),
            "untils": Instants(one.until for one in some),
            "marked": [one.marked for one in some],
            "reasons": [one.reason for one in some],
            "tokens": Tokens({one.row.token for one in some}),
            "ahead": ahead,
        }
        cursor = await connection.execute(statement_in("live/put_off", partition), parameters, binary=True)
        if found := await cursor.fetchall():
            earliest[partition] = min(row[0] for row in found)
    return earliest
