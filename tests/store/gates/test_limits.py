"""Setting, replacing and dropping limits."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.store.store_arrange import Connection, call, column, heard, listening, refused, row


@pytest.fixture(autouse=True)
def _no_gates(db: Connection) -> Iterator[None]:
    yield
    db.execute("delete from pgsched_internal.gates")


def test_setting_a_limit_creates_a_gate_with_the_given_limits(db: Connection) -> None:
    limited = {"kind": "client", "name": "shop", "rate": 100, "per": "1 minute", "burst": 10, "concurrency": 5}
    assert call(db, "set_limit", **limited) is True
    gate = row(db, "select name, events, period::text, burst, concurrency from pgsched_internal.gates")
    assert gate == ("client:shop", 100, "00:01:00", 10, 5)


def test_setting_a_new_limit_replaces_the_previous_limit(db: Connection) -> None:
    call(db, "set_limit", kind="client", name="shop", rate=100)
    call(db, "set_limit", kind="client", name="shop", concurrency=5)
    assert row(db, "select events, period, burst, concurrency from pgsched_internal.gates") == (None, None, 1, 5)


def test_setting_the_same_limit_again_is_a_no_op(db: Connection) -> None:
    call(db, "set_limit", kind="client", name="shop", rate=100)
    db.execute("update pgsched_internal.gates set next_at = now()")
    assert call(db, "set_limit", kind="client", name="shop", rate=100) is False
    assert column(db, "select isfinite(next_at) from pgsched_internal.gates") == [True]


@pytest.mark.parametrize(("burst", "most"), [(1, "10 ms"), (20, "200 ms")])
def test_a_higher_rate_shortens_a_wait_set_by_the_previous_rate(db: Connection, burst: int, most: str) -> None:
    call(db, "set_limit", kind="client", name="shop", rate=1, per="1 hour")
    db.execute("update pgsched_internal.gates set next_at = now() + interval '1 hour'")
    with db.transaction():
        call(db, "set_limit", kind="client", name="shop", rate=100, burst=burst)
        assert column(db, "select next_at - now() = %s::interval from pgsched_internal.gates", [most]) == [True]


@pytest.mark.parametrize("name", ["Shop.Example:8443", "shop.example.:08443"])
def test_a_host_name_is_normalized_and_keeps_its_port(db: Connection, name: str) -> None:
    call(db, "set_limit", kind="host", name=name, rate=1)
    assert column(db, "select name from pgsched_internal.gates") == ["host:shop.example:8443"]
    assert call(db, "pause", kind="target", name=name, client="shop") is True
    assert column(db, "select gate from pgsched.sidelined") == ["circuit:shop.example:8443 shop"]
    assert call(db, "drop_limit", kind="host", name="shop.example:8443") is True


def test_default_ports_are_dropped_from_a_host_name(db: Connection) -> None:
    assert call(db, "set_limit", kind="host", name="shop.example:443", rate=1) is True
    assert call(db, "set_limit", kind="host", name="shop.example.:080", rate=1) is False
    assert column(db, "select name from pgsched_internal.gates") == ["host:shop.example"]


def test_dropping_a_limit_deletes_its_gate(db: Connection) -> None:
    call(db, "set_limit", kind="queue", name="default", rate=1)
    assert call(db, "drop_limit", kind="queue", name="default") is True
    assert call(db, "drop_limit", kind="queue", name="default") is False
    assert column(db, "select name from pgsched_internal.gates") == []


def test_setting_a_limit_notifies_workers_and_is_logged(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener:
        call(db, "set_limit", kind="key", name="shop/merchant-42", rate=3, actor="ann")
        assert "gates" in heard(listener, db)
    detail = {"kind": "key", "name": "shop/merchant-42", "rate": 3, "per": "00:00:01"}
    assert row(db, "select actor, action, detail from pgsched.audit_log") == ("ann", "set limit", detail)


@pytest.mark.parametrize(
    ("state", "hint", "given"),
    [
        ("PS000", "client, host, queue or key", {"kind": "circuit", "rate": 1}),
        ("PS000", "client, host, queue or key", {"kind": None, "rate": 1}),
        ("PS000", "payments", {"name": "", "rate": 1}),
        ("PS000", "payments", {"name": "x" * 302, "rate": 1}),
        ("PS000", "shop.example", {"kind": "host", "name": "https://shop.example/x", "rate": 1}),
        ("PS000", "shop.example", {"kind": "host", "name": "0x7f.1", "rate": 1}),
        ("PS000", "shop.example", {"kind": "host", "name": "[::ffff:7f00:2]:8443", "rate": 1}),
        ("PS000", "payments/merchant-42", {"kind": "key", "name": "merchant", "rate": 1}),
        ("PS010", "pgsched.queues", {"kind": "queue", "name": "nowhere", "rate": 1}),
        ("PS000", "concurrency => 10", {}),
        ("PS000", "rate => 100", {"rate": 0}),
        ("PS000", "rate => 100", {"rate": 1_000_001}),
        ("PS000", "rate => 100", {"rate": 1, "burst": 0}),
        ("PS000", "rate => 100", {"concurrency": -1}),
        ("PS000", "rate => 100", {"concurrency": 1, "burst": 5}),
        ("PS000", "per =>", {"rate": 1, "per": "0"}),
        ("PS000", "per =>", {"rate": 1, "per": "367 days"}),
    ],
)
def test_an_invalid_limit_is_refused(db: Connection, state: str, hint: str, given: dict[str, Any]) -> None:
    with refused(state, hint=hint):
        call(db, "set_limit", **{"kind": "client", "name": "shop", **given})
    assert column(db, "select name from pgsched_internal.gates") == []
