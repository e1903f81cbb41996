"""Settling: how rows end or wait again, that a stale token changes nothing, and what each client keeps."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import LONG_AGO, to_datetime, to_instant
from pgsched.store.live import executions, reaping
from pgsched.store.live.executions import AnsweredRow, Finished, Group, Lease, PartitionShare, Times
from tests.store.store_arrange import TARGET, column, counts, row, schedule, status, value
from tests.store.store_arrange import Connection as Session

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]


async def claimed(db: Session, worker: Connection, *, token: int = 7, owner: int = 1) -> list[ClaimedExecution]:
    """Lease everything that is due."""
    lease = Lease(owner=owner, token=token, length=timedelta(seconds=30), ahead=timedelta(0))
    shares = [PartitionShare(partition, LONG_AGO, 100) for partition in range(16)]
    return (await executions.claim(worker, lease, shares, now=0)).rows


async def one(db: Session, worker: Connection, **arguments: object) -> ClaimedExecution:
    """One leased row."""
    schedule(db, **{"fire_at": "2020-01-01Z", "client": "payments", **arguments})
    [found] = await claimed(db, worker)
    return found


def group(*rows: ClaimedExecution) -> Group:
    return Group([row.id for row in rows], [row.token for row in rows])


def stale(found: ClaimedExecution) -> ClaimedExecution:
    return found._replace(token=found.token - 1)


def finished(
    found: ClaimedExecution, ended: str = "failed", *, result: str | None = None, reason: str | None = "503"
) -> Finished:
    return Finished(found.id, found.token, ended, 503, result, reason, Times(LONG_AGO, 1.5))


async def settle(worker: Connection, how: str, found: ClaimedExecution) -> int:
    match how:
        case "succeeded":
            [answer] = await executions.settle_succeeded(worker, 200, {found.partition: group(found)})
            return answer.rowcount
        case "discarded":
            [answer] = await executions.settle_discarded(worker, {found.partition: group(found)})
            return answer.rowcount
        case "finished":
            answer = await executions.settle_finished(worker, found.partition, [finished(found)])
        case "retried":
            again = finished(found, reason="503 from shop.example")._replace(retryable=True, wait=60.0)
            answer = await executions.settle_finished(worker, found.partition, [again])
        case "released":
            return (await executions.release(worker, found.partition, group(found))).rowcount
        case _:
            return await executions.renew(worker, found.partition, group(found), timedelta(hours=1))
    return sum(count for count, _, _ in await answer.fetchall())


ALL = ["succeeded", "discarded", "finished", "retried", "released", "renewed"]


@pytest.mark.parametrize("how", ALL)
async def test_the_lease_holder_can_settle_its_row(db: Session, worker: Connection, how: str) -> None:
    assert await settle(worker, how, await one(db, worker)) == 1


@pytest.mark.parametrize("how", ALL)
async def test_settling_with_a_stale_token_changes_nothing(db: Session, worker: Connection, how: str) -> None:
    found = await one(db, worker)
    before = row(db, "select e::text from pgsched.executions e")
    assert await settle(worker, how, stale(found)) == 0
    assert row(db, "select e::text from pgsched.executions e") == before
    assert counts(db) == (1, 0, 0)
    assert value(db, "select count(*) from pgsched.attempts") == 0


async def test_a_succeeded_row_moves_to_history_unchanged(db: Session, worker: Connection) -> None:
    found = await one(db, worker, payload={"n": 1}, options={"timeout": "5s"}, key="k", ordering_key="o")
    await settle(worker, "succeeded", found)
    assert row(
        db,
        "select id, status::text, attempt, status_code, client_id, target, payload, options, key, ordering_key,"
        " scheduled_for = '2020-01-01Z', finished_at > created_at from pgsched.history",
    ) == (
        UUID(bytes=found.id),
        "succeeded",
        1,
        200,
        "payments",
        TARGET,
        {"n": 1},
        {"timeout": "5s"},
        "k",
        "o",
        True,
        True,
    )
    assert counts(db) == (0, 0, 1)


@pytest.mark.parametrize("how", ["answered", "finished"])
async def test_settled_rows_keep_the_times_and_worker_of_their_attempts(
    db: Session, worker: Connection, how: str
) -> None:
    for _ in range(20):
        schedule(db, fire_at="2020-01-01Z", ordering_key="together")
    rows = await claimed(db, worker, owner=3)
    noon = to_instant(datetime(2026, 3, 1, 12, tzinfo=UTC))
    times = {row.id: Times(noon + n * 1_000_000, n + 0.25) for n, row in enumerate(rows)}
    if how == "answered":
        answers = [AnsweredRow(row.id, row.token, 200, None, times[row.id]) for row in rows]
        await executions.settle_answered(worker, {rows[0].partition: answers})
    else:
        ends = [finished(row)._replace(times=times[row.id]) for row in rows]
        await executions.settle_finished(worker, rows[0].partition, ends)
    found = db.execute("select id, began_at, seconds, worker from pgsched.history").fetchall()
    assert {id.bytes: tuple(rest) for id, *rest in found} == {
        id: (to_datetime(began), seconds, 3) for id, (began, seconds) in times.items()
    }


@pytest.mark.parametrize(("began", "kept"), [("2019-12-31", "2020-01-01"), ("2020-01-02", "2020-01-02")])
async def test_short_attempts_share_times_but_none_begins_before_its_row_is_due(
    db: Session, worker: Connection, began: str, kept: str
) -> None:
    found = await one(db, worker)
    times = Times(to_instant(datetime.fromisoformat(f"{began}T00:00Z")), 0.005)
    await executions.settle_succeeded(worker, None, {found.partition: group(found)}, times)
    assert row(db, f"select began_at = '{kept}Z', seconds::text, worker from pgsched.history") == (True, "0.005", 1)


async def test_an_attempt_with_no_start_instant_began_with_the_transaction(db: Session, worker: Connection) -> None:
    found = await one(db, worker)
    await executions.settle_succeeded(worker, None, {found.partition: group(found)}, Times(LONG_AGO, 0.5))
    assert row(db, "select began_at = finished_at, seconds from pgsched.history") == (True, 0.5)


async def test_settling_a_batch_skips_rows_whose_lease_is_lost(db: Session, worker: Connection) -> None:
    for _ in range(3):
        schedule(db, fire_at="2020-01-01Z", ordering_key="together")
    rows = await claimed(db, worker)
    lost = UUID(bytes=rows[0].id)
    db.execute("update pgsched.executions set lease_token = 99 where id = %s", [lost])
    [answer] = await executions.settle_succeeded(worker, None, {rows[0].partition: group(*rows)})
    assert answer.rowcount == 2
    assert column(db, "select id from pgsched.executions") == [lost]


async def test_a_failed_row_keeps_its_reason_and_last_attempt(db: Session, worker: Connection) -> None:
    found = await one(db, worker)
    await settle(worker, "finished", found)
    assert row(db, "select status::text, status_code, reason, result from pgsched.history") == (
        "failed",
        503,
        "503",
        None,
    )
    assert row(
        db, "select execution_id, attempt, worker, status_code, error, duration, client_id from pgsched.attempts"
    ) == (UUID(bytes=found.id), 1, 1, 503, "503", timedelta(seconds=1.5), "payments")


async def test_a_result_is_stored_as_json(db: Session, worker: Connection) -> None:
    found = await one(db, worker)
    await executions.settle_finished(
        worker, found.partition, [finished(found, "succeeded", result='{"paid": [1, null]}', reason=None)]
    )
    assert row(db, "select status::text, result, reason from pgsched.history") == (
        "succeeded",
        {"paid": [1, None]},
        None,
    )
    assert value(db, "select count(*) from pgsched.attempts") == 0


async def test_rows_with_different_outcomes_are_settled_together(db: Session, worker: Connection) -> None:
    for _ in range(3):
        schedule(db, fire_at="2020-01-01Z", ordering_key="together")
    one, two, three = await claimed(db, worker)
    rows = [
        finished(one),
        finished(two, "succeeded", result="1", reason=None),
        finished(three, reason='it\'s "over" \\ {1}'),
    ]
    await executions.settle_finished(worker, one.partition, rows)
    assert dict(db.execute("select id, coalesce(reason, result::text) from pgsched.history").fetchall()) == {
        UUID(bytes=one.id): "503",
        UUID(bytes=two.id): "1",
        UUID(bytes=three.id): 'it\'s "over" \\ {1}',
    }


async def test_a_retried_row_waits_for_its_next_attempt(db: Session, worker: Connection) -> None:
    found = await one(db, worker)
    await settle(worker, "retried", found)
    assert row(
        db,
        "select status::text, attempt, worker, scheduled_for = '2020-01-01Z',"
        " fire_at between now() + interval '50 seconds' and now() + interval '60 seconds' from pgsched.status",
    ) == ("retrying", 1, None, True, True)
    assert row(db, "select attempt, worker, status_code, error, duration from pgsched.attempts") == (
        1,
        1,
        503,
        "503 from shop.example",
        timedelta(seconds=1.5),
    )


async def test_a_retrying_row_shows_its_error_until_it_is_claimed_again(db: Session, worker: Connection) -> None:
    found = await one(db, worker)
    await settle(worker, "retried", found)
    db.execute(
        "insert into pgsched.workers (name, queues, release, expires_at)"
        " values ('w', '{default}', '1', now() + interval '1 hour')"
    )
    assert value(db, "select reason from pgsched.status") == "503 from shop.example"
    db.execute("update pgsched.queues set paused_at = now()")
    assert value(db, "select reason from pgsched.status") == "waits: the queue is paused"
    db.execute("update pgsched.executions set fire_at = '2020-01-01Z'")
    await claimed(db, worker)
    assert row(db, "select status::text, reason from pgsched.status") == ("running", None)


async def test_releasing_a_row_undoes_its_claim(db: Session, worker: Connection) -> None:
    found = await one(db, worker)
    await settle(worker, "released", found)
    assert row(db, "select attempt, lease_owner, lease_token, lease_expires_at from pgsched.executions") == (
        0,
        None,
        None,
        None,
    )
    assert value(db, "select count(*) from pgsched.attempts") == 0


async def test_releasing_claims_releases_only_rows_with_the_given_tokens(db: Session, worker: Connection) -> None:
    found = await one(db, worker)
    edge = dict.fromkeys(range(16), LONG_AGO)
    assert await reaping.release_claims(worker, edge, [99], depth=100) == ({}, {})
    assert value(db, "select count(*) from pgsched.executions where lease_token is not null") == 1
    assert await reaping.release_claims(worker, edge, [found.token], depth=100) == ({}, {})
    assert status(db, UUID(bytes=found.id)) == "scheduled"


async def test_releasing_claims_skips_and_reports_a_locked_row(db: Session, worker: Connection, store_url: str) -> None:
    db.execute("truncate pgsched.executions")  # so that both rows have the same ctid, each in its partition
    mine, other = await one(db, worker), await one(db, worker)
    edge = dict.fromkeys(range(16), LONG_AGO)
    tokens = [mine.token, other.token]
    with psycopg.connect(store_url) as holder:
        holder.execute("select from pgsched.executions where id = %s for update", [UUID(bytes=mine.id)])
        found = await reaping.release_claims(worker, edge, tokens, depth=100)
        assert (found.read_to, list(found.locked)) == ({}, [mine.partition])
        assert status(db, UUID(bytes=other.id)) == "scheduled"
    assert await reaping.release_claims(worker, found.locked, tokens, depth=100) == ({}, {})
    assert status(db, UUID(bytes=mine.id)) == "scheduled"


async def test_renewing_a_lease_extends_it(db: Session, worker: Connection) -> None:
    await settle(worker, "renewed", await one(db, worker))
    assert value(db, "select lease_expires_at > now() + interval '50 minutes' from pgsched.executions")


async def test_renewing_skips_a_fresh_lease(db: Session, worker: Connection) -> None:
    found = await one(db, worker)
    assert await executions.renew(worker, found.partition, group(found), timedelta(seconds=30)) == 0
    db.execute("update pgsched.executions set lease_expires_at = lease_expires_at - interval '15 seconds'")
    assert await executions.renew(worker, found.partition, group(found), timedelta(seconds=30)) == 1


@pytest.mark.parametrize(
    ("keep", "how", "kept"),
    [
        ("all", "failed", 1),
        ("all", "succeeded", 1),
        ("failures", "failed", 1),
        ("failures", "succeeded", 0),
        ("failures", "expired", 1),
        ("nothing", "failed", 0),
        ("nothing", "succeeded", 0),
    ],
)
async def test_the_clients_keep_setting_decides_which_history_is_kept(
    db: Session, worker: Connection, keep: str, how: str, kept: int
) -> None:
    db.execute("insert into pgsched.clients (client_id, keep) values ('payments', %s)", [keep])
    found = await one(db, worker)
    await executions.settle_finished(worker, found.partition, [finished(found, how)])
    assert counts(db) == (0, 0, kept)


async def test_an_unbegun_attempt_of_an_expired_row_is_not_counted(db: Session, worker: Connection) -> None:
    found = await one(db, worker)
    end = finished(found, "expired", reason="late")._replace(status_code=None, times=None)
    await executions.settle_finished(worker, found.partition, [end])
    assert row(db, "select status::text, attempt, reason, began_at, worker from pgsched.history") == (
        "expired",
        0,
        "late",
        None,
        None,
    )
    assert value(db, "select count(*) from pgsched.attempts") == 0


async def test_a_failed_attempt_before_the_expiry_is_counted(db: Session, worker: Connection) -> None:
    found = await one(db, worker)
    await executions.settle_finished(worker, found.partition, [finished(found, "expired", reason="busy")])
    assert row(db, "select status::text, attempt, status_code from pgsched.history") == ("expired", 1, 503)
    assert row(db, "select attempt, error from pgsched.attempts") == (1, "busy")


async def test_an_ended_row_with_a_key_is_kept_even_if_the_client_keeps_nothing(
    db: Session, worker: Connection
) -> None:
    db.execute("insert into pgsched.clients (client_id, keep) values ('payments', 'nothing')")
    found = await one(db, worker, key="k")
    await executions.settle_finished(worker, found.partition, [finished(found, "succeeded")])
    assert schedule(db, client="payments", key="k") == UUID(bytes=found.id)


@pytest.mark.parametrize(("key", "kept"), [(None, 0), ("k", 1)])
async def test_discarding_a_row_keeps_only_its_key_in_history(
    db: Session, worker: Connection, key: str | None, kept: int
) -> None:
    found = await one(db, worker, key=key, payload={"n": 1})
    await settle(worker, "discarded", found)
    assert counts(db) == (0, 0, kept)
    assert column(db, "select payload from pgsched.history") == [None] * kept
