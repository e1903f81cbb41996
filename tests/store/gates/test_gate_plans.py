"""What gates and ordering keys hold back is reached by index, and no more of it is read than is fed on.

In all partitions 100,000 rows wait behind a limit and 100,000 for their turn, a hundred of each of a thousand keys; in
one partition five thousand rows of two clients are due.
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
    """The rows stay for all tests here: each explains inside a transaction that is rolled back."""
    return module_url


async def explain(worker: Connection, text: str, parameters: dict[str, Any]) -> Plan:
    query: Any = "explain (analyze, buffers off, format json) " + text
    found = await (await worker.execute(query, parameters)).fetchone()
    assert found is not None
    return Plan(nodes=list(_nodes(found[0][0]["Plan"])))


async def test_what_a_gate_has_room_for_is_read_off_its_index(worker: Connection) -> None:
    async with worker.transaction(force_rollback=True):
        plan = await explain(worker, statement_among("gates/claim_held", tuple(range(16))), HELD)
        by_gate = await index_names(worker, "executions_gate")
    assert plan.indexes & by_gate
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 2 * BATCH + 16 * 2  # each partition's first stands ready to be merged


async def test_the_gates_that_hold_something_are_found_by_one_entry_of_each(worker: Connection) -> None:
    plan = await explain(worker, statement("gates/holding_gates"), {"after": "", "most": 1000})
    assert plan.indexes <= await index_names(worker, "executions_gate")
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 16 * 4


async def test_whether_anybody_waits_for_a_turn_is_one_entry(worker: Connection) -> None:
    plan = await explain(worker, statement("gates/waits_for_turn"), {})
    assert plan.indexes <= await index_names(worker, "executions_gate")
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 16


async def test_due_rows_of_a_client_that_is_held_are_read_off_the_index_of_instants(worker: Connection) -> None:
    async with worker.transaction(force_rollback=True):
        await worker.execute("set local pgsched.notify = off")
        named = {"clients": ["flood"], "capabilities": [], "batch": BATCH}
        plan = await explain(worker, statement_in("gates/hold_due", 0), named)
    assert plan.indexes <= {"executions_0_partition_fire_at_idx"}
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 4 * BATCH  # every second of those due is another client's


async def test_whose_turn_it_is_is_one_entry_of_each_key(worker: Connection) -> None:
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


async def test_keys_that_nobody_is_at_the_head_of_are_visited_once(worker: Connection) -> None:
    cursor = await worker.execute("select count(distinct ordering_key) from pgsched_internal.executions_0")
    found = await cursor.fetchone()
    assert found is not None
    async with worker.transaction(force_rollback=True):
        plan = await explain(worker, statement_in("gates/let_stuck", 0), {"client": "", "key": "", "most": 100_000})
    assert plan.indexes == {"executions_0_client_id_ordering_key_coalesce_id_idx"}
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 2 * found[0] + 2


async def test_a_look_for_turns_visits_no_more_keys_than_it_is_told(worker: Connection) -> None:
    async with worker.transaction(force_rollback=True):
        plan = await explain(worker, statement_in("gates/let_stuck", 0), {"client": "", "key": "", "most": 5})
    assert "Seq Scan" not in plan.kinds
    assert plan.rows_read <= 2 * 5 + 2


async def test_what_waits_behind_a_target_is_counted_by_its_index(worker: Connection) -> None:
    parameters = {"client": None, "after": None, "limit": 50}
    plan = await explain(worker, statement("gates/sidelined"), parameters)
    assert plan.indexes <= await index_names(worker, "executions_gate") | {"gates_pkey"}
    assert plan.rows_read <= 16


async def test_plans_hold_where_the_statistics_saw_an_empty_table(worker: Connection) -> None:
    """Nothing waited for a moment, just then the statistics were made, and then a limit held much back."""
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
    assert sorted_rows == [BATCH]  # what was claimed is put in order, and nothing that waits
    assert claimed.rows_read <= 2 * BATCH
