"""The upper bound for a drain: only claims and settles batches, on pgsched's own tables.

The loop does not plan, dispatch, record outcomes or renew leases. In each process, one connection claims and another
settles, each as fast as it can.
"""

import asyncio
import time
from typing import Any, LiteralString

import psycopg
import uvloop

from pgsched.bench.processes import answers_of
from pgsched.store.core.connect import connect
from pgsched.store.live.executions import Group, settle_discarded, settle_succeeded

_CLAIM: LiteralString = """
update pgsched.executions e
   set lease_owner = 1, lease_token = 1, lease_expires_at = now() + interval '30 s', attempt = attempt + 1
 where e.partition = %(partition)s and e.ctid = any (array(
   select ctid from pgsched.executions where partition = %(partition)s and fire_at <= now() and lease_token is null
    order by fire_at limit %(batch)s for update skip locked))
returning e.id, e.target, e.payload, e.attempt, e.fire_at"""


def run_bare(url: str, *, processes: int, keep: str = "all") -> tuple[float, int]:
    """Claims and settles everything that is due. Returns the total number of executions per second, and the number of
    executions. With ``keep`` ``nothing``, deletes rows, as for a client that keeps no history."""
    shares = [(url, number, processes, keep) for number in range(processes)]
    spans: list[tuple[int, float, float]] = answers_of(_main, shares, within=600)
    count = sum(span[0] for span in spans)
    seconds: float = max(span[2] for span in spans) - min(span[1] for span in spans)
    return count / seconds, count


def _main(url: str, number: int, processes: int, keep: str, ready: Any, answers: Any) -> None:
    answers.put(uvloop.run(_drain(url, number, processes, keep, ready)))


async def _drain(url: str, number: int, processes: int, keep: str, ready: Any) -> tuple[int, float, float]:
    claiming, settling = await connect(url, "bare"), await connect(url, "bare")
    finished: asyncio.Queue[tuple[int, list[bytes]] | None] = asyncio.Queue(2)
    ready.wait(60)
    started, count = time.monotonic(), 0
    async with asyncio.TaskGroup() as both:  # if settling fails, claiming stops, too
        both.create_task(_settle(settling, keep, finished))
        open_partitions = list(range(number, 16, processes))
        while open_partitions:
            for partition in list(open_partitions):
                cursor = await claiming.execute(_CLAIM, {"partition": partition, "batch": 500}, binary=True)
                rows = await cursor.fetchall()
                if not rows:
                    open_partitions.remove(partition)
                    continue
                count += len(rows)
                await finished.put((partition, [row[0] for row in rows]))
        await finished.put(None)
    ended = time.monotonic()
    await claiming.close()
    await settling.close()
    return count, started, ended


async def _settle(
    connection: psycopg.AsyncConnection[Any], keep: str, finished: asyncio.Queue[tuple[int, list[bytes]] | None]
) -> None:
    while (batch := await finished.get()) is not None:
        partition, ids = batch
        groups = {partition: Group(ids, [1])}
        if keep == "all":
            await settle_succeeded(connection, None, groups)
        else:
            await settle_discarded(connection, groups)
