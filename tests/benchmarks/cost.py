"""Measures what each statement of a row's life costs the server, at two batch sizes.

The statements are the workers' own, sent by the workers' code over one connection, one after another, on an otherwise
idle server. The results can be multiplied in a model of larger installations.
"""

import asyncio
from datetime import timedelta
from typing import Any

import click
import psycopg

from pgsched.bench.database import fresh_database
from pgsched.bench.seed_rows import Progress
from pgsched.cli.bench import COUNT, on_server, progress, tell
from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Connection, connect
from pgsched.store.jobs.claimed_next_rows import plan_successors
from pgsched.store.jobs.definition_cache import Definitions
from tests.benchmarks.measuring.life import PARTITIONS, Life
from tests.benchmarks.measuring.meter import Call, Meter
from tests.benchmarks.measuring.statements import PRELOADED

_WARMING = 32  # calls that fill each partition's plans and caches before measuring
_SINGLE = """
select pgsched.schedule('python:noop', '{"order": 42, "merchant": "abcdefghij"}', delay => interval '1 hour')"""
_JOBS = """
insert into pgsched.jobs (target, payload, planned_revision, timezone, cron, every)
select 'python:noop', '{"order": 42, "merchant": "abcdefghij"}', 1,
       case mod(n, 2) when 0 then 'Europe/Berlin' else 'UTC' end,
       case mod(n, 2) when 0 then mod(n, 60) || ' ' || mod(n, 24) || ' * * *' end,
       case mod(n, 2) when 1 then interval '1 day' end
  from generate_series(1, %s) as n"""
_RECURRING = """
select pgsched_internal.partition_of(j), j.id, 1::bigint, 1, j.anchor, j.anchor, j.client_id, j.target, j.payload,
       j.options, j.id, j.revision, j.key, j.ordering_key
  from pgsched.jobs j order by j.id"""


def run_cost(
    url: str | None,
    *,
    batches: tuple[int, ...] = (50, 500),
    calls: int = 100,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Returns the cost of ``schedule_single``, and for each batch size of ``schedule_batch``, ``claim``, ``next_due``,
    ``settle_succeeded``, ``settle_discarded`` and ``plan`` (planning successors: Python's share is in ``us_per_row``).

    ``batch`` is None if the caller does not choose it; ``partitions`` is the number of partitions of a batch.

    ``server_*`` figures are None if the server does not report them: see ``measured_by``. Raises AssertionError unless
    each scheduled row was claimed once and settled once.
    """
    with fresh_database(url, settings=PRELOADED) as own, psycopg.connect(own, autocommit=True) as watcher:
        told, statements = asyncio.run(_measure(watcher, own, batches, calls, progress))
    return {"calls": calls, "measured_by": told, "statements": statements}


async def _measure(
    watcher: psycopg.Connection[Any], url: str, batches: tuple[int, ...], calls: int, progress: Progress
) -> tuple[str, list[dict[str, Any]]]:
    connection = await connect(url, "cost")
    try:
        meter = Meter(watcher, connection)
        warming = _Bench(watcher, connection, meter, _WARMING, lambda _: None)
        await _all(warming, PARTITIONS)
        bench = _Bench(watcher, connection, meter, calls, progress)
        found = [await bench.schedule_single()]
        for batch in batches:
            found += await _all(bench, batch)
    finally:
        await connection.close()
    return ("pg_stat_statements" if meter.has_statements else "the client's clock"), found


async def _all(bench: "_Bench", batch: int) -> list[dict[str, Any]]:
    """Measures a row's life for each way to settle it and each spread over partitions, and planning of successors."""
    found = []
    for spread in (False, True):
        kept = await bench.life(batch, spread=spread, discard=False)
        found += kept[-2:] if spread else kept
        found.append((await bench.life(batch, spread=spread, discard=True))[-1])
    return [*found, await bench.plan(batch)]


class _Bench:
    def __init__(
        self,
        watcher: psycopg.Connection[Any],
        connection: Connection,
        meter: Meter,
        calls: int,
        progress: Progress,
    ) -> None:
        self._watcher, self._connection, self._meter = watcher, connection, meter
        self._calls, self._progress = calls, progress

    async def schedule_single(self) -> dict[str, Any]:
        async def call(_: int) -> int:
            await self._connection.execute(_SINGLE.encode())
            return 1

        found = await self._tell("schedule_single", 1, 1, call)
        self._watcher.execute("truncate pgsched.executions")
        return found

    async def life(self, batch: int, *, spread: bool, discard: bool) -> list[dict[str, Any]]:
        """Schedules, polls for, claims and settles calls x batch rows."""
        life = Life(self._connection, batch, spread=spread)
        over = PARTITIONS if spread else 1
        told = [await self._tell("schedule_batch", batch, over, life.schedule)]
        self._watcher.execute("vacuum (analyze) pgsched.executions")
        told.append(await self._tell("next_due", None, PARTITIONS, life.next_due))
        told.append(await self._tell("claim", batch, over, life.claim))
        name, settle = (
            ("settle_discarded", life.settle_discarded) if discard else ("settle_succeeded", life.settle_succeeded)
        )
        told.append(await self._tell(name, batch, over, settle))
        self._assert_all(life, told[-1])
        return told

    async def plan(self, batch: int) -> dict[str, Any]:
        """Plans the successors of calls x batch recurring rows, half by cron and half by interval."""
        self._watcher.execute(_JOBS.encode(), [self._calls * batch])
        self._watcher.execute("vacuum (analyze) pgsched.jobs")
        cursor = await self._connection.cursor(binary=True).execute(_RECURRING.encode())
        rows = [ClaimedExecution._make([*row, None, None, None]) for row in await cursor.fetchall()]

        definitions = Definitions()

        async def call(number: int) -> int:
            async with self._connection.transaction():
                taken = rows[number * batch : (number + 1) * batch]
                await plan_successors(self._connection, taken, definitions, now=0, ahead=timedelta(0), again=False)
            return batch

        found = await self._tell("plan", batch, PARTITIONS, call)
        planned = self._watcher.execute("select count(*), count(distinct job_id) from pgsched.executions").fetchone()
        if planned != (len(rows), len(rows)):
            raise AssertionError(f"{planned} successors of {len(rows)} rows")
        self._watcher.execute("truncate pgsched.executions, pgsched.jobs cascade")
        return found

    async def _tell(self, name: str, batch: int | None, partitions: int, call: Call) -> dict[str, Any]:
        found = {"statement": name, "batch": batch, "partitions": partitions}
        found |= await self._meter.measure(self._calls, call)
        self._progress(f"{name}, {found['rows_per_call']:g} rows of {partitions}: {found['ms_per_call']} ms")
        return found

    def _assert_all(self, life: Life, settled: dict[str, Any]) -> None:
        count = self._calls * life.batch
        ids = [id for groups in life.claimed for group in groups.values() for id in group.ids]
        left = self._watcher.execute("select count(*) from pgsched.executions").fetchone()
        if len(ids) != count or len(set(ids)) != count or left != (0,) or settled["rows_per_call"] != life.batch:
            raise AssertionError(f"{len(ids)} claimed, {len(set(ids))} distinct, {left} left; scheduled {count}")
        self._watcher.execute("truncate pgsched.history")


@click.command()
@click.option("--calls", default=200, show_default=True, type=COUNT, help="Calls of each statement.")
@on_server
def cost(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Report what each statement costs the server, in batches of 50 and of 500 rows."""
    tell(run_cost(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    cost()
