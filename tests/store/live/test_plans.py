"""Statements of the hot path reach their rows by index and read no more than they need, among many rows.

One partition has fifty thousand future rows and five thousand due ones. Each plan is that of a statement that ran.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest

from pgsched.store.core.connect import Connection, connect
from pgsched.store.core.sql import statement_among, statement_in, statement_over
from pgsched.store.core.wire import FAR_OFF, LONG_AGO, Instant, Instants, Tokens, Uuids
from tests.store.store_arrange import TARGET, column

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]

BATCH = 100
CLAIM: dict[str, Any] = {
    "owner": 1,
    "token": 7,
    "lease": timedelta(seconds=30),
    "ahead": timedelta(0),
    "low_0": Instant(LONG_AGO),
    "batch_0": BATCH,
}
FIRST: dict[str, Any] = {**CLAIM, "batch": BATCH, "depth": 1000}
_FAILED: dict[str, Any] = {"outcomes": "failed", "codes": 503, "results": None, "reasons": "503", "seconds": 1.5}
_FAILED |= {"retryable": True, "waits": 1.0, "tracebacks": None}
FAILED: dict[str, Any] = {name: [value] * BATCH for name, value in _FAILED.items()} | {"began": Instants([0] * BATCH)}
PART: dict[str, Any] = {"partition": 0, "low": Instant(LONG_AGO), "ended_by": 0.0, "only": None}
BY_PARTITION = {"live/claim", "live/settle_succeeded", "live/settle_discarded", "live/next_due"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The nodes of a plan that ran, with the rows that each has read."""

    nodes: list[dict[str, Any]]

    @property
    def kinds(self) -> set[str]:
        return {str(node["Node Type"]) for node in self.nodes}

    @property
    def read_whole(self) -> set[str]:
        """Tables that were read by a sequential scan."""
        return {str(node["Relation Name"]) for node in self.nodes if node["Node Type"] == "Seq Scan"}

    @property
    def indexes(self) -> set[str]:
        return {str(node["Index Name"]) for node in self.nodes if "Index Name" in node}

    @property
    def rows_read(self) -> int:
        """Rows read from tables and indexes, including those that a filter removed."""
        scans = [node for node in self.nodes if "Relation Name" in node and "Scan" in node["Node Type"]]
        return int(
            sum((scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0)) * scan["Actual Loops"] for scan in scans)
        )


@pytest.fixture(scope="module", autouse=True)
def many_rows(module_url: str) -> Iterator[None]:
    with psycopg.connect(module_url, autocommit=True) as db:
        db.execute("set pgsched.notify = off")
        db.execute(
            "insert into pgsched.executions (target, fire_at, partition)"
            " select %s, now() + (case when n <= 5000 then -n else n end) * interval '1 second', 0"
            " from generate_series(1, 55000) n",
            [TARGET],
        )
        db.execute("analyze pgsched.executions")
        yield


@pytest.fixture
def store_url(module_url: str) -> str:
    """The URL of a database that all tests of this file share, since each test rolls its statements back."""
    return module_url


async def explain(
    worker: Connection,
    name: str,
    parameters: dict[str, Any],
    partitions: Sequence[int] = (0,),
    order: LiteralString = "",
) -> Plan:
    """Run a statement and return its plan. The caller rolls back what it changed."""
    text = statement_over(name, tuple(partitions), order=order) if name in BY_PARTITION else statement_in(name, 0)
    query: Any = "explain (analyze, buffers off, format json) " + text
    cursor = await worker.execute(query, parameters)
    found = await cursor.fetchone()
    assert found is not None
    return Plan(nodes=list(_nodes(found[0][0]["Plan"])))


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _nodes(child)


async def index_names(worker: Connection, parent: str) -> set[str]:
    """The name that an index has in each partition."""
    cursor = await worker.execute(
        "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = %s::regclass",
        [f"pgsched.{parent}"],
    )
    return {row[0] for row in await cursor.fetchall()}


async def lease(worker: Connection) -> dict[str, Any]:
    """Claim a batch and return the parameters for settling it."""
    cursor = await worker.cursor(binary=True).execute(statement_over("live/claim", (0,)), CLAIM)
    rows = await cursor.fetchall()
    ids = Uuids([row[1] for row in rows])
    times = {"began": Instant(0), "seconds": 0.5}
    return {"ids": ids, "ids_0": ids, "tokens": Tokens([7]), **times}


@pytest.mark.parametrize("order", ["", " desc"])
async def test_a_claim_uses_the_fire_at_index_and_reads_only_its_batch(
    worker: Connection, order: LiteralString
) -> None:
    async with worker.transaction(force_rollback=True):
        plan = await explain(worker, "live/claim", CLAIM, order=order)
        assert plan.indexes <= await index_names(worker, "executions_fire_at")
    assert plan.indexes
    assert "Tid Scan" in plan.kinds
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 2 * BATCH  # found by the index, then fetched by ctid


