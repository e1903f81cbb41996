"""schedule_many() and schedule_many_async() inside the caller's transaction."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
from sqlalchemy.pool import NullPool

from pgsched.client import Request, schedule_many, schedule_many_async
from pgsched.errors import (
    Conflict,
    InvalidInput,
    InvalidOptions,
    InvalidPayload,
    InvalidSchedule,
    InvalidTarget,
    NotFound,
)
from tests.client.test_transaction import in_a_session, in_psycopg, in_psycopg_with_dicts, in_sqlalchemy

Connection = psycopg.Connection[tuple[Any, ...]]
Opens = Callable[[str], AbstractContextManager[Any]]
AT = datetime(2040, 3, 1, 9, tzinfo=UTC)
REFUSED: list[tuple[type[Exception], Any]] = [
    (InvalidTarget, {"target": "ftp://shop.example"}),
    (InvalidTarget, {"target": "ftp://shop.example", "key": "k"}),
    (InvalidInput, {"target": None}),
    (InvalidInput, {"target": "python:\x00"}),
    (InvalidInput, {"key": 7}),
    (InvalidInput, {"key": "\ud800"}),
    (InvalidInput, {"key": ""}),
    (InvalidInput, {"client": "c" * 101}),
    (InvalidInput, {"key": "k", "on_conflict": "merge"}),
    (InvalidInput, {"on_conflict": "keep"}),
    (InvalidOptions, {"options": {"retries": 3}}),
    (InvalidOptions, {"options": {"retries": 3}, "key": "k"}),
    (InvalidPayload, {"payload": {1, 2}}),
    (InvalidPayload, {"payload": "a\x00b"}),
    (InvalidPayload, {"payload": "x" * 1_048_576}),
    (InvalidSchedule, {"fire_at": datetime(2031, 3, 1)}),
    (InvalidSchedule, {"fire_at": AT, "delay": "1h"}),
    (InvalidSchedule, {"delay": "soon"}),
    (NotFound, {"queue": "nowhere"}),
]
"""Invalid requests and their errors, which do not depend on the other requests."""


@pytest.fixture(
    params=[in_psycopg, in_psycopg_with_dicts, in_sqlalchemy, in_a_session], ids=lambda opens: opens.__name__
)
def opens(request: pytest.FixtureRequest) -> Opens:
    found: Opens = request.param
    return found


def count(db: Connection) -> int:
    found = db.execute("select count(*) from pgsched.executions").fetchone()
    assert found is not None
    return int(found[0])


def numbered(first: int, last: int, **also: Any) -> Iterator[Request]:
    for n in range(first, last):
        asked: Any = {"target": "python:remind", "payload": {"n": n}, "fire_at": AT, **also}
        yield asked


def test_a_commit_schedules_all_requests(opens: Opens, database_url: str, db: Connection) -> None:
    with opens(database_url) as transaction:
        assert len(schedule_many(transaction, numbered(0, 1000))) == 1000
        assert count(db) == 0
    row = db.execute(
        "select count(distinct id), count(distinct payload -> 'n'), count(distinct partition), min(fire_at),"
        " max(fire_at), min(target), min(client_id) from pgsched.executions"
    ).fetchone()
    assert row == (1000, 1000, 16, AT, AT, "python:remind", "default")


def test_a_rollback_leaves_no_executions(opens: Opens, database_url: str, db: Connection) -> None:
    def give_up() -> None:
        with opens(database_url) as transaction:
            schedule_many(transaction, numbered(0, 10))
            schedule_many(transaction, numbered(0, 10, ordering_key="o"))
            raise LookupError("the order was not there after all")

    with pytest.raises(LookupError):
        give_up()
    assert count(db) == 0


def test_each_column_is_stored_as_requested(database_url: str, db: Connection) -> None:
    db.execute("insert into pgsched.queues values ('orders', 16)")
    db.execute("create table pgsched.executions_orders partition of pgsched.executions for values in"
               " (16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31)")  # fmt: skip
    requests: list[Request] = [
        {"target": "notify:a", "fire_at": AT},
        {"target": "notify:b", "fire_at": "2040-03-01T10:00:00+01:00", "client": "shop", "payload": ["ü"]},
        {"target": "notify:c", "fire_at": AT, "options": {"timeout": "5s"}, "key": "k", "ordering_key": "o"},
        {"target": "notify:d", "fire_at": AT, "queue": "orders", "payload": 0},
        {"target": "notify:e", "fire_at": AT, "labels": {"team": "mail"}},
    ]
    with psycopg.connect(database_url) as connection:
        assert len(schedule_many(connection, requests)) == 5
    found = db.execute(
        "select target, fire_at, client_id, payload, options, key, ordering_key, partition >> 4, labels"
        " from pgsched.executions order by target"
    ).fetchall()
    assert found == [
        ("notify:a", AT, "default", None, None, None, None, 0, None),
        ("notify:b", AT, "shop", ["ü"], None, None, None, 0, None),
        ("notify:c", AT, "default", None, {"timeout": "5s"}, "k", "o", 0, None),
        ("notify:d", AT, "default", 0, None, None, None, 1, None),
        ("notify:e", AT, "default", None, None, None, None, 0, {"team": "mail"}),
    ]


def test_a_delay_counts_from_the_start_of_the_transaction(database_url: str, db: Connection) -> None:
    with psycopg.connect(database_url) as connection:
        start = connection.execute("select now()").fetchone()
        schedule_many(connection, [{"target": "notify:a", "delay": "1h"}, {"target": "notify:b"}])
    assert start is not None
    instants = [row[0] for row in db.execute("select fire_at from pgsched.executions order by target desc")]
    assert instants == [start[0], start[0] + timedelta(hours=1)]


def test_ids_are_uuidv7_in_the_order_of_the_requests(database_url: str, db: Connection) -> None:
    with psycopg.connect(database_url) as connection:
        schedule_many(connection, numbered(0, 600))
    rows = db.execute("select id, payload ->> 'n' from pgsched.executions order by id").fetchall()
    assert {(id.version, id.variant) for id, _ in rows} == {(7, "specified in RFC 4122")}
    assert [int(n) for _, n in rows] == list(range(600))


@pytest.mark.parametrize(
    ("kind", "asked"),
    REFUSED,
    ids=lambda value: value.__name__ if isinstance(value, type) else ",".join(value),
)
def test_one_invalid_request_fails_the_whole_call(module_url: str, kind: type[Exception], asked: Any) -> None:
    with pytest.raises(kind) as raised, psycopg.connect(module_url) as connection:
        schedule_many(connection, [*numbered(0, 300), *numbered(0, 1, **asked)])
    assert type(raised.value) is kind
    with psycopg.connect(module_url) as connection:
        assert count(connection) == 0


def test_an_unknown_request_field_raises_type_error(database_url: str, db: Connection) -> None:
    with pytest.raises(TypeError, match="cron"), psycopg.connect(database_url) as connection:
        schedule_many(connection, [{"target": "notify:a", "cron": "* * * * *"}])  # type: ignore[typeddict-unknown-key]
    assert count(db) == 0


def test_a_conflict_names_the_taken_key(database_url: str, db: Connection) -> None:
    with psycopg.connect(database_url) as connection:
        schedule_many(connection, numbered(0, 1, key="settle-42"))
    named = "'settle-42' of client 'default'.*call pgsched.schedule"
    with pytest.raises(Conflict, match=named), psycopg.connect(database_url) as again:
        schedule_many(again, [*numbered(0, 10), *numbered(0, 1, key="settle-42")])
    assert count(db) == 1


def test_a_key_scheduled_in_bulk_is_found_by_the_schedule_function(database_url: str, db: Connection) -> None:
    requests = (Request(target="notify:a", fire_at=AT, key=f"k{n}") for n in range(6000))
    with psycopg.connect(database_url) as connection:
        assert len(schedule_many(connection, requests)) == 6000
        first = connection.execute("select id from pgsched.executions where key = 'k5999'").fetchone()
        again = connection.execute("select pgsched.schedule('notify:b', key => 'k5999')").fetchone()
    assert first == again
    assert count(db) == 6000


def test_ids_are_returned_in_the_order_of_the_requests(database_url: str, db: Connection) -> None:
    requests = [*numbered(0, 300), *numbered(300, 302, ordering_key="o"), *numbered(302, 304)]
    requests[7:7] = [*numbered(400, 401, key="k"), *numbered(401, 402, key="m", on_conflict="keep")]
    with psycopg.connect(database_url) as connection:
        ids = schedule_many(connection, requests)
    found: dict[Any, Any] = dict(db.execute("select id, payload -> 'n' from pgsched.executions").fetchall())
    assert [found[id] for id in ids] == [asked["payload"]["n"] for asked in requests]
    assert ids[-2:] == [ids[len(ids) - 2], ids[-1]]


def test_the_on_conflict_option_decides_the_outcome_for_a_taken_key(database_url: str, db: Connection) -> None:
    def asked(n: int, key: str, on_conflict: str) -> Request:
        return {"target": "python:remind", "payload": n, "fire_at": AT, "key": key, "on_conflict": on_conflict}

    with psycopg.connect(database_url) as connection:
        first = schedule_many(connection, [asked(0, "a", "reject"), asked(1, "b", "replace")])
        again = schedule_many(connection, [asked(2, "a", "keep"), asked(3, "b", "replace"), asked(4, "b", "replace")])
    assert [*again] == [first[0], first[1], first[1]]
    assert db.execute("select payload from pgsched.executions order by key").fetchall() == [(0,), (4,)]
    with pytest.raises(Conflict, match="'a'"), psycopg.connect(database_url) as connection:
        schedule_many(connection, [*numbered(0, 10), asked(5, "a", "reject")])
    assert count(db) == 2


def test_a_call_in_autocommit_mode_is_atomic(database_url: str, db: Connection) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        assert len(schedule_many(connection, numbered(0, 10))) == 10
        with pytest.raises(NotFound):
            schedule_many(connection, [*numbered(0, 10), *numbered(0, 6000, queue="nowhere")])
    assert count(db) == 10


def test_an_empty_list_schedules_nothing(database_url: str, db: Connection) -> None:
    with psycopg.connect(database_url) as connection:
        assert len(schedule_many(connection, [])) == 0
    assert count(db) == 0


def test_row_level_security_limits_a_role_to_its_own_client(database_url: str, db: Connection) -> None:
    role = f"pgsched_test_{secrets.token_hex(6)}"
    db.execute(sql.SQL("create role {} login in role pgsched_client").format(sql.Identifier(role)))
    db.execute("insert into pgsched.clients (client_id, database_role) values ('shop', %s)", [role])
    try:
        with psycopg.connect(database_url) as connection:
            connection.execute(sql.SQL("set session authorization {}").format(sql.Identifier(role)))
            connection.commit()
            assert len(schedule_many(connection, numbered(0, 300, client="shop"))) == 300
            connection.commit()
            with pytest.raises(Exception, match="row-level security"):
                schedule_many(connection, numbered(0, 1, client="billing"))
    finally:
        db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))
    assert count(db) == 300


def test_text_is_stored_correctly_with_a_latin1_client_encoding(database_url: str, db: Connection) -> None:
    requests: list[Request] = [
        {"target": "notify:a", "payload": "ü", "client": "ü"},
        {"target": "notify:a", "payload": "ü", "client": "ü", "key": "ü"},
    ]
    with psycopg.connect(database_url, client_encoding="latin1") as connection:
        schedule_many(connection, requests)
    assert db.execute("select distinct payload, client_id from pgsched.executions").fetchall() == [("ü", "ü")]


def test_thousands_of_requests_spread_over_all_partitions(database_url: str, db: Connection) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        assert len(schedule_many(connection, numbered(0, 20_000))) == 20_000
    found = db.execute(
        "select count(distinct id), count(distinct payload -> 'n'), count(distinct partition) from pgsched.executions"
    ).fetchone()
    assert found == (20_000, 20_000, 16)


def test_many_large_payloads_are_scheduled_in_one_call(database_url: str, db: Connection) -> None:
    requests = (Request(target="python:remind", payload="x" * 500_000, fire_at=AT) for _ in range(60))
    with psycopg.connect(database_url) as connection:
        assert len(schedule_many(connection, requests)) == 60
    assert count(db) == 60


@pytest.mark.parametrize(("delay", "heard"), [(0, True), (60, False)])
def test_workers_are_notified_of_executions_due_soon(
    database_url: str, db: Connection, delay: int, heard: bool
) -> None:
    db.execute("listen pgsched_wake")
    asked: Any = {"target": "python:remind", "delay": timedelta(seconds=delay)}
    with psycopg.connect(database_url) as connection:
        schedule_many(connection, (asked for _ in range(5_000)))
        assert [*db.notifies(timeout=0.2)] == []
    partitions: set[int] = set()
    for notification in db.notifies(timeout=10 if heard else 0.3):
        partitions |= {int(item.partition("@")[0]) for item in notification.payload.split(",")}
        if len(partitions) == 16:
            break
    assert partitions == (set(range(16)) if heard else set())


def test_a_role_without_rights_on_the_partitions_can_schedule(database_url: str, db: Connection) -> None:
    role = sql.Identifier(f"pgsched_test_{secrets.token_hex(6)}")
    db.execute(sql.SQL("create role {} bypassrls").format(role))
    db.execute(sql.SQL("grant usage on schema pgsched to {}").format(role))
    db.execute(sql.SQL("grant select, insert on pgsched.executions to {}").format(role))
    db.execute(sql.SQL("grant execute on all functions in schema pgsched, pgsched_internal to {}").format(role))
    try:
        with psycopg.connect(database_url) as connection:
            connection.execute(sql.SQL("set role {}").format(role))
            assert len(schedule_many(connection, numbered(0, 5_000))) == 5_000
    finally:
        db.execute(sql.SQL("drop owned by {}").format(role))
        db.execute(sql.SQL("drop role {}").format(role))
    assert count(db) == 5_000


async def test_schedule_many_async_obeys_commit_and_rollback(database_url: str, db: Connection) -> None:
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        assert len(await schedule_many_async(connection, numbered(0, 10))) == 10
        await connection.rollback()
        assert len(await schedule_many_async(connection, [*numbered(0, 6000), *numbered(0, 1, key="k")])) == 6001
    assert count(db) == 6001


@pytest.mark.parametrize("kind", [AsyncConnection, AsyncSession])
@pytest.mark.parametrize("commits", [True, False])
async def test_async_sqlalchemy_requests_exist_only_if_the_caller_commits(
    database_url: str, db: Connection, kind: type, commits: bool
) -> None:
    url = database_url.replace("postgresql://", "postgresql+psycopg://", 1)
    engine = create_async_engine(url, poolclass=NullPool)
    async with engine.connect() as connection:
        caller = AsyncSession(connection) if kind is AsyncSession else connection
        await schedule_many_async(caller, numbered(0, 10))
        await (caller.commit() if commits else caller.rollback())
        if isinstance(caller, AsyncSession):
            await caller.close()
    await engine.dispose()
    assert count(db) == (10 if commits else 0)


async def test_an_unsuitable_connection_is_named_in_the_error(database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        with pytest.raises(TypeError, match="AsyncConnection needs schedule_many_async"):
            schedule_many(connection, [])
    with psycopg.connect(database_url) as blocking, pytest.raises(TypeError, match="needs schedule_many"):
        await schedule_many_async(blocking, [])
    other = sa.create_engine("sqlite://")
    with pytest.raises(TypeError, match="psycopg 3"), other.connect() as connection:
        schedule_many(connection, [])
    other.dispose()
