"""`pgsched bench cost`: what each statement of a row's life costs the server, at two batch sizes.

The statements are the workers' own, sent by the workers' own code over one connection, one after another, with nobody
else on the server: what comes out is what a model of larger installations can multiply.
"""

import asyncio
from datetime import timedelta
from typing import Any

import psycopg

from pgsched.bench.ground import ground
from pgsched.bench.load import Progress
from pgsched.bench.meter import Meter
from pgsched.domain.execution import Execution
from pgsched.store import executions, jobs
from pgsched.store.connect import Connection, connect
from pgsched.store.executions import Group, Lease, Share
from pgsched.store.wire import LONG_AGO

_PARTITIONS = 16
_WARMING = 32  # calls, so that each partition's plans and caches are there before anything is measured
_PRELOADED = {"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track_planning": "on"}
_SINGLE = """
select pgsched.schedule('python:noop', '{"order": 42, "merchant": "abcdefghij"}', delay => interval '1 hour')"""
_BATCH = """
insert into pgsched.executions (target, payload, fire_at, partition)
select 'python:noop', '{"order": 42, "merchant": "abcdefghij"}',
       now() - interval '1 hour' + (%(call)s::bigint * %(batch)s::bigint + n) * interval '1 microsecond', %(partition)s
  from generate_series(1, %(batch)s::bigint) as n"""
_JOBS = """
insert into pgsched.jobs (target, payload, planned_revision, timezone, cron, every)
select 'python:noop', '{"order": 42, "merchant": "abcdefghij"}', 1,
       case mod(n, 2) when 0 then 'Europe/Berlin' else 'UTC' end,
       case mod(n, 2) when 0 then mod(n, 60) || ' ' || mod(n, 24) || ' * * *' end,
       case mod(n, 2) when 1 then interval '1 day' end
  from generate_series(1, %s) as n"""
_RECURRING = """
select pgsched.partition_of(j), j.id, 1::bigint, 1, j.anchor, j.anchor, j.client_id, j.target, j.payload, j.options,
       j.id, j.revision, j.key, j.ordering_key
  from pgsched.jobs j order by j.id"""