async def test_a_claim_with_a_watermark_reads_no_extra_rows(worker: Connection) -> None:
    cursor = await worker.cursor(binary=True).execute("select now() - interval '1000 seconds'")
    found = await cursor.fetchone()
    assert found is not None
    async with worker.transaction(force_rollback=True):
        plan = await explain(worker, "live/claim", {**CLAIM, "low_0": Instant(found[0])})
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 2 * BATCH


async def test_a_claim_behind_leased_rows_reads_a_bounded_number_of_rows(worker: Connection) -> None:
    async with worker.transaction(force_rollback=True):
        await lease(worker)
        plan = await explain(worker, "live/claim", {**CLAIM, "token": 8})
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 3 * BATCH


@pytest.mark.parametrize("name", ["live/settle_succeeded", "live/settle_discarded", "live/release", "live/renew"])
async def test_settling_reads_rows_by_primary_key(worker: Connection, name: str) -> None:
    async with worker.transaction(force_rollback=True):
        rows = {**await lease(worker), "code": None, "lease": timedelta(hours=1)}
        plan = await explain(worker, name, rows)
        assert plan.indexes == {"executions_0_pkey"}
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= (2 * BATCH if name == "live/renew" else BATCH)  # renewing first finds the unlocked rows


async def test_settle_finished_reads_rows_by_primary_key(worker: Connection) -> None:
    async with worker.transaction(force_rollback=True):
        rows = await lease(worker)
        plan = await explain(worker, "live/settle_finished", {**rows, **FAILED, "tokens": Tokens([7] * BATCH)})
        assert "executions_0_pkey" in plan.indexes
        assert plan.indexes <= {"executions_0_pkey", "clients_pkey", "jobs_pkey"}
    assert plan.read_whole <= {"clients", "jobs"}  # one page each
    assert plan.rows_read <= 2 * BATCH


async def test_postponing_reads_rows_by_primary_key(worker: Connection) -> None:
    async with worker.transaction(force_rollback=True):
        rows = await lease(worker)
        asked = {
            "ids": rows["ids"],
            "tokens": Tokens([7] * BATCH),
            "seconds": [60.0] * BATCH,
            "reasons": [None] * BATCH,
        }
        plan = await explain(worker, "live/postpone", asked)
        assert plan.indexes == {"executions_0_pkey"}
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= BATCH


async def test_the_next_due_query_reads_one_index_entry_per_partition(worker: Connection) -> None:
    every = range(16)
    plan = await explain(
        worker, "live/next_due", {f"low_{p}": Instant(LONG_AGO) for p in every} | {"until": Instant(FAR_OFF)}, every
    )
    assert plan.indexes <= await index_names(worker, "executions_fire_at")
    assert plan.indexes
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 16


async def test_a_priority_claim_reads_nothing_if_no_row_has_a_priority(worker: Connection) -> None:
    query: Any = "explain (analyze, buffers off, format json) " + statement_among("live/claim_first", tuple(range(16)))
    async with worker.transaction(force_rollback=True):
        found = await (await worker.execute(query, FIRST)).fetchone()
        assert found is not None
        plan = Plan(nodes=list(_nodes(found[0][0]["Plan"])))
        by_priority, by_id = [await index_names(worker, name) for name in ("executions_priority", "executions_pkey")]
    # Any index will do in a partition that has had only rows of a rolled back transaction.
    assert {one for one in plan.indexes if one.startswith("executions_0_")} <= by_priority | by_id
    assert plan.rows_read == 0


async def test_a_cached_priority_claim_plan_reads_only_the_given_partition(worker: Connection) -> None:
    async with worker.transaction(force_rollback=True):
        await worker.execute("set local pgsched.notify = off")
        await worker.execute(
            "insert into pgsched.executions (target, fire_at, partition, options)"
            " select %s, now() - interval '1 minute', n %% 2, jsonb_build_object('priority', 1 + n / 2 %% 100)"
            " from generate_series(1, 4000) n",
            [TARGET],
        )
        await worker.execute("set local plan_cache_mode = force_generic_plan")
        before = await _scanned(worker)
        await worker.execute(statement_among("live/claim_first", (0,)), FIRST, prepare=True)
        assert 0 < await _scanned(worker) - before <= 6 * BATCH


async def test_the_expired_lease_search_reads_no_more_than_its_depth(worker: Connection) -> None:
    plan = await explain(
        worker,
        "live/expired",
        {"partitions": list(range(16)), "lows": Instants([LONG_AGO] * 16), "depth": 50, "ended_by": time.time()},
    )
    assert plan.indexes <= await index_names(worker, "executions_fire_at")
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 16 * 50


async def test_reaping_reads_only_the_due_rows_of_its_partition(worker: Connection) -> None:
    async with worker.transaction(force_rollback=True):
        await lease(worker)
        plan = await explain(worker, "live/reap", {**PART, "depth": 10_000, "owners": [1]})
        defaults = {"clients_pkey", "queues_first_partition_key"}  # to look up max_attempts for the rows taken back
        suspects = await index_names(worker, "executions_gate") | {"queues_pkey", "workers_pkey"}
        assert plan.indexes <= await index_names(worker, "executions_fire_at") | defaults | suspects
    assert plan.read_whole <= {"workers", "queues", "clients"}
    assert plan.rows_read <= 5100 + 4 * BATCH


