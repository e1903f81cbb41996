"""Rights of a client's role on limits, circuits and ordering keys."""

from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from tests.store.admin.test_roles import DENIED
from tests.store.store_arrange import (
    Connection,
    acting,
    call,
    column,
    heard,
    listening,
    login_role,
    refused,
    schedule,
    status,
    value,
)

pytestmark = pytest.mark.oldest_postgresql

LATER = "2040-01-01T00:00:00Z"


def ordered(db: Connection, client: str) -> tuple[UUID, UUID]:
    """Two executions with one ordering key: the head, which waits for a retry, and its successor."""
    first, second = (schedule(db, client=client, ordering_key="order-42", fire_at=LATER) for _ in range(2))
    db.execute("update pgsched.executions set at_head = true, attempt = 1 where id = %s", [first])
    db.execute("update pgsched.executions set gate = 'order', fire_at = 'infinity' where id = %s", [second])
    return first, second


def block(db: Connection, client: str) -> UUID:
    """Block the client's ordering key, and return the execution that waits behind it."""
    first, second = ordered(db, client)
    db.execute(
        "select pgsched_internal.block_key(partition, client_id, ordering_key, id, 'HTTP 500') from pgsched.executions"
        " where id = %s",
        [first],
    )
    db.execute("delete from pgsched.executions where id = %s", [first])
    return second


def test_cancelling_an_ordering_keys_head_lets_a_worker_release_the_next(
    db: Connection, payments: Connection, store_url: str
) -> None:
    first, second = ordered(db, "payments")
    with listening(store_url) as listener:
        assert call(payments, "cancel", id=first) is True
        assert heard(listener, db) == ["turns"]
    assert status(payments, second) == "held"
    partition = value(db, "select partition from pgsched.executions where id = %s", [second])
    assert value(db, f"select pgsched_internal.let_next({partition}::smallint, 'payments', 'order-42') is not null")
    assert status(payments, second) == "scheduled"


def test_a_client_can_see_and_unblock_its_own_ordering_keys(db: Connection, payments: Connection) -> None:
    waiting = block(db, "payments")
    block(db, "billing")
    assert column(payments, "select client_id from pgsched.blocked_keys") == ["payments"]
    assert call(payments, "resume", kind="ordering_key", client="payments", name="order-42") is True
    assert status(payments, waiting) == "scheduled"
    assert column(db, "select action from pgsched.audit_log where kind = 'ordering_key'") == ["resume"]


@pytest.mark.parametrize("client", ["billing", "nobody"])
def test_a_client_cannot_unblock_another_clients_ordering_key(
    db: Connection, payments: Connection, client: str
) -> None:
    waiting = block(db, "billing")
    with refused("PS010", hint="pgsched.blocked_keys"):
        call(payments, "resume", kind="ordering_key", client=client, name="order-42")
    assert status(db, waiting) == "held"


@pytest.mark.parametrize(
    "attempt",
    [
        "select pgsched_internal.shut_gate('client:billing', 'infinity', null)",
        "select pgsched_internal.open_gate('client:billing')",
        "select pgsched_internal.let_next(0::smallint, 'billing', 'order-42')",
        "select pgsched_internal.block_key(0::smallint, 'billing', 'order-42', pgsched_internal.new_id(), null)",
        "select pgsched.set_limit('client', 'billing', rate => 1)",
        "select pgsched.drop_limit('client', 'payments')",
        "select * from pgsched_internal.gates",
        "select * from pgsched_internal.gate_use",
        "select * from pgsched.sidelined",
        "insert into pgsched_internal.gates (name) values ('client:billing')",
        "delete from pgsched.blocked_keys",
        "insert into pgsched.blocked_keys values ('billing', 'order-42', 0, pgsched_internal.new_id())",
        "update pgsched.executions set gate = 'host:a'",
        "update pgsched.executions set at_head = true",
        "insert into pgsched.executions (client_id, target, fire_at, gate) values ('a', 'python:x', now(), 'a')",
        "insert into pgsched.executions (client_id, target, fire_at, at_head) values ('a', 'python:x', now(), true)",
    ],
)  # fmt: skip
def test_a_client_may_not_change_gates_limits_or_blocked_keys(payments: Connection, attempt: str) -> None:
    with refused(DENIED):
        payments.execute(attempt.encode())


def test_a_reader_can_see_but_not_change_gates_and_blocked_keys(db: Connection, store_url: str) -> None:
    block(db, "billing")
    call(db, "pause", kind="target", name="shop.example", client="billing")
    role = login_role(db, "pgsched_reader")
    with acting(store_url, role) as reader:
        assert column(reader, "select gate from pgsched.sidelined") == ["circuit:shop.example billing"]
        assert column(reader, "select client_id from pgsched.blocked_keys") == ["billing"]
        resumed = "select pgsched.resume('ordering_key', 'order-42', client => 'billing')"
        for attempt in ("delete from pgsched_internal.gates", resumed):
            with refused(DENIED):
                reader.execute(attempt.encode())
    db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


def test_a_client_granted_set_client_can_sideline_hosts_only_for_itself(db: Connection, payments: Connection) -> None:
    db.execute(
        sql.SQL("grant execute on function pgsched.set_client(text, jsonb, text) to {}").format(
            sql.Identifier(value(payments, "select session_user::text"))
        )
    )
    assert call(payments, "pause", kind="target", name="shop.example", client="payments") is True
    for client in ("billing", None):
        with refused("PS012"):
            call(payments, "pause", kind="target", name="shop.example", client=client)
    assert column(db, "select name from pgsched_internal.gates") == ["circuit:shop.example payments"]


def test_a_client_rescheduling_a_held_execution_ends_the_hold(db: Connection, payments: Connection) -> None:
    id = schedule(db, client="payments", fire_at=LATER)
    db.execute("update pgsched.executions set gate = 'host:shop.example', fire_at = 'infinity'")
    assert value(payments, "select held_by from pgsched.status") == "host:shop.example"
    call(payments, "edit", id=id, changes={"fire_at": LATER})
    assert value(payments, "select held_by from pgsched.status") is None


def test_rescheduling_a_held_execution_clears_its_gate(db: Connection, payments: Connection) -> None:
    id = schedule(db, client="payments", fire_at=LATER)
    db.execute("update pgsched.executions set gate = 'host:shop.example', fire_at = 'infinity'")
    call(payments, "edit", id=id, changes={"fire_at": "2041-01-01T00:00:00Z"})
    assert column(db, "select gate from pgsched.executions") == [None]


def test_an_execution_rescheduled_before_its_turn_keeps_the_new_fire_at(db: Connection) -> None:
    first, second = ordered(db, "payments")
    call(db, "edit", id=second, changes={"fire_at": "2041-01-01T00:00:00Z"})
    call(db, "cancel", id=first)
    assert value(db, "select fire_at = '2041-01-01Z' from pgsched.executions") is True


@pytest.mark.parametrize("options", ['{"priority": "x"}', '{"priority": 1.5}', '{"priority": 40000}'])
def test_an_insert_with_an_invalid_priority_is_refused(payments: Connection, options: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        payments.execute(
            "insert into pgsched.executions (client_id, target, fire_at, options) values"
            " ('payments', 'python:x', now(), %s)",
            [options],
        )
    assert caught.value.sqlstate == "PS004"
