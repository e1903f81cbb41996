"""What is due, in hand and late now, and the flow through each queue."""

from typing import Any
from uuid import UUID

import pytest

from pgsched.domain.attempt_outcome import NO_SLOT
from pgsched.store.core import connect
from pgsched.store.lookup import now, overview
from pgsched.store.lookup.now import Edge, Now
from tests.store.store_arrange import Connection, call, lease, schedule, value


def _edge(found: Now, **of: Any) -> Edge:
    [(name, wanted)] = of.items()
    [edge] = [edge for edge in found.edges if getattr(edge, name) == wanted]
    return edge


def _due(db: Connection, ago: str, **given: Any) -> UUID:
    return schedule(db, fire_at=value(db, "select now() - %s::interval", [ago]), **given)


async def test_due_and_leased_rows_are_counted_by_queue_client_and_worker(
    db: Connection, planning: connect.Connection
) -> None:
    call(db, "create_queue", name="orders")
    try:
        for ago in ("3 minutes", "2 minutes"):
            _due(db, ago, client="shop", queue="orders")
        lease(db, _due(db, "1 minute", client="bank"))
        schedule(db, client="bank", delay="1 hour")
        found = await now.look(planning)
    finally:
        db.execute("delete from pgsched.executions")
        call(db, "drop_queue", name="orders")
    orders, default = _edge(found, queue="orders"), _edge(found, queue="default")
    assert (orders.due, orders.in_hand, orders.cut) == (2, 0, False)
    assert 180 <= (orders.oldest_due or 0) < 240
    assert (default.due, default.in_hand) == (0, 1)
    assert (_edge(found, client="shop").due, _edge(found, client="bank").in_hand) == (2, 1)
    assert 60 <= (_edge(found, worker=1).oldest_in_hand or 0) < 120
    assert [(queue.name, queue.stall) for queue in found.queues] == [
        ("default", "waits: no worker serves the queue"),
        ("orders", "waits: no worker serves the queue"),
    ]


async def test_a_row_postponed_for_lack_of_a_slot_is_due_since_its_instant(
    db: Connection, planning: connect.Connection
) -> None:
    put_off = "fire_at = now() + interval '1 second', scheduled_for = fire_at, reason = %s"
    for ago, reason in (("10 minutes", f"{NO_SLOT}: all are taken"), ("20 minutes", "not ready")):
        db.execute(f"update pgsched.executions set {put_off} where id = %s", [reason, _due(db, ago)])
    found = _edge(await now.look(planning), queue="default")
    assert (found.due, found.in_hand) == (1, 0)
    assert 600 <= (found.oldest_due or 0) < 900
    assert 600 <= await overview.oldest_due(planning) < 900


async def test_due_rows_of_a_partition_are_counted_up_to_a_bound(
    db: Connection, planning: connect.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(now, "MOST", 3)
    for _ in range(5):
        _due(db, "1 minute", ordering_key="all in one partition")
    found = _edge(await now.look(planning), queue="default")
    assert (found.due, found.cut) == (3, True)


async def test_queue_flows_are_read_from_the_server_statistics(db: Connection, planning: connect.Connection) -> None:
    def flush() -> None:
        db.execute("select pg_stat_force_next_flush()")

    flush()
    before = (await now.look(planning)).flows["default"]
    for _ in range(3):
        schedule(db)
    db.execute("delete from pgsched.executions where id = (select id from pgsched.executions limit 1)")
    flush()
    after = (await now.look(planning)).flows["default"]
    assert (after.scheduled - before.scheduled, after.ended - before.ended) == (3, 1)
    assert after.at > before.at


async def test_held_rows_are_counted_by_gate(db: Connection, planning: connect.Connection) -> None:
    for gate in ("client:shop", "client:shop", "order"):
        held = schedule(db)
        db.execute("update pgsched.executions set fire_at = 'infinity', gate = %s where id = %s", [gate, held])
    found = (await now.look(planning)).held_back
    assert [(one.gate, one.held) for one in found] == [("client:shop", 2), ("order", 1)]