def run_cost(
    url: str | None,
    *,
    batches: tuple[int, ...] = (50, 500),
    calls: int = 100,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Cost of ``schedule_single``, and at each batch size of ``schedule_batch``, ``claim``, ``next_due``,
    ``settle_succeeded``, ``settle_discarded`` and ``plan`` (planning successors: Python's share is in ``us_per_row``).

    ``server_*`` figures are None where the server does not tell: see ``measured_by``. Raises AssertionError unless each
    row that was scheduled was claimed once and settled once.
    """
    with ground(url, settings=_PRELOADED) as own, psycopg.connect(own, autocommit=True) as watcher:
        told, statements = asyncio.run(_measure(watcher, own, batches, calls, progress))
    return {"calls": calls, "measured_by": told, "statements": statements}


async def _measure(
    watcher: psycopg.Connection[Any], url: str, batches: tuple[int, ...], calls: int, progress: Progress
) -> tuple[str, list[dict[str, Any]]]:
    connection = await connect(url, "cost")
    try:
        meter = Meter(watcher, connection)
        warming = _Bench(watcher, connection, meter, _WARMING, lambda _: None)
        await _all(warming, _PARTITIONS)
        bench = _Bench(watcher, connection, meter, calls, progress)
        found = [await bench.schedule_single()]
        for batch in batches:
            found += await _all(bench, batch)
    finally:
        await connection.close()
    return ("pg_stat_statements" if meter.has_statements else "the client's clock"), found


async def _all(bench: "_Bench", batch: int) -> list[dict[str, Any]]:
    """A row's life twice, once for each way to settle it, and the successors of recurring rows."""
    kept, discarded = await bench.life(batch, discard=False), await bench.life(batch, discard=True)
    return [*kept, discarded[-1], await bench.plan(batch)]


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

        found = await self._tell("schedule_single", 1, call)
        self._watcher.execute("truncate pgsched.executions")
        return found

    async def life(self, batch: int, *, discard: bool) -> list[dict[str, Any]]:
        """Schedules, looks for, claims and settles calls x batch rows."""
        life = _Life(self._connection, batch)
        told = [await self._tell("schedule_batch", batch, life.schedule)]
        self._watcher.execute("vacuum (analyze) pgsched.executions")
        told += [await self._tell("next_due", None, life.next_due), await self._tell("claim", batch, life.claim)]
        if discard:
            told.append(await self._tell("settle_discarded", batch, life.settle_discarded))
        else:
            told.append(await self._tell("settle_succeeded", batch, life.settle_succeeded))
        self._assert_all(life, told[-1])
        return told

    async def plan(self, batch: int) -> dict[str, Any]:
        """Plans the successors of calls x batch recurring rows, by cron and by interval in equal parts."""
        self._watcher.execute(_JOBS.encode(), [self._calls * batch])
        self._watcher.execute("vacuum (analyze) pgsched.jobs")
        cursor = await self._connection.cursor(binary=True).execute(_RECURRING.encode())
        rows = [Execution._make(row) for row in await cursor.fetchall()]

        async def call(number: int) -> int:
            async with self._connection.transaction():
                await jobs.plan_successors(self._connection, rows[number * batch : (number + 1) * batch])
            return batch

        found = await self._tell("plan", batch, call)
        planned = self._watcher.execute("select count(*), count(distinct job_id) from pgsched.executions").fetchone()
        if planned != (len(rows), len(rows)):
            raise AssertionError(f"{planned} successors of {len(rows)} rows")
        self._watcher.execute("truncate pgsched.executions, pgsched.jobs")
        return found

    async def _tell(self, name: str, batch: int | None, call: Any) -> dict[str, Any]:
        found = await self._meter.measure(name, batch, self._calls, call)
        self._progress(f"{name}, {found['rows_per_call']:g} rows: {found['ms_per_call']} ms")
        return found

    def _assert_all(self, life: "_Life", settled: dict[str, Any]) -> None:
        count = self._calls * life.batch
        ids = [id for group in life.claimed for id in group.ids]
        left = self._watcher.execute("select count(*) from pgsched.executions").fetchone()
        if len(ids) != count or len(set(ids)) != count or left != (0,) or settled["rows_per_call"] != life.batch:
            raise AssertionError(f"{len(ids)} claimed, {len(set(ids))} by their ids, {left} left; scheduled {count}")
        self._watcher.execute("truncate pgsched.history")


class _Life:
    """The statements of a row's life, each for one batch; the number of the call says in which partition."""

    def __init__(self, connection: Connection, batch: int) -> None:
        self._connection, self.batch = connection, batch
        self.claimed: list[Group] = []
        self._low: dict[int, int] = {}

    async def schedule(self, number: int) -> int:
        parameters = {"call": number, "batch": self.batch, "partition": number % _PARTITIONS}
        await self._connection.execute(_BATCH.encode(), parameters)
        return self.batch

    async def next_due(self, _: int) -> int:
        due, _now = await executions.next_due(self._connection, dict.fromkeys(range(_PARTITIONS), LONG_AGO))
        return len(due)

    async def claim(self, number: int) -> int:
        partition = number % _PARTITIONS
        share = Share(partition, self._low.get(partition, LONG_AGO), self.batch)
        lease = Lease(owner=1, token=number + 1, length=timedelta(minutes=5), ahead=timedelta(0))
        rows = (await executions.claim(self._connection, lease, [share], beyond=None)).rows
        self._low[partition] = max(row.fire_at for row in rows)
        self.claimed.append(Group([row.id for row in rows], [number + 1]))
        return len(rows)

    async def settle_succeeded(self, number: int) -> int:
        groups = {number % _PARTITIONS: self.claimed[number]}
        [answer] = await executions.settle_succeeded(self._connection, None, groups)
        return answer.rowcount

    async def settle_discarded(self, number: int) -> int:
        [answer] = await executions.settle_discarded(self._connection, {number % _PARTITIONS: self.claimed[number]})
        row = await answer.fetchone()
        return int(row[0]) if row else 0
