"""Statements on held executions use an index and read no more rows than they need.

Over all partitions, 30,000 rows are held by a limit and 30,000 by their ordering key, thirty for each of a thousand
keys. In one partition, five thousand rows of two clients are due.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement, statement_among, statement_in
from pgsched.store.core.wire import Tokens, Uuids
from tests.store.live.test_plans import Plan, _nodes, index_names

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]

BATCH = 100
HELD: dict[str, Any] = {
    "gate": "client:flood",
    "batch": BATCH,
    "owner": 1,
    "token": 7,
    "lease": timedelta(seconds=30),
}
_ROWS = """
insert into pgsched.executions (client_id, target, fire_at, scheduled_for, gate, partition, options)
select 'flood', 'python:x', 'infinity', now() - n * interval '1 second', 'client:flood', n % 16,
       case when n % 10 = 0 then '{"priority": 5}'::jsonb end
  from generate_series(1, 30000) n;
insert into pgsched.executions (client_id, target, fire_at, scheduled_for, gate, ordering_key, partition)
select 'shop', 'python:x', 'infinity', now() - n * interval '1 second', 'order', 'key-' || n % 1000,
       pgsched.partition_for('default', 'shop', null, 'key-' || n % 1000)
  from generate_series(1, 30000) n;
insert into pgsched.executions (client_id, target, fire_at, partition)
select case when n % 2 = 0 then 'flood' else 'light' end, 'python:x', now() - n * interval '1 second', 0
  from generate_series(1, 5000) n;
insert into pgsched_internal.gates (name, shut_until) values ('host:shop.example', 'infinity');
analyze pgsched.executions"""


@pytest.fixture(scope="module", autouse=True)
def many_rows(module_url: str) -> Iterator[None]:
    with psycopg.connect(module_url, autocommit=True) as db:
        db.execute("set pgsched.notify = off")
        db.execute(_ROWS)
        yield


@pytest.fixture
def store_url(module_url: str) -> str:
    """The URL of a database that all tests of this file share, since each test rolls its statements back."""
    return module_url


async def explain(worker: Connection, text: str, parameters: dict[str, Any]) -> Plan:
    query: Any = "explain (analyze, buffers off, format json) " + text
    found = await (await worker.execute(query, parameters)).fetchone()
    assert found is not None
    return Plan(nodes=list(_nodes(found[0][0]["Plan"])))


async def test_the_claim_held_query_uses_the_gate_index_and_reads_only_a_batch(worker: Connection) -> None:
    async with worker.transaction(force_rollback=True):
        plan = await explain(worker, statement_among("gates/claim_held", tuple(range(16))), HELD)
        by_gate = await index_names(worker, "executions_gate")
    assert plan.indexes & by_gate
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 2 * BATCH + 16 * 2  # a merge reads the first row of each partition


async def test_the_holding_gates_query_reads_one_index_entry_per_gate(worker: Connection) -> None:
    plan = await explain(worker, statement("gates/holding_gates"), {"after": "", "most": 1000})
    assert plan.indexes <= await index_names(worker, "executions_gate")
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 16 * 4


async def test_the_waits_for_turn_query_reads_one_index_entry_per_partition(worker: Connection) -> None:
    plan = await explain(worker, statement("gates/waits_for_turn"), {})
    assert plan.indexes <= await index_names(worker, "executions_gate")
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 16


async def test_the_hold_due_query_uses_the_fire_at_index_to_read_only_due_rows(worker: Connection) -> None:
    async with worker.transaction(force_rollback=True):
        await worker.execute("set local pgsched.notify = off")
        named = {"clients": ["flood"], "capabilities": [], "batch": BATCH}
        plan = await explain(worker, statement_in("gates/hold_due", 0), named)
    assert plan.indexes <= {"executions_0_partition_fire_at_idx"}
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 4 * BATCH  # every second due row is another client's


async def test_ordering_claimed_rows_reads_at_most_eight_rows_per_ordering_key(worker: Connection) -> None:
    async with worker.transaction(force_rollback=True):
        cursor = await worker.cursor(binary=True).execute(
            "update pgsched_internal.executions_0 e set fire_at = now(), gate = null, lease_token = 7, lease_owner = 1"
            " where e.id in (select min(x.id::text)::uuid from pgsched_internal.executions_0 x where"
            " x.ordering_key is not null"
            "                 group by x.ordering_key) returning e.id"
        )
        claimed = [found[0] for found in await cursor.fetchall()]
        rows = {"ids": Uuids(claimed), "tokens": Tokens([7])}
        plan = await explain(worker, statement_in("gates/order_claimed", 0), rows)
    assert "Seq Scan" not in {
        kind for node in plan.nodes for kind in [node["Node Type"]] if node.get("Relation Name") != "blocked_keys"
    }
    assert "executions_0_client_id_ordering_key_coalesce_id_idx" in plan.indexes
    assert plan.rows_read <= 8 * len(claimed)


async def test_the_let_stuck_query_reads_each_key_once(worker: Connection) -> None:
    cursor = await worker.execute("select count(distinct ordering_key) from pgsched_internal.executions_0")
    found = await cursor.fetchone()
    assert found is not None
    async with worker.transaction(force_rollback=True):
        plan = await explain(worker, statement_in("gates/let_stuck", 0), {"client": "", "key": "", "most": 100_000})
    assert plan.indexes == {"executions_0_client_id_ordering_key_coalesce_id_idx"}
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 2 * found[0] + 2


async def test_the_let_stuck_query_reads_no_more_keys_than_its_limit(worker: Connection) -> None:
    async with worker.transaction(force_rollback=True):
        plan = await explain(worker, statement_in("gates/let_stuck", 0), {"client": "", "key": "", "most": 5})
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 2 * 5 + 2


async def test_the_sidelined_query_uses_the_gate_index_to_count_held_rows(worker: Connection) -> None:
    parameters = {"client": None, "after": None, "limit": 50}
    plan = await explain(worker, statement("gates/sidelined"), parameters)
    assert plan.indexes <= await index_names(worker, "executions_gate") | {"gates_pkey"}
    assert plan.rows_read <= 16


async def test_gate_plans_use_indexes_despite_statistics_of_an_empty_table(worker: Connection) -> None:
    """The table was analyzed while it was empty, and then a limit held many rows."""
    async with worker.transaction(force_rollback=True):
        await worker.execute("set local pgsched.notify = off")
        await worker.execute("create temp table load on commit drop as select * from pgsched_internal.executions_0")
        await worker.execute("delete from pgsched_internal.executions_0")
        await worker.execute("analyze pgsched_internal.executions_0")
        await worker.execute("insert into pgsched.executions select * from load")
        by_gate, by_id = [await index_names(worker, name) for name in ("executions_gate", "executions_pkey")]
        holding = await explain(worker, statement("gates/holding_gates"), {"after": "", "most": 1000})
        claimed = await explain(worker, statement_among("gates/claim_held", (0,)), HELD)
    assert holding.indexes <= by_gate
    assert claimed.indexes <= by_gate | by_id
    sorted_rows = [node["Actual Rows"] for node in claimed.nodes if node["Node Type"] == "Sort"]
    assert sorted_rows == [BATCH]  # only claimed rows are sorted
    assert claimed.rows_read <= 2 * BATCH
