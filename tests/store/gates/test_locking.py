"""Workers lock gates, and skip gates that are already locked."""

import psycopg
import pytest

from pgsched.store.core.connect import Connection as WorkerConnection
from pgsched.store.gates import gates
from tests.store.store_arrange import Connection, column

pytestmark = pytest.mark.oldest_postgresql


async def test_locking_gates_skips_and_reports_busy_gates(
    db: Connection, worker: WorkerConnection, store_url: str
) -> None:
    names = ["client:a", "client:b", "client:c", "client:d"]
    db.execute("insert into pgsched_internal.gates (name, concurrency) select unnest(%s::text[]), 1", [names])
    with psycopg.connect(store_url) as holder:
        holder.execute("select from pgsched_internal.gates where name in ('client:b', 'client:c') for update")
        async with worker.transaction():
            found = await gates.lock(worker, [*names, "client:gone"], worker=1)
            free = "select name from pgsched_internal.gates for update skip locked"
            assert (sorted(found.gates), sorted(found.busy)) == (["client:a", "client:d"], ["client:b", "client:c"])
            assert column(db, free) == []