async def test_a_reaping_batch_reads_no_more_than_its_depth(worker: Connection) -> None:
    async with worker.transaction(force_rollback=True):
        plan = await explain(worker, "live/reap", {**PART, "depth": 50, "owners": [1]})
    assert plan.read_whole <= {"workers", "queues", "clients"}
    assert plan.rows_read <= 2 * 50


async def test_releasing_claims_reads_a_bounded_number_of_rows(worker: Connection) -> None:
    every: dict[str, Any] = {"partitions": list(range(16)), "lows": Instants([LONG_AGO] * 16)}
    async with worker.transaction(force_rollback=True):
        await lease(worker)
        plan = await explain(worker, "live/release_claim", {**every, "tokens": Tokens([7]), "depth": 2 * BATCH})
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 2 * BATCH + 3 * BATCH  # the depth, its unlocked rows, and the rows handed back


async def test_forgetting_a_worker_reads_no_executions(worker: Connection) -> None:
    async with worker.transaction(force_rollback=True):
        plan = await explain(worker, "admin/forget_workers", {"workers": [1]})
    assert plan.indexes <= {"workers_pkey"}


async def test_a_job_repair_batch_reads_a_bounded_number_of_rows(worker: Connection) -> None:
    async with worker.transaction(force_rollback=True):
        await worker.execute(
            "insert into pgsched.jobs (target, every) select %s, '1 day' from generate_series(1, 3000)", [TARGET]
        )
        await worker.execute("update pgsched.jobs set planned_revision = revision")
        plan = await explain(worker, "jobs/orphaned_jobs", {"after": UUID(int=0), "most": 50})
    assert "jobs_pkey" in plan.indexes
    assert not plan.read_whole
    assert plan.rows_read <= 10 * 50


async def test_a_claim_reads_no_partition_whose_batch_is_zero(worker: Connection) -> None:
    wanted: dict[str, Any] = {f"low_{p}": Instant(LONG_AGO) for p in range(16)}
    wanted |= {f"batch_{p}": BATCH if p == 0 else 0 for p in range(16)}
    async with worker.transaction(force_rollback=True):
        plan = await explain(worker, "live/claim", {**CLAIM, **wanted}, range(16))
    read = {str(node["Index Name"]) for node in plan.nodes if "Index Name" in node and node["Actual Loops"]}
    assert read == {"executions_0_partition_fire_at_idx"}
    assert "Seq Scan" not in plan.kinds


async def test_plans_use_indexes_despite_statistics_of_an_empty_table(worker: Connection) -> None:
    """The table is analyzed while it is empty, and then filled."""
    async with worker.transaction(force_rollback=True):
        await worker.execute("set local pgsched.notify = off")
        await worker.execute("create temp table load on commit drop as select * from pgsched.executions")
        await worker.execute("delete from pgsched.executions")
        await worker.execute("analyze pgsched_internal.executions_0")
        await worker.execute("insert into pgsched.executions select * from load")
        claim = await explain(worker, "live/claim", CLAIM)
        rows = {**await lease(worker), "code": None, "lease": timedelta(hours=1), **FAILED}
        by_id = [
            await explain(worker, "live/renew", rows),
            await explain(worker, "live/settle_finished", {**rows, "tokens": Tokens([7] * BATCH)}),
        ]
        by_id.append(await explain(worker, "live/settle_succeeded", {**rows, **await lease(worker)}))
    assert claim.indexes == {"executions_0_partition_fire_at_idx"}
    assert claim.rows_read <= 2 * BATCH
    assert "Sort" not in claim.kinds
    for plan in by_id:
        assert plan.indexes == {"executions_0_pkey"}
        assert plan.rows_read <= 2 * BATCH


@pytest.mark.parametrize("settings", ["worker", "plain"])
async def test_an_id_lookup_scans_no_partition(module_url: str, settings: str) -> None:
    worker = await connect(module_url, "test", raw=False)
    try:
        if settings == "plain":
            await worker.execute("reset all")
        for query in (
            "select pgsched_internal.partition_with('00000000-0000-7000-8000-000000000000'::uuid)",
            "select pgsched_internal.partition_with(pgsched_internal.new_id_in(3::smallint))",
        ):
            async with worker.transaction():
                before = await _scanned(worker)
                for _ in range(8):  # more than the calls that get a custom plan
                    await worker.execute(query)
                assert await _scanned(worker) == before
    finally:
        await worker.close()


async def _scanned(worker: Connection) -> int:
    """Rows of executions that this transaction has read by a sequential scan or fetched by an index."""
    cursor = await worker.execute(
        "select sum(seq_tup_read + idx_tup_fetch)::bigint from pg_stat_xact_user_tables where relname ~"
        " '^executions_[0-9]+$'"
    )
    found = await cursor.fetchone()
    return int(found[0]) if found else 0


def test_the_test_table_has_the_expected_number_of_rows(module_url: str) -> None:
    with psycopg.connect(module_url) as db:
        assert column(db, "select count(*) from pgsched.executions") == [55000]
