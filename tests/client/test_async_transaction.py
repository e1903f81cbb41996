"""schedule_async() in the transaction of a SQLAlchemy async connection or session, or of an asyncpg connection."""

import json
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from psycopg import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
from sqlalchemy.pool import NullPool

from pgsched.client import schedule_async
from pgsched.errors import Conflict, InvalidInput, InvalidTarget, PgschedError, Unavailable


@pytest.mark.parametrize("kind", [AsyncConnection, AsyncSession])
@pytest.mark.parametrize("commits", [True, False])
async def test_an_execution_exists_only_if_the_caller_commits(
    database_url: str, db: Connection[tuple[int]], kind: type, commits: bool
) -> None:
    url = database_url.replace("postgresql://", "postgresql+psycopg://", 1)
    engine = create_async_engine(url, poolclass=NullPool)
    async with engine.connect() as connection:
        caller = AsyncSession(connection) if kind is AsyncSession else connection
        await schedule_async(caller, "https://shop.example/settle", payload={"order": 42})
        await (caller.commit() if commits else caller.rollback())
        if isinstance(caller, AsyncSession):
            await caller.close()
    await engine.dispose()
    assert db.execute("select count(*) from pgsched.executions").fetchone() == (int(commits),)


@pytest.mark.parametrize("commits", [True, False])
async def test_executions_and_jobs_over_asyncpg_exist_only_after_a_commit(
    database_url: str, db: Connection[tuple[object, ...]], commits: bool
) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)
    transaction = connection.transaction()
    await transaction.start()
    id = await schedule_async(
        connection,
        "https://shop.example/settle",
        payload={"order": 42},
        delay=timedelta(minutes=10),
        key="settle-42",
        options={"timeout": "5s"},
    )
    await schedule_async(connection, "notify:a", fire_at=datetime(2031, 3, 1, tzinfo=UTC), after=[id])
    await schedule_async(connection, "notify:a", cron="0 9 * * *", timezone="Europe/Berlin", labels={"team": "pay"})
    await (transaction.commit() if commits else transaction.rollback())
    await connection.close()
    found = db.execute("select payload, options ->> 'timeout' from pgsched.status where key = 'settle-42'").fetchall()
    assert found == ([({"order": 42}, "5s")] if commits else [])
    counts = "select (select count(*) from pgsched.jobs), (select count(*) from pgsched.status)"
    assert db.execute(counts).fetchone() == ((1, 2) if commits else (0, 0))


async def test_a_pooled_asyncpg_connection_schedules_and_raises_pgsched_errors(
    database_url: str, db: Connection[tuple[object, ...]]
) -> None:
    async with asyncpg.create_pool(database_url, min_size=1, max_size=1) as pool, pool.acquire() as connection:
        await schedule_async(connection, "notify:a", key="k", delay="1h")
        with pytest.raises(Conflict, match="k"):
            await schedule_async(connection, "notify:a", key="k", delay="1h", on_conflict="reject")
    with pytest.raises(Unavailable):
        await schedule_async(connection, "notify:a")
    assert db.execute("select count(*) from pgsched.executions").fetchone() == (1,)


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
@pytest.mark.parametrize(
    ("error", "says", "asked"),
    [
        (InvalidTarget, "write", {"target": "nowhere://x"}),
        (Conflict, "k", {"target": "notify:a", "key": "k", "on_conflict": "reject"}),
        (InvalidInput, "client", {"target": "notify:a", "client": ""}),
    ],
)
async def test_each_driver_turns_a_database_refusal_into_a_pgsched_error(
    database_url: str, driver: str, error: type[PgschedError], says: str, asked: dict[str, str]
) -> None:
    engine = create_async_engine(
        database_url.replace("postgresql://", f"postgresql+{driver}://", 1), poolclass=NullPool
    )
    async with engine.connect() as connection:
        await schedule_async(connection, "notify:a", key="k", delay="1h")
        with pytest.raises(error, match=says) as raised:
            await schedule_async(connection, **{"delay": "1h", **asked})  # type: ignore[arg-type]
        assert type(raised.value) is error
    await engine.dispose()
