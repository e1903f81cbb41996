"""``dead_letter_target``: the target that is notified of each dead letter of a client."""

import pytest

from pgsched.store.core.connect import Connection
from tests.store.ends.test_outcomes import finish, id_of, leased
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import column, reap, refused, row, run_out, value

pytestmark = pytest.mark.oldest_postgresql

TOLD = "https://ops.example/dead"


@pytest.fixture(autouse=True)
def _told(db: Session) -> None:
    db.execute("insert into pgsched.clients (client_id, dead_letter_target) values ('payments', %s)", [TOLD])


async def test_the_dead_letter_target_is_notified_of_a_final_failure(db: Session, worker: Connection) -> None:
    found = await leased(db, worker, client="payments", key="k")
    await finish(worker, found, "failed", code=503, reason="why")
    target, payload = row(db, "select target::text, payload from pgsched.executions")
    assert target == TOLD
    assert (payload["execution"], payload["status"], payload["key"], payload["status_code"], payload["reason"]) == (
        str(id_of(found)), "failed", "k", 503, "why",
    )  # fmt: skip


async def test_the_dead_letter_target_is_notified_of_a_lost_execution(db: Session, worker: Connection) -> None:
    found = await leased(db, worker, client="payments", options={"max_attempts": 1})
    run_out(db, begun=True)
    assert await reap(worker, found.partition, [1]) == (0, 1)
    assert column(db, "select target::text from pgsched.executions") == [TOLD]


async def test_an_on_failure_target_replaces_the_dead_letter_target(db: Session, worker: Connection) -> None:
    found = await leased(db, worker, client="payments", options={"on_failure": "python:alas"})
    await finish(worker, found, "failed")
    assert column(db, "select target::text from pgsched.executions") == ["python:alas"]


@pytest.mark.parametrize("ended", ["succeeded", "expired"])
async def test_the_dead_letter_target_is_not_notified_of_success_or_expiry(
    db: Session, worker: Connection, ended: str
) -> None:
    found = await leased(db, worker, client="payments")
    await finish(worker, found, ended, result="1")
    assert column(db, "select target::text from pgsched.executions") == []


async def test_the_dead_letter_target_gets_only_its_own_clients_failures(db: Session, worker: Connection) -> None:
    found = await leased(db, worker, client="billing")
    await finish(worker, found, "failed")
    assert column(db, "select target::text from pgsched.executions") == []


async def test_a_failed_notification_triggers_no_further_notification(db: Session, worker: Connection) -> None:
    await finish(worker, await leased(db, worker, client="payments"), "failed")
    db.execute("update pgsched.executions set fire_at = '2020-01-01Z'")
    word = await leased(db, worker, client="billing", fire_at="2090-01-01Z")
    assert word.target == TOLD
    await finish(worker, word, "failed")
    assert column(db, "select target::text from pgsched.executions where client_id = 'payments'") == []
    assert value(db, "select count(*) from pgsched.dead_letters") == 2


async def test_the_dead_letter_target_is_notified_even_if_no_history_is_kept(db: Session, worker: Connection) -> None:
    db.execute("update pgsched.clients set keep = 'nothing'")
    await finish(worker, await leased(db, worker, client="payments"), "failed")
    assert column(db, "select target::text from pgsched.executions") == [TOLD]
    db.execute("update pgsched.clients set keep = 'all'")


def test_an_invalid_dead_letter_target_is_refused(db: Session) -> None:
    with refused("PS001"):
        db.execute("update pgsched.clients set dead_letter_target = 'ops.example'")
