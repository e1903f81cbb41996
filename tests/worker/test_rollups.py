"""Workers count by the minute: each end once, whichever worker counts it, even after a failed write."""

import psycopg
import pytest

from pgsched.domain.histogram import BUCKETS
from pgsched.metrics.counters import Counters
from pgsched.observer import AttemptsEnded, QueueOutcome, Timed
from pgsched.scheduler import Worker
from pgsched.settings import Settings
from pgsched.store.core.connect import Link
from pgsched.store.live.rollups import EVERYBODY
from pgsched.telemetry import Events
from pgsched.upkeep.rollups import Rollups
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.settle.minute_counts import Minutes, with_everybody
from tests.worker.conftest import Connection, until_history
from tests.worker.test_observer import ONCE_MORE, an_app

MANY = """
insert into pgsched.executions (target, payload, fire_at, options, client_id)
select 'python:do', %s::jsonb, now() - interval '3 seconds', %s::jsonb, %s from generate_series(1, %s)"""
SUMS = """
select client_id, sum(succeeded)::int, sum(failed)::int, sum(attempts)::int, sum(failed_attempts)::int
  from pgsched.minutes group by client_id"""


def attempts(client: str, count: int = 1, *, queue: int = 0) -> AttemptsEnded:
    return AttemptsEnded(
        clients={
            QueueOutcome(queue, "succeeded", is_plain=True): [client] * count,
            QueueOutcome(queue, "released"): [client] * 7,
        },
        timed=[Timed(queue, client, 0.002, 0.5, count)],
    )


async def test_each_end_and_each_attempt_is_counted_once(db: Connection, database_url: str) -> None:
    await db.execute(MANY, ['"well"', None, "shop", 300])
    await db.execute(MANY, ['"well"', None, "bank", 5])
    await db.execute(MANY, ['"well"', '{"on_success": "python:do"}', "bank", 1])  # and one success of its on_success
    await db.execute(MANY, ['"fail"', None, "bank", 3])
    await db.execute(MANY, ['"retry"', ONCE_MORE, "shop", 2])
    counters = Counters()
    worker = Worker(
        Settings(database_url=database_url, concurrency=20), app=an_app(), events=Events(observers=[counters])
    )
    await worker.start()
    try:
        for status, count in (("succeeded", 307), ("failed", 5)):
            await until_history(db, count, status=status)
    finally:
        await worker.drain()
    found = {client: rest for client, *rest in await (await db.execute(SUMS)).fetchall()}
    assert found == {"shop": [300, 2, 304, 4], "bank": [7, 3, 10, 3], None: [307, 5, 314, 7]}
    timed = (
        "select sum(n), sum(n) filter (where bucket > %s)"
        " from pgsched.rollups, unnest(lateness) with ordinality h(n, bucket)"
    )
    counted = await (await db.execute(f"{timed} where client_id = ''", [BUCKETS.index(2.5) + 1])).fetchone()
    assert counted is not None
    assert counted[0] == 314
    assert counted[1] > 290  # the others are retries, and the on_success execution
    spread, names = counters.counts({}, {}).histograms, ("lateness", "queue_time", "worker_wait")
    late, unclaimed, waiting = (spread[f"pgsched_{name}_seconds"]["0",] for name in names)
    assert sum(late.counts) == sum(unclaimed.counts) == sum(waiting.counts) == 314
    assert unclaimed.total > 290 * 2.5
    assert waiting.total > 0.0
    assert late.total == pytest.approx(unclaimed.total + waiting.total)


def test_an_attempts_duration_is_recorded_even_if_no_execution_ends() -> None:
    minutes = Minutes(DatabaseClock(), lambda _: True)
    minutes.ended(AttemptsEnded(clients={}, timed=[Timed(0, "shop", 0.002, 0.5, 3)]))
    [counted] = minutes.take()
    assert (counted.client_id, counted.attempts, sum(counted.duration)) == (EVERYBODY, 0, 3)


async def test_a_failed_writes_counts_are_kept_for_the_next_turn(db: Connection, database_url: str) -> None:
    minutes, link = Minutes(DatabaseClock(), lambda _: True), Link(database_url, "upkeep")
    service = Rollups(link, Events(), minutes, queue_names=lambda: {0: "default"})
    minutes.ended(attempts("shop", 2))
    await db.execute("alter table pgsched.rollups rename to away")
    with pytest.raises(psycopg.Error):
        await service.turn()
    await db.execute("alter table pgsched.away rename to rollups")
    minutes.ended(attempts("shop"))
    assert await service.turn() == 5.0
    await link.drop()
    found = await (await db.execute(SUMS)).fetchall()
    assert sorted(found, key=str) == [("shop", 3, 0, 3, 0), (None, 3, 0, 3, 0)]


def test_only_the_busiest_unknown_clients_are_counted_separately(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgsched.worker.settle.minute_counts._MOST_STRANGERS", 2)
    minutes = Minutes(DatabaseClock(), {"known"}.__contains__)
    for client in ("a", "b", "c", "known", "c", "a"):  # b is the least busy
        minutes.ended(attempts(client))
    taken = minutes.take()
    assert {one.client_id: one.succeeded for one in taken} == {"a": 2, "c": 2, EVERYBODY: 1, "known": 1}
    [everybody] = [one for one in with_everybody(taken) if one.client_id == EVERYBODY]
    assert (everybody.attempts, sum(everybody.lateness)) == (6, 6)
    assert minutes.take() == []


def test_attempts_are_counted_by_minute_and_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = DatabaseClock()
    minutes, now = Minutes(clock, lambda _: True), [0]
    monkeypatch.setattr(clock, "now", lambda: now[0])
    for moment, queue in ((59_999_999, 0), (60_000_000, 0), (60_000_001, 1)):
        now[0] = moment
        minutes.ended(attempts("shop", queue=queue))
    assert [(one.minute, one.queue) for one in minutes.take()] == [(0, 0), (60_000_000, 0), (60_000_000, 1)]
