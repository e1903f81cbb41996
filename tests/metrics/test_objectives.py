"""What is counted of the attempts of clients that have an objective: each once, and never fewer than before."""

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
    """To so many minutes after noon, where time stands still."""
    db.execute(sql.SQL(_NOW).format(sql.Literal(str(_NOON + timedelta(minutes=minutes)))))


def put(db: Connection, client: str, *, ago: int = 0, queue: str = "default", on_time: int = 0, late: int = 0) -> None:
    db.execute(_PUT, {"ago": ago, "client": client, "queue": queue, "on_time": on_time, "late": late})


async def told(objectives: Objectives, database_url: str) -> dict[str, list[float]]:
    """Attempts, late ones and the share of each client, in a transaction of its own."""
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        counts = Counts()
        await objectives.add(connection, counts)
    found: dict[str, list[float]] = {}
    for values in counts.values.values():
        for (client,), value in values.items():
            found.setdefault(client, []).append(value)
    return found


async def test_attempts_are_counted_once_over_hours_of_asking(db: Connection, database_url: str) -> None:
    for client in ("bank", "idle", "shop"):
        db.execute(_OBJECTIVE, [client, "1s"])
    objectives, shop = Objectives(), [0.0, 0.0]
    put(db, "other", on_time=7)
    travel(db, 0)
    put(db, "shop", ago=1, on_time=7)  # before the API has begun to count
    for minutes in range(0, 130, 9):
        travel(db, minutes)
        put(db, "shop", on_time=5, late=3)
        assert (await told(objectives, database_url))["shop"][:2] == [shop[0] + 8, shop[1] + 3]
        put(db, "shop", ago=min(minutes, 4), queue="other", on_time=1, late=1)  # a worker adds what it did before
        shop = [shop[0] + 10, shop[1] + 4]
        found = await told(objectives, database_url)
        assert found == {"bank": [0, 0, 0.9], "idle": [0, 0, 0.9], "shop": [*shop, 0.9]}


async def test_a_count_does_not_go_back_when_the_objective_changes(db: Connection, database_url: str) -> None:
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


async def test_clients_without_an_objective_and_those_beyond_a_hundred_have_no_series(
    db: Connection, database_url: str
) -> None:
    for number in range(101):
        db.execute(_OBJECTIVE, [f"client-{number:03}", "1s"])
    found = await told(Objectives(), database_url)
    assert len(found) == 100
    assert "client-100" not in found
