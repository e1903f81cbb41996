"""Attempts of clients with an objective: each attempt is counted once, and counts never decrease."""

from datetime import UTC, datetime, timedelta

import psycopg
from psycopg import sql

from pgsched.metrics.counts import Counts
from pgsched.metrics.objectives import Objectives
from tests.conftest import Connection

_OBJECTIVE = """select pgsched.set_client(%s, jsonb_build_object('late_after', %s::text, 'on_time_share', 0.9))"""
_PUT = """
insert into pgsched.rollups (minute, client_id, queue, lateness)
select date_trunc('minute', pgsched.now()) - make_interval(mins => %(ago)s), %(client)s, %(queue)s,
       array_fill(0, array[9]) || array[%(on_time)s, 0, %(late)s] || array_fill(0, array[6])"""
_NOW = "create or replace function pgsched.now() returns timestamptz language sql stable return {}::timestamptz"
_NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def travel(db: Connection, minutes: int) -> None:
    """Sets the clock to ``minutes`` after noon and stops it there."""
    db.execute(sql.SQL(_NOW).format(sql.Literal(str(_NOON + timedelta(minutes=minutes)))))


def put(db: Connection, client: str, *, ago: int = 0, queue: str = "default", on_time: int = 0, late: int = 0) -> None:
    db.execute(_PUT, {"ago": ago, "client": client, "queue": queue, "on_time": on_time, "late": late})


async def told(objectives: Objectives, database_url: str) -> dict[str, list[float]]:
    """Returns attempts, late attempts and target share by client, read in a separate transaction."""
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        counts = Counts()
        await objectives.add(connection, counts)
    found: dict[str, list[float]] = {}
    for values in counts.values.values():
        for (client,), value in values.items():
            found.setdefault(client, []).append(value)
    return found


async def test_each_attempt_is_counted_once_over_hours_of_scrapes(db: Connection, database_url: str) -> None:
    for client in ("bank", "idle", "shop"):
        db.execute(_OBJECTIVE, [client, "1s"])
    objectives, shop = Objectives(), [0.0, 0.0]
    put(db, "other", on_time=7)
    travel(db, 0)
    put(db, "shop", ago=1, on_time=7)  # before the API began to count
    for minutes in range(0, 130, 9):
        travel(db, minutes)
        put(db, "shop", on_time=5, late=3)
        assert (await told(objectives, database_url))["shop"][:2] == [shop[0] + 8, shop[1] + 3]
        put(db, "shop", ago=min(minutes, 4), queue="other", on_time=1, late=1)  # a worker adds its earlier counts late
        shop = [shop[0] + 10, shop[1] + 4]
        found = await told(objectives, database_url)
        assert found == {"bank": [0, 0, 0.9], "idle": [0, 0, 0.9], "shop": [*shop, 0.9]}


async def test_changing_an_objective_never_decreases_a_count(db: Connection, database_url: str) -> None:
    objectives = Objectives()
    travel(db, 0)
    db.execute(_OBJECTIVE, ["shop", "1s"])
    put(db, "shop", on_time=5, late=4)
    assert (await told(objectives, database_url))["shop"] == [9, 4, 0.9]
    db.execute(_OBJECTIVE, ["shop", "10s"])
    assert (await told(objectives, database_url))["shop"] == [9, 4, 0.9]
    for minutes, attempts in ((30, 9), (60, 10)):
        travel(db, minutes)
        assert (await told(objectives, database_url))["shop"] == [attempts, 4, 0.9]
        put(db, "shop", on_time=1)


async def test_at_most_a_hundred_clients_with_objectives_have_series(db: Connection, database_url: str) -> None:
    for number in range(101):
        db.execute(_OBJECTIVE, [f"client-{number:03}", "1s"])
    found = await told(Objectives(), database_url)
    assert len(found) == 100
    assert "client-100" not in found
