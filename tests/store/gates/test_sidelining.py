"""Hosts are sidelined and restored by hand, and pgsched.sidelined shows which hosts are not called, and why."""

from datetime import timedelta
from typing import Any

import pytest

from pgsched.store.core.connect import Connection as WorkerConnection
from pgsched.store.gates import circuits, gates
from tests.store.store_arrange import Connection, call, column, heard, listening, refused, row, value

pytestmark = pytest.mark.oldest_postgresql

CIRCUIT = "circuit:shop.example payments"


def gate(db: Connection, name: str = CIRCUIT, **columns: Any) -> None:
    names = ", ".join(["name", *columns])
    marks = ", ".join(["%s"] * (1 + len(columns)))
    db.execute(f"insert into pgsched_internal.gates ({names}) values ({marks})".encode(), [name, *columns.values()])


def test_a_host_can_be_sidelined_for_one_or_all_clients(db: Connection) -> None:
    assert call(db, "pause", kind="target", name="Shop.example", client="payments", note="down") is True
    assert call(db, "pause", kind="target", name="shop.example") is True
    found = db.execute("select gate, host, client_id, state, reason from pgsched.sidelined order by gate").fetchall()
    assert found == [
        (CIRCUIT, "shop.example", "payments", "by hand", "down"),
        ("host:shop.example", "shop.example", None, "by hand", None),
    ]


def test_sidelining_a_sidelined_host_is_a_no_op(db: Connection) -> None:
    assert [call(db, "pause", kind="target", name="shop.example") for _ in range(2)] == [True, False]
    assert column(db, "select action from pgsched.audit_log") == ["pause"]


async def test_a_host_starts_recovering_when_its_sidelining_ends(db: Connection, worker: WorkerConnection) -> None:
    call(db, "pause", kind="target", name="shop.example", until="2040-01-01Z")
    [found] = (await gates.read(worker, ["host:shop.example"], worker=1)).values()
    assert found.shut_until is not None
    assert found.earliest(found.shut_until - 1) == found.shut_until
    assert found.room(1000, now=found.shut_until, last=found.shut_until + 999_999) == 10
    db.execute(
        "update pgsched_internal.gates set shut_until = now() - interval '1 s', recovers_from = now() - interval '1 s'"
    )
    assert value(db, "select state from pgsched.sidelined") == "recovering"


@pytest.mark.parametrize("limit", [False, True])
async def test_closing_a_circuit_keeps_the_hosts_limit(db: Connection, worker: WorkerConnection, limit: bool) -> None:
    if limit:
        call(db, "set_limit", kind="host", name="shop.example", rate=5)
    call(db, "pause", kind="target", name="shop.example", until="2040-01-01Z")
    db.execute(
        "update pgsched_internal.gates set shut_until = now() - interval '1 h', recovers_from = now() - interval '1 h'"
    )
    assert await circuits.close(worker, after=timedelta(seconds=14)) == ["host:shop.example"]
    left = db.execute("select events, shut_until, recovers_from from pgsched_internal.gates").fetchall()
    assert left == ([(5, None, None)] if limit else [])


def test_a_restored_host_starts_recovering(db: Connection, store_url: str) -> None:
    call(db, "pause", kind="target", name="shop.example", client="payments")
    with listening(store_url) as listener:
        assert call(db, "resume", kind="target", name="shop.example", client="payments", actor="ann") is True
        assert "gates" in heard(listener, db)
    assert row(db, "select state, until from pgsched.sidelined") == ("recovering", None)
    assert call(db, "resume", kind="target", name="shop.example", client="payments") is False


def test_sidelining_and_restoring_a_host_keeps_its_limit(db: Connection) -> None:
    call(db, "set_limit", kind="host", name="shop.example", rate=5)
    call(db, "pause", kind="target", name="shop.example")
    call(db, "resume", kind="target", name="shop.example")
    assert row(db, "select events, shut_until, recovers_from is not null from pgsched_internal.gates") == (
        5,
        None,
        True,
    )


@pytest.mark.parametrize(
    ("columns", "state"),
    [
        ({"shut_until": "2040-01-01Z", "openings": 2}, "failing"),
        ({"shut_until": "2020-01-01Z", "openings": 2}, "probing"),
        ({"recovers_from": "2020-01-01Z", "openings": 2}, "recovering"),
        ({"shut_until": "infinity", "openings": 2}, "by hand"),
        ({"shut_until": "2040-01-01Z"}, "by hand"),
    ],
)
def test_the_sidelined_view_shows_each_circuits_state(db: Connection, columns: dict[str, Any], state: str) -> None:
    gate(db, **columns)
    assert value(db, "select state from pgsched.sidelined") == state


def test_a_path_can_be_sidelined_for_a_client(db: Connection) -> None:
    assert call(db, "pause", kind="target", name="Shop.example:443/Settle", client="payments") is True
    assert row(db, "select gate, host, client_id from pgsched.sidelined") == (
        "circuit:shop.example/Settle payments",
        "shop.example/Settle",
        "payments",
    )
    assert call(db, "resume", kind="target", name="shop.example/settle", client="payments") is False
    assert call(db, "resume", kind="target", name="shop.example/Settle", client="payments") is True


def test_restoring_a_host_also_restores_the_clients_sidelined_paths(db: Connection) -> None:
    for host in ("shop.example/a", "shop.example/b", "shop.example2/a"):
        call(db, "pause", kind="target", name=host, client="payments")
    call(db, "pause", kind="target", name="shop.example/a", client="billing")
    assert call(db, "resume", kind="target", name="shop.example", client="payments") is True
    left = "select gate from pgsched.sidelined where state = 'by hand' order by gate"
    assert column(db, left) == ["circuit:shop.example/a billing", "circuit:shop.example2/a payments"]


def test_the_sidelined_view_counts_executions_held_by_a_circuit(db: Connection) -> None:
    gate(db, shut_until="infinity")
    db.execute(
        "insert into pgsched.executions (target, fire_at, gate) select 'python:x', 'infinity', g from"
        " unnest(array[%s, %s, 'order']) g",
        [CIRCUIT, CIRCUIT],
    )
    assert value(db, "select held from pgsched.sidelined") == 2


@pytest.mark.parametrize("name", ["host:shop.example", "client:payments", "queue:default", "key:payments/m"])
def test_the_sidelined_view_does_not_show_limits(db: Connection, name: str) -> None:
    gate(db, name, events=1, period="1 second")
    assert column(db, "select gate from pgsched.sidelined") == []


def test_the_sidelined_view_does_not_show_paused_clients(db: Connection) -> None:
    call(db, "pause", kind="client", name="payments")
    assert column(db, "select gate from pgsched.sidelined") == []


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"name": "https://shop.example/x"}, "shop.example"),
        ({"name": ""}, "payments"),
        ({"name": "shop.example/x"}, "shop.example"),
        ({"name": "shop.example/x y", "client": "payments"}, "shop.example"),
        ({"name": None}, "name =>"),
        ({"client": ""}, "payments"),
        ({"client": "x" * 101}, "payments"),
        ({"until": "2020-01-01Z"}, "until =>"),
        ({"actor": ""}, "ann"),
    ],
)
def test_sidelining_with_invalid_arguments_is_refused(db: Connection, given: dict[str, Any], hint: str) -> None:
    with refused("PS000", hint=hint):
        call(db, "pause", kind="target", **{"name": "shop.example", **given})
    assert column(db, "select name from pgsched_internal.gates") == []
