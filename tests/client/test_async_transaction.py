"""schedule_async() inside a transaction of SQLAlchemy's async connection and session."""

import pytest
from psycopg import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
from sqlalchemy.pool import NullPool

from pgsched.client import schedule_async
from pgsched.errors import Conflict, InvalidInput, InvalidTarget, PgschedError


@pytest.mark.parametrize("kind", [AsyncConnection, AsyncSession])
@pytest.mark.parametrize("commits", [True, False])
async def test_it_is_scheduled_if_and_only_if_the_caller_commits(
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


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
@pytest.mark.parametrize(
    ("error", "says", "asked"),
    [
        (InvalidTarget, "write", {"target": "nowhere://x"}),
        (Conflict, "k", {"target": "notify:a", "key": "k", "on_conflict": "reject"}),
        (InvalidInput, "client", {"target": "notify:a", "client": ""}),
    ],
)
async def test_what_the_database_refuses_is_an_error_of_pgsched_over_each_driver(
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
