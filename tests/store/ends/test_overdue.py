"""Executions held by a gate end when their time is up, not when their turn comes."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from pgsched.store import internal_verbs
from pgsched.store.core.connect import Connection as Session
from pgsched.store.ends import dependencies
from tests.store.store_arrange import Connection, call, row, schedule, status, value

pytestmark = pytest.mark.oldest_postgresql

GATES = [
    "client:default",
    "host:shop.example",
    "queue:default",
    "key:a",
    "circuit:shop.example default",
    "order",
    "worker:kafka",
]


def held(db: Connection, *, gate: str = "client:default", age: str = "1 minute", **given: Any) -> UUID:
    """An execution held by a gate, whose instant was this long ago."""
    id = schedule(db, **given)
    db.execute(
        "update pgsched.executions set gate = %s, fire_at = 'infinity', scheduled_for = pgsched.now() - %s::interval"
        " where id = %s",
        [gate, age, id],
    )
    db.execute("update pgsched.executions e set held_until = pgsched_internal.held_until(e) where id = %s", [id])
    return id


@pytest.fixture(autouse=True)
def no_defaults(db: Connection) -> Iterator[None]:
    """Reset the default client and queue, which other tests share."""
    yield
    call(db, "set_client", client="default", changes={"options": None})
    call(db, "set_queue", name="default", changes={"options": None})


@pytest.mark.parametrize("gate", GATES)
async def test_a_held_execution_expires_after_its_relevant_for_period(
    db: Connection, planning: Session, gate: str
) -> None:
    id = held(db, gate=gate, options={"relevant_for": "50s"})
    early = held(db, gate=gate, options={"relevant_for": "2m"})
    plain = held(db, gate=gate)
    assert ((await dependencies.pending(planning)).overdue_in or 0) < 0
    assert await internal_verbs.end_overdue(planning, most=10) == 1
    assert [status(db, one) for one in (id, early, plain)] == ["expired", "held", "held"]
    assert row(db, "select reason, attempt from pgsched.history") == ("not started within 50s of its scheduled time", 0)
    assert 55 < ((await dependencies.pending(planning)).overdue_in or 0) <= 60


async def test_a_held_execution_past_its_deadline_fails(db: Connection, planning: Session) -> None:
    id = held(db, options={"deadline": "30s"})
    assert await internal_verbs.end_overdue(planning, most=10) == 1
    assert status(db, id) == "failed"


async def test_the_relevant_for_period_begins_at_the_jittered_start(db: Connection, planning: Session) -> None:
    held(db, options={"relevant_for": "50s"})
    db.execute(
        "update pgsched.executions e set start_at = s.at, held_until = s.at + interval '50 s'"
        " from (select pgsched.now() - interval '10 s') s(at)"
    )
    assert await internal_verbs.end_overdue(planning, most=10) == 0
    assert 35 < ((await dependencies.pending(planning)).overdue_in or 0) <= 40


@pytest.mark.parametrize("whose", [{"client": "default"}, {"name": "default"}])
async def test_held_executions_expire_after_a_default_relevant_for_period(
    db: Connection, planning: Session, whose: dict[str, str]
) -> None:
    setting = "set_client" if "client" in whose else "set_queue"
    call(db, setting, **whose, changes={"options": {"relevant_for": "50s"}})
    id, longer = held(db), held(db, options={"relevant_for": "2m"})
    assert await internal_verbs.end_overdue(planning, most=10) == 1
    assert [status(db, one) for one in (id, longer)] == ["expired", "held"]


async def test_a_longer_default_relevant_for_period_delays_no_other_expiry(db: Connection, planning: Session) -> None:
    call(db, "set_client", client="default", changes={"options": {"relevant_for": "50s"}})
    prolonged, over = held(db), held(db, age="55 s", options={"relevant_for": "52s"})
    call(db, "set_client", client="default", changes={"options": {"relevant_for": "2m"}})
    assert await internal_verbs.end_overdue(planning, most=1) + await internal_verbs.end_overdue(planning, most=1) == 1
    assert [status(db, one) for one in (prolonged, over)] == ["held", "expired"]


async def test_an_execution_parked_by_an_error_does_not_expire(db: Connection, planning: Session) -> None:
    held(db, gate="error", options={"relevant_for": "30s"})
    assert (await dependencies.pending(planning)).overdue_in is None
    assert await internal_verbs.end_overdue(planning, most=10) == 0


async def test_expiry_notifies_the_on_expired_target(db: Connection, planning: Session) -> None:
    held(db, options={"relevant_for": "30s", "on_expired": "python:told"})
    await internal_verbs.end_overdue(planning, most=10)
    assert value(db, "select payload ->> 'status' from pgsched.executions where target = 'python:told'") == "expired"


async def test_expiry_skips_a_locked_execution(db: Connection, planning: Session, store_url: str) -> None:
    held(db, options={"relevant_for": "30s"})
    with psycopg.connect(store_url) as other:
        other.execute("select from pgsched.executions for update")
        assert await internal_verbs.end_overdue(planning, most=10) == 0
    assert await internal_verbs.end_overdue(planning, most=10) == 1


@pytest.mark.parametrize("what", ["pgsched.executions where client_id = 'shop'", "pgsched.jobs"])
async def test_one_clients_locked_rows_do_not_delay_another_clients_expiry(
    db: Connection, planning: Session, store_url: str, what: str
) -> None:
    db.execute("insert into pgsched.clients (client_id) values ('shop'), ('bank')")
    job = schedule(db, client="shop", every="1 hour", rules={"pause_after": 5})
    locked = [held(db, client="shop", age="2 minutes", options={"deadline": "30s"}) for _ in range(3)]
    db.execute("update pgsched.executions set job_id = %s where id = any (%s)", [job, locked])
    other = held(db, client="bank", options={"deadline": "30s"})
    with psycopg.connect(store_url) as holder:
        holder.execute(f"select from {what} for update".encode())
        assert await internal_verbs.end_overdue(planning, most=2) == 1
        assert [status(db, one) for one in (*locked, other)] == ["held", "held", "held", "failed"]
    assert await internal_verbs.end_overdue(planning, most=10) == 3


async def test_an_execution_that_cannot_expire_is_parked(db: Connection, planning: Session) -> None:
    id, other = held(db, options={"relevant_for": "30s"}), held(db, options={"relevant_for": "30s"})
    db.execute(f"alter table pgsched.history add constraint odd check (id <> '{id}') not valid".encode())
    try:
        assert await internal_verbs.end_overdue(planning, most=10) == 1
    finally:
        db.execute("alter table pgsched.history drop constraint odd")
    assert status(db, other) == "expired"
    assert row(db, "select status::text, held_by from pgsched.status where id = %s", [id]) == ("held", "error")
