"""schedule() and schedule_async() inside the caller's transaction."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.rows import dict_row
from sqlalchemy.orm import Session

from pgsched.client import schedule, schedule_async, schedule_outcome
from pgsched.errors import (
    Conflict,
    InvalidInput,
    InvalidOptions,
    InvalidPayload,
    InvalidSchedule,
    InvalidTarget,
    NotFound,
    Unavailable,
)

Connection = psycopg.Connection[tuple[Any, ...]]
Opens = Callable[[str], AbstractContextManager[Any]]


def engine_of(url: str) -> sa.Engine:
    return sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1), poolclass=sa.NullPool)


@contextmanager
def in_psycopg(url: str) -> Iterator[Any]:
    with psycopg.connect(url) as connection:
        yield connection


@contextmanager
def in_psycopg_with_dicts(url: str) -> Iterator[Any]:
    with psycopg.connect(url, row_factory=dict_row) as connection:
        yield connection


@contextmanager
def in_sqlalchemy(url: str) -> Iterator[Any]:
    with engine_of(url).begin() as connection:
        yield connection


@contextmanager
def in_a_session(url: str) -> Iterator[Any]:
    with Session(engine_of(url)) as session, session.begin():
        yield session


@pytest.fixture(
    params=[in_psycopg, in_psycopg_with_dicts, in_sqlalchemy, in_a_session], ids=lambda opens: opens.__name__
)
def opens(request: pytest.FixtureRequest) -> Opens:
    found: Opens = request.param
    return found


def executions(db: Connection) -> list[tuple[Any, ...]]:
    return db.execute("select id, target, payload, key, client_id, options from pgsched.executions").fetchall()


def test_an_execution_exists_after_the_commit(opens: Opens, database_url: str, db: Connection) -> None:
    with opens(database_url) as transaction:
        made = schedule(
            transaction, "notify:a", payload={"n": [1]}, key="k", client="shop", options={"timeout": "5s"}, delay="1h"
        )
        assert executions(db) == []
    assert isinstance(made, UUID)
    assert executions(db) == [(made, "notify:a", {"n": [1]}, "k", "shop", {"timeout": "5s"})]


def test_a_rollback_leaves_no_executions(opens: Opens, database_url: str, db: Connection) -> None:
    def give_up() -> None:
        with opens(database_url) as transaction:
            schedule(transaction, "notify:a")
            raise LookupError("the order was not there after all")

    with pytest.raises(LookupError):
        give_up()
    assert executions(db) == []


def test_a_refusal_by_the_database_raises_a_pgsched_error(opens: Opens, database_url: str) -> None:
    with pytest.raises(InvalidTarget, match="write one of"), opens(database_url) as transaction:
        schedule(transaction, "ftp://shop.example")


def test_a_job_can_be_scheduled_in_a_transaction(opens: Opens, database_url: str, db: Connection) -> None:
    with opens(database_url) as transaction:
        made = schedule(transaction, "notify:a", cron="30 2 * * *", timezone="Europe/Berlin")
    assert db.execute("select id, cron, timezone from pgsched.jobs").fetchall() == [
        (made, "30 2 * * *", "Europe/Berlin")
    ]


def test_a_predecessor_may_be_scheduled_in_the_same_transaction(
    opens: Opens, database_url: str, db: Connection
) -> None:
    with opens(database_url) as transaction:
        first = schedule(transaction, "notify:a", key="first")
        last = schedule(transaction, "notify:b", after=[first, "first"], after_outcome="any")
    found = db.execute("select execution_id, after_id, outcome from pgsched.dependencies").fetchall()
    assert found == [(last, first, "any")]


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        (NotFound, {"after": ["nothing"]}),
        (InvalidInput, {"after": "nothing"}),
        (InvalidOptions, {"options": {"retries": 3}}),
        (InvalidPayload, {"payload": "a\x00b"}),
        (InvalidPayload, {"payload": {1, 2}}),
        (InvalidSchedule, {"cron": "61 * * * *"}),
        (InvalidSchedule, {"fire_at": datetime(2031, 3, 1)}),
        *((InvalidSchedule, {name: None}) for name in ("fire_at", "delay", "cron", "every")),
        (InvalidInput, {"key": "k" * 201}),
        (InvalidInput, {"key": "a\x00b"}),
        (NotFound, {"queue": "nowhere"}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else ",".join(value),
)
def test_each_invalid_argument_raises_the_matching_error(module_url: str, kind: type[Exception], asked: Any) -> None:
    with pytest.raises(kind) as raised, psycopg.connect(module_url) as connection:
        schedule(connection, "notify:a", **asked)
    assert type(raised.value) is kind


def test_an_instant_is_stored_correctly_whatever_its_offset(database_url: str, db: Connection) -> None:
    with psycopg.connect(database_url) as connection:
        schedule(connection, "notify:a", fire_at="2031-03-01T10:00:00+01:00")
        schedule(connection, "notify:a", every=timedelta(hours=1))
    assert db.execute("select fire_at from pgsched.executions").fetchall() == [(datetime(2031, 3, 1, 9, tzinfo=UTC),)]
    assert db.execute("select every from pgsched.jobs").fetchall() == [(timedelta(hours=1),)]


def test_a_closed_connection_raises_unavailable(database_url: str) -> None:
    connection = psycopg.connect(database_url)
    connection.close()
    with pytest.raises(Unavailable, match="cannot be reached"):
        schedule(connection, "notify:a")


async def test_schedule_async_obeys_commit_and_rollback(database_url: str, db: Connection) -> None:
    async with await psycopg.AsyncConnection.connect(database_url, row_factory=dict_row) as connection:
        await schedule_async(connection, "notify:a")
        await connection.rollback()
        kept = await schedule_async(connection, "notify:b", payload=[1])
    assert executions(db) == [(kept, "notify:b", [1], None, "default", None)]


async def test_schedule_async_raises_invalid_target(database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        with pytest.raises(InvalidTarget, match="write one of"):
            await schedule_async(connection, "ftp://shop.example")


async def test_the_error_for_a_mismatched_connection_names_the_right_function(database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        with pytest.raises(TypeError, match="AsyncConnection needs schedule_async"):
            schedule(connection, "notify:a")
    with psycopg.connect(database_url) as blocking, pytest.raises(TypeError, match="Connection needs schedule"):
        await schedule_async(blocking, "notify:a")


def test_an_object_that_is_not_a_connection_is_named_in_the_error() -> None:
    with pytest.raises(TypeError, match="str has no execute"):
        schedule("postgresql://", "notify:a")  # type: ignore[arg-type]


def test_a_taken_key_is_refused_with_on_conflict_reject(database_url: str, opens: Opens) -> None:
    with opens(database_url) as connection:
        schedule(connection, "python:a", key="k")
    with pytest.raises(Conflict, match="taken by execution"), opens(database_url) as connection:
        schedule(connection, "python:a", key="k", on_conflict="reject")


def test_the_outcome_says_whether_an_execution_was_created(opens: Opens, database_url: str, db: Connection) -> None:
    with opens(database_url) as transaction:
        first = schedule_outcome(transaction, "https://shop.example/settle", key="k", fire_at="2040-03-01T09:00:00Z")
        again = schedule_outcome(transaction, "https://shop.example/settle", key="k", on_conflict="keep")
    assert (first.outcome, again.outcome) == ("created", "existing")
    assert (first.id, first.fire_at) == (again.id, again.fire_at)
    assert executions(db)[0][0] == first.id
