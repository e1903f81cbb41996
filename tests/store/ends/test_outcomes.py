"""What follows an end in the transaction that settles it: dependents can be released, and a target is notified."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live import executions
from pgsched.store.live.executions import Finished, Group, Lease, PartitionShare, Times
from tests.store.ends.dependency_arrange import after, is_due, release
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import call, column, heard, listening, reap, row, run_out, schedule, status, value

pytestmark = pytest.mark.oldest_postgresql

TOLD = {"on_success": "python:well", "on_failure": "python:alas", "on_expired": "python:late"}
PAYLOAD = "select payload from pgsched.executions where target like 'python:%'"


async def leased(db: Session, worker: Connection, **arguments: Any) -> ClaimedExecution:
    schedule(db, **{"fire_at": "2020-01-01Z", **arguments})
    lease = Lease(owner=1, token=7, length=timedelta(seconds=30), ahead=timedelta(0))
    shares = [PartitionShare(partition, LONG_AGO, 10) for partition in range(16)]
    [found] = (await executions.claim(worker, lease, shares, now=0)).rows
    return found


async def finish(worker: Connection, found: ClaimedExecution, ended: str, **given: Any) -> int:
    code, result, reason = given.get("code"), given.get("result"), given.get("reason", "503")
    end = Finished(found.id, given.get("token", found.token), ended, code, result, reason, Times(LONG_AGO, 1.0))
    row = await (await executions.settle_finished(worker, found.partition, [end])).fetchone()
    return int(row[0]) if row else 0


def id_of(found: ClaimedExecution) -> UUID:
    return UUID(bytes=found.id)


@pytest.mark.parametrize("how", ["succeeded", "discarded", "finished", "kept nothing", "reaped"])
async def test_each_way_of_settling_releases_dependents(db: Session, worker: Connection, how: str) -> None:
    db.execute("insert into pgsched.clients (client_id, keep) values ('careless', 'nothing')")
    client = "default" if how == "succeeded" else "careless"
    found = await leased(db, worker, client=client, options={"max_attempts": 1})
    last = after(db, id_of(found), client=client, after_outcome="any")
    group = {found.partition: Group([found.id], [found.token])}
    match how:
        case "succeeded":
            await executions.settle_succeeded(worker, None, group)
        case "discarded":
            await executions.settle_discarded(worker, group)
        case "reaped":
            run_out(db, begun=True)
            await reap(worker, found.partition, [1])
        case _:
            await finish(worker, found, "failed" if how == "finished" else "succeeded")
    if how != "succeeded":  # if history keeps every end, releasing marks it
        assert column(db, "select id from pgsched.history where awaited") == [id_of(found)]
    assert release(db) == 1
    assert is_due(db, last)
    assert column(db, "select id from pgsched.history where awaited") == []


async def test_handing_back_a_claim_does_not_release_dependents(db: Session, worker: Connection) -> None:
    found = await leased(db, worker)
    last = after(db, id_of(found))
    await executions.release(worker, found.partition, Group([found.id], [found.token]))
    assert release(db) == 0
    assert status(db, last) == "held"


@pytest.mark.parametrize(
    ("ended", "told"), [("succeeded", "python:well"), ("failed", "python:alas"), ("expired", "python:late")]
)
async def test_settling_notifies_the_outcomes_target(db: Session, worker: Connection, ended: str, told: str) -> None:
    found = await leased(db, worker, client="payments", key="k", options=TOLD)
    await finish(worker, found, ended, code=503, result='{"n": 1}', reason="why")
    assert row(
        db,
        "select target, client_id, key, options, attempt, fire_at <= now(), partition between 0 and 15"
        " from pgsched.executions",
    ) == (told, "payments", None, None, 0, True, True)
    payload = value(db, "select payload - 'finished_at' from pgsched.executions")
    assert payload == {
        "execution": str(id_of(found)),
        "job": None,
        "client": "payments",
        "key": "k",
        "target": found.target,
        "status": ended,
        "scheduled_for": "2020-01-01T00:00:00+00:00",
        "attempt": 1,
        "status_code": 503,
        "result": {"n": 1},
        "reason": "why",
    }


async def test_an_outcome_without_a_target_notifies_nobody(db: Session, worker: Connection) -> None:
    found = await leased(db, worker, options={"on_success": "python:well"})
    await finish(worker, found, "failed")
    assert column(db, "select target from pgsched.executions") == []


async def test_settling_with_a_stale_token_notifies_nobody(db: Session, worker: Connection) -> None:
    found = await leased(db, worker, options=TOLD)
    assert await finish(worker, found, "failed", token=6) == 0
    assert column(db, PAYLOAD) == []


async def test_settling_an_execution_twice_notifies_the_target_once(db: Session, worker: Connection) -> None:
    found = await leased(db, worker, options=TOLD)
    assert [await finish(worker, found, "failed") for _ in range(2)] == [1, 0]
    assert len(column(db, PAYLOAD)) == 1


async def test_reaping_the_last_attempt_notifies_the_on_failure_target(db: Session, worker: Connection) -> None:
    found = await leased(db, worker, options={**TOLD, "max_attempts": 1})
    run_out(db, begun=True)
    assert await reap(worker, found.partition, [1]) == (0, 1)
    payload = value(db, PAYLOAD)
    assert (payload["status"], payload["reason"]) == ("failed", "the worker was lost on the last attempt")


async def test_a_notification_omits_a_result_that_is_too_large(db: Session, worker: Connection) -> None:
    found = await leased(db, worker, options=TOLD)
    await finish(worker, found, "succeeded", result=f'"{"x" * 600_000}"')
    assert "result" not in value(db, PAYLOAD)


async def test_an_outcome_notification_wakes_workers(db: Session, worker: Connection, store_url: str) -> None:
    found = await leased(db, worker, options=TOLD)
    with listening(store_url) as listener:
        await finish(worker, found, "succeeded")
        assert ["@" in payload for payload in heard(listener, db)] == [True]


def test_a_cancelled_execution_notifies_nobody(db: Session) -> None:
    id = schedule(db, options=TOLD)
    call(db, "cancel", id=id)
    assert column(db, PAYLOAD) == []
