"""``waits`` of an execution: each gate that held it, since when and until when."""

from datetime import timedelta
from typing import Any

import pytest

from pgsched.store.core.connect import Connection
from pgsched.store.gates import gates
from pgsched.store.live.executions import Lease
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import schedule, value

_WAITS = "select waits from pgsched.status where id = %s"
_LEASE = Lease(owner=1, token=7, length=timedelta(minutes=1), ahead=timedelta(0))


async def hold(worker: Connection, gate: str, *, held_at: str) -> None:
    """Claim the executions that a gate holds, and hold them behind another gate, in one transaction."""
    async with worker.transaction():
        rows = await gates.claim_held(worker, _LEASE, held_at, range(16), batch=10)
        await gates.hold(worker, [(row, gate) for row in rows])


def held(db: Session) -> Any:
    """An execution held by its client's limit."""
    id = schedule(db, client="shop", key="k", ordering_key="o", delay="0")
    db.execute(
        "update pgsched.executions e set gate = 'client:shop', scheduled_for = fire_at, fire_at = 'infinity',"
        " waits = pgsched_internal.held(waits, 'client:shop', fire_at)"
    )
    return id


async def test_only_a_different_gate_begins_a_new_wait(db: Session, worker: Connection) -> None:
    id = held(db)
    [begun] = value(db, _WAITS, [id])
    await hold(worker, "client:shop", held_at="client:shop")
    assert value(db, _WAITS, [id]) == [begun]
    await hold(worker, "host:shop.example", held_at="client:shop")
    first, second = value(db, _WAITS, [id])
    assert (first["held_by"], first["since"], first["until"] >= first["since"]) == ("client:shop", begun["since"], True)
    assert (second["held_by"], second["since"] >= first["until"], "until" in second) == (
        "host:shop.example",
        True,
        False,
    )
    await gates.claim_held(worker, _LEASE, "host:shop.example", range(16), batch=10)
    assert "until" in value(db, _WAITS, [id])[1]


@pytest.mark.parametrize(
    "end",
    [
        "select pgsched.cancel(%s)",
        "select pgsched.edit(%s, jsonb_build_object('fire_at', now() + interval '1 hour'))",
        'select pgsched.edit(%s, \'{"options": {"timeout": "9s"}}\')',
        "select pgsched_internal.let_next(partition, client_id, ordering_key) from pgsched.executions where id = %s",
    ],
)
def test_each_way_of_leaving_a_gate_ends_the_recorded_wait(db: Session, end: str) -> None:
    id = held(db)
    db.execute("update pgsched.executions set gate = %s", ["order" if "let_next" in end else "client:shop"])
    db.execute(end.encode(), [id])
    assert "until" in value(db, _WAITS, [id])[0]


def test_scheduling_a_held_executions_key_again_clears_its_recorded_waits(db: Session) -> None:
    id = held(db)
    assert schedule(db, client="shop", key="k", ordering_key="o") == id
    assert value(db, _WAITS, [id]) is None


def test_only_the_last_twenty_waits_are_kept(db: Session) -> None:
    many = (
        "select jsonb_agg(jsonb_build_object('held_by', 'queue:' || n, 'until', now())) from generate_series(1, 20) n"
    )
    found = value(db, f"select pgsched_internal.held(({many}), 'order', 'infinity')")
    assert [one["held_by"] for one in (found[0], found[-1])] == ["queue:2", "order"]
    assert len(found) == 20
