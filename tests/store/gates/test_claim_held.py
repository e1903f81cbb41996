"""Executions claimed from behind a gate come in the order in which they should begin."""

import json
from datetime import timedelta

from pgsched.store.core.connect import Connection
from pgsched.store.gates import gates
from pgsched.store.live.executions import Lease
from tests.store.store_arrange import Connection as Session

_HELD = """
insert into pgsched.executions (client_id, target, fire_at, scheduled_for, gate, partition, options)
select 'flood', 'python:x', 'infinity', now() - n % 7 * interval '1 minute', 'client:flood', n % 16,
       jsonb_build_object('priority', n % 3)
  from generate_series(1, 60) n"""


async def test_claim_held_orders_all_partitions_rows_by_priority_then_instant(db: Session, worker: Connection) -> None:
    db.execute(_HELD)
    lease = Lease(owner=1, token=7, length=timedelta(minutes=1), ahead=timedelta(0))
    rows = await gates.claim_held(worker, lease, "client:flood", range(16), batch=50)
    order = [(-json.loads(row.options or b"{}")["priority"], row.scheduled_for, row.id) for row in rows]
    assert len({row.partition for row in rows}) == 16
    assert order == sorted(order)
