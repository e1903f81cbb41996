"""Assertions about what is scheduled, and inline mode."""

from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

import pgsched
from pgsched.errors import InvalidInput
from pgsched.testing import Kit, kit
from tests.testing.conftest import Calls

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def session(database_url: str) -> Any:
    engine = create_engine(database_url.replace("postgresql://", "postgresql+psycopg://"))
    with Session(engine) as session:
        yield session
    engine.dispose()


def test_assert_scheduled_matches_scheduled_executions_and_jobs(pgsched_kit: Kit, db: Connection) -> None:
    pgsched.schedule(db, "python:ship", payload={"order": 42}, delay="1d", key="ship-42")
    pgsched.schedule(db, "python:count", every="15m", key="poll")
    found = pgsched_kit.assert_scheduled("python:ship", key="ship-42", payload={"order": 42}, delay="1d")
    pgsched_kit.assert_scheduled("python:ship", fire_at=found.fire_at, payload=lambda payload: payload["order"] > 40)
    assert pgsched_kit.assert_scheduled("python:count", every="15m").fire_at is None
    pgsched_kit.assert_not_scheduled("python:ship", key="ship-43")


def test_a_failed_assertion_lists_scheduled_rows_and_differences(pgsched_kit: Kit, db: Connection) -> None:
    pgsched.schedule(db, "python:ship", payload={"order": 41}, fire_at="2031-03-01T12:00:00Z", key="ship-41")
    with pytest.raises(AssertionError) as caught:
        pgsched_kit.assert_scheduled("python:ship", payload={"order": 42}, fire_at="2031-03-01T13:00:00Z")
    assert str(caught.value).splitlines() == [
        "nothing that is scheduled matches. Expected:",
        "  target  python:ship",
        '  payload {"order":42}',
        "  fire_at 2031-03-01T13:00:00+00:00, within PT5S",
        "Scheduled:",
        "  python:ship key='ship-41' client='default' fire_at=2031-03-01T12:00:00+00:00 payload={\"order\":41}",
        "    differs in payload, fire_at",
    ]
    with pytest.raises(AssertionError, match="scheduled, but should not be"):
        pgsched_kit.assert_not_scheduled("python:ship")


def test_a_failed_assertion_says_that_nothing_is_scheduled(pgsched_kit: Kit) -> None:
    with pytest.raises(AssertionError, match=r"nothing is scheduled\. Expected:\n  target  python:ship"):
        pgsched_kit.assert_scheduled("python:ship")


def test_assertions_on_a_connection_see_its_uncommitted_executions(
    pgsched_kit: Kit, database_url: str, session: Session
) -> None:
    with psycopg.connect(database_url) as connection:
        pgsched.schedule(connection, "python:ship", key="a")
        pgsched_kit.assert_scheduled("python:ship", key="a", connection=connection)
        pgsched_kit.assert_not_scheduled("python:ship")
        connection.rollback()
    pgsched.schedule(session, "python:ship", payload={"b": 1})
    pgsched_kit.assert_scheduled("python:ship", payload={"b": 1}, connection=session)


def test_inline_mode_runs_due_executions_immediately_without_storing_them(
    pgsched_kit: Kit, db: Connection, session: Session, calls: Calls
) -> None:
    with pgsched_kit.inline():
        pgsched.schedule(db, "python:ship", payload={"order": 42})
        pgsched.schedule(session, "python:count", payload=2)
        assert calls == [("ship", {"order": 42}), ("count", 2)]
        session.commit()
        with pytest.raises(ValueError, match="out of paper"):
            pgsched.schedule(db, "python:break")
        pgsched.schedule(db, "python:count", delay="1d")
    [later] = pgsched_kit.scheduled()
    assert later.target == "python:count"
    pgsched.schedule(db, "python:count", payload=3)
    assert len(calls) == 2


def test_inline_schedule_calls_are_validated_by_the_database(pgsched_kit: Kit, db: Connection) -> None:
    with pgsched_kit.inline(), pytest.raises(InvalidInput, match="no handler 'nobody'"):
        pgsched.schedule(db, "python:nobody")
    with pgsched_kit.inline(), pytest.raises(InvalidInput):
        pgsched.schedule(db, "python:ship", options={"timeout": "never"})
    with pgsched_kit.inline(), pytest.raises(InvalidInput, match="takes the connection"):
        pgsched.schedule(db, "python:book")


async def test_inline_handlers_write_in_the_async_callers_transaction(
    pgsched_kit: Kit, database_url: str, db: Connection
) -> None:
    db.execute("create table bookings (n integer)")
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        with pgsched_kit.inline():
            await pgsched.schedule_async(connection, "python:book", payload=7)
        await connection.rollback()
    assert db.execute("select n from bookings").fetchall() == []


async def test_inline_handlers_run_when_scheduled_over_asyncpg(
    pgsched_kit: Kit, database_url: str, calls: Calls
) -> None:
    connection = await asyncpg.connect(database_url)
    with pgsched_kit.inline():
        await pgsched.schedule_async(connection, "python:ship", payload={"order": 7})
    await connection.close()
    assert calls == [("ship", {"order": 7})]
    assert pgsched_kit.scheduled() == []


def test_only_the_fixtures_module_imports_pytest() -> None:
    needing = [path.name for path in Path(kit.__file__).parent.glob("*.py") if "import pytest" in path.read_text()]
    assert needing == ["fixtures.py"]
