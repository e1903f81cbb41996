"""Every statement and function that ends an execution leaves the same rows and has the same effects."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from psycopg import sql

from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.gates.ordering import let_next
from pgsched.store.live import executions
from pgsched.store.live.executions import AnsweredRow, Finished, Group, Times, settle_answered
from tests.store.ends.dependency_arrange import after, release
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import call, column, reap, row, run_out, schedule

pytestmark = pytest.mark.oldest_postgresql

LOST = "the worker was lost on the last attempt"
_TOLD = {"on_success": "python:well", "on_failure": "python:alas"}
_LEFT = {
    "history": "select to_jsonb(h)"
    " - '{id,settled_in,finished_at,created_at,fire_at,job_id,began_at,seconds,worker}'::text[] from pgsched.history h",
    "attempts": "select jsonb_build_array(a.attempt, a.status_code, a.client_id) from pgsched.attempts a",
    "jobs": "select jsonb_build_array(j.failures, j.state, j.reason) from pgsched.jobs j",
    "live": "select jsonb_build_array(e.target, e.gate, isfinite(e.fire_at), e.awaited,"
    " e.payload - '{execution,finished_at,job}'::text[]) from pgsched.executions e",
    "blocked": "select to_jsonb(b) - '{execution_id,blocked_at}'::text[] from pgsched.blocked_keys b",
    "dependencies": "select jsonb_build_array(d.status, d.outcome) from pgsched.dependencies d",
}
_TABLES = ["executions", "history", "attempts", "blocked_keys", "dependencies", "jobs", "clients"]


def in_hand(
    db: Session, *, keep: str, worker: int | None = 1, of_job: bool = False, **arguments: Any
) -> tuple[int, UUID, int]:
    """Arrange an execution claimed by a worker (by a consumer if None), a dependent, and a second execution with its
    ordering key. Return the partition, id and token of the claimed execution."""
    for table in _TABLES:
        db.execute(sql.SQL("delete from pgsched.{}").format(sql.Identifier(table)))
    db.execute("delete from pgsched_internal.keys")
    db.execute("insert into pgsched.clients (client_id, keep) values ('payments', %s)", [keep])
    given = {"client": "payments", "fire_at": "2020-01-01Z", "payload": {"n": 1}, "ordering_key": "o", **arguments}
    id, behind = schedule(db, **given), schedule(db, **{**given, "key": None, "options": None})
    after(db, id, client="payments", after_outcome="any")
    db.execute(
        "update pgsched.executions set gate = 'order', scheduled_for = fire_at, fire_at = 'infinity' where id = %s",
        [behind],
    )
    if of_job:
        job = schedule(db, every="1 hour", client="payments", rules={"pause_after": 3})
        db.execute("update pgsched.jobs set failures = 1")
        db.execute(
            "update pgsched.executions set job_id = %s, plan = 1, scheduled_for = fire_at where id = %s", [job, id]
        )
    partition, token = row(
        db,
        "update pgsched.executions set lease_token = 7::bigint << 15 | partition, lease_owner = %s,"
        " attempt = 1, at_head = true, lease_expires_at = now() + interval '1 minute'"
        " where id = %s returning partition, lease_token",
        [worker, id],
    )
    return partition, id, token


def left(db: Session) -> dict[str, list[Any]]:
    """Return the rows left by an end, without ids and times, before and after the release of dependents."""
    found = {name: sorted(column(db, query), key=str) for name, query in _LEFT.items()}
    release(db)
    return found | {f"{name} at last": sorted(column(db, query), key=str) for name, query in _LEFT.items()}


async def _finished(db: Session, worker: Connection, status: str, given: dict[str, Any]) -> None:
    reason = LOST if status == "failed" else None
    partition, id, token = in_hand(db, **given)
    await executions.settle_finished(
        worker, partition, [Finished(id.bytes, token, status, None, None, reason, Times(LONG_AGO, 1.0))]
    )
    await let_next(worker, partition, [("payments", "o")])


async def _succeeded(db: Session, worker: Connection, given: dict[str, Any]) -> None:
    partition, id, token = in_hand(db, **given)
    await executions.settle_succeeded(worker, None, {partition: Group([id.bytes], [token])})
    await let_next(worker, partition, [("payments", "o")])


async def _answered(db: Session, worker: Connection, given: dict[str, Any]) -> None:
    partition, id, token = in_hand(db, **given)
    await settle_answered(worker, {partition: [AnsweredRow(id.bytes, token, None, "null", Times(0, 1.0))]})
    await let_next(worker, partition, [("payments", "o")])
    db.execute("update pgsched.history set result = null where result = 'null'")


async def _discarded(db: Session, worker: Connection, given: dict[str, Any]) -> None:
    partition, id, token = in_hand(db, **given)
    await executions.settle_discarded(worker, {partition: Group([id.bytes], [token])})
    await let_next(worker, partition, [("payments", "o")])
    db.execute("update pgsched.history set payload = '{\"n\": 1}'")  # only the key was kept


async def _called(db: Session, worker: Connection, given: dict[str, Any]) -> None:
    partition, id, token = in_hand(db, **given)
    await worker.execute("select pgsched_internal.settle_called(%s::smallint, %s, %s, null)", [partition, id, token])


async def _completed(db: Session, worker: Connection, given: dict[str, Any]) -> None:
    _, id, token = in_hand(db, worker=None, **given)
    call(db, "complete", id=id, token=token)


async def _failed(db: Session, worker: Connection, given: dict[str, Any]) -> None:
    _, id, token = in_hand(db, worker=None, **given)
    call(db, "fail", id=id, token=token, error=LOST, retryable=False)


async def _lost(db: Session, worker: Connection, given: dict[str, Any]) -> None:
    partition, _, _ = in_hand(db, **given)
    run_out(db, begun=True)
    assert await reap(worker, partition, [1]) == (0, 1)


Way = Callable[[Session, Connection, dict[str, Any]], Awaitable[None]]
_PLAIN: dict[str, Any] = {}
_GIVEN = [
    _PLAIN,
    {"key": "k", "labels": {"team": "a"}},
    {"options": _TOLD},
    {"of_job": True},
    {"of_job": True, "options": _TOLD},
]


@pytest.mark.parametrize("keep", ["all", "failures", "nothing"])
async def test_every_way_of_settling_a_success_leaves_the_same_rows(db: Session, worker: Connection, keep: str) -> None:
    plain: list[Way] = [_succeeded, _answered] if keep == "all" else [_discarded]
    for given in _GIVEN:
        await _finished(db, worker, "succeeded", given | {"keep": keep})
        expected = left(db)
        # The plain statements settle only successes without notifications and jobs.
        ways: list[Way] = [_called, _completed, *(plain if "options" not in given and "of_job" not in given else [])]
        for way in ways:
            await way(db, worker, given | {"keep": keep})
            assert left(db) == expected, (way.__name__, given)


@pytest.mark.parametrize("keep", ["all", "failures", "nothing"])
async def test_every_way_of_settling_a_failure_leaves_the_same_rows(db: Session, worker: Connection, keep: str) -> None:
    for given in [*_GIVEN, {"options": {"ordering": "block"}}]:
        given = {"keep": keep, **given, "options": {"max_attempts": 1, **given.get("options", {})}}
        await _finished(db, worker, "failed", given)
        expected = left(db)
        for way in (_failed, _lost):
            await way(db, worker, given)
            assert left(db) == expected, (way.__name__, given)
