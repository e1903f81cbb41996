"""schedule_many_async() on an asyncpg connection: alone, from a pool and under SQLAlchemy."""

import json
import secrets
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import asyncpg
import psycopg
import pytest
from psycopg import sql
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
from sqlalchemy.pool import NullPool

from pgsched.client import Request, schedule_many_async
from pgsched.errors import Conflict, NotFound, Unavailable
from tests.client.test_many import AT, REFUSED, count, numbered

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@pytest.mark.parametrize("commits", [True, False])
async def test_requests_exist_only_if_the_caller_commits(connection: Any, db: Connection, commits: bool) -> None:
    requests = [*numbered(0, 600), *numbered(600, 602, ordering_key="o"), *numbered(602, 603, key="k")]
    transaction = connection.transaction()
    await transaction.start()
    start = await connection.fetchval("select now()")
    ids = await schedule_many_async(connection, [*requests, {"target": "notify:a", "delay": "1h"}])
    assert connection.is_in_transaction()
    await (transaction.commit() if commits else transaction.rollback())
    found: dict[Any, Any] = dict(db.execute("select id, payload -> 'n' from pgsched.executions").fetchall())
    assert [found[id] for id in ids] == [*range(603), None] if commits else found == {}
    late = db.execute("select fire_at from pgsched.executions where id = %s", [ids[-1]]).fetchall()
    assert late == ([(start + timedelta(hours=1),)] if commits else [])


async def test_each_column_is_stored_despite_a_custom_jsonb_codec(connection: Any, db: Connection) -> None:
    await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)
    requests: list[Request] = [
        {"target": "notify:a", "fire_at": AT, "client": "shop", "payload": ["ü"], "options": {"timeout": "5s"}},
        {
            "target": "notify:b",
            "fire_at": AT,
            "payload": "ü",
            "key": "k",
            "ordering_key": "o",
            "labels": {"team": "mail"},
        },
        {"target": "notify:c", "fire_at": AT, "options": {"timeout": "5s"}, "key": "m", "on_conflict": "keep"},
    ]
    await schedule_many_async(connection, requests)
    found = db.execute(
        "select target, fire_at, client_id, payload, options, key, ordering_key, labels"
        " from pgsched.executions order by target"
    ).fetchall()
    assert found == [
        ("notify:a", AT, "shop", ["ü"], {"timeout": "5s"}, None, None, None),
        ("notify:b", AT, "default", "ü", None, "k", "o", {"team": "mail"}),
        ("notify:c", AT, "default", None, {"timeout": "5s"}, "m", None, None),
    ]


async def test_the_on_conflict_option_decides_the_outcome_for_a_taken_key(database_url: str, db: Connection) -> None:
    def asked(n: int, key: str, on_conflict: str) -> Request:
        return {"target": "python:remind", "payload": n, "fire_at": AT, "key": key, "on_conflict": on_conflict}

    async with asyncpg.create_pool(database_url, min_size=1, max_size=1) as pool, pool.acquire() as lent:
        first = await schedule_many_async(lent, [asked(0, "a", "reject"), asked(1, "b", "replace")])
        again = await schedule_many_async(lent, [asked(2, "b", "replace"), *numbered(3, 4), asked(4, "a", "keep")])
        assert [again[0], again[2]] == [first[1], first[0]]
        with pytest.raises(Conflict, match="'a'"):
            await schedule_many_async(lent, [*numbered(0, 10), asked(5, "a", "reject")])
        with pytest.raises(Conflict, match="'b'"):
            await schedule_many_async(lent, [*numbered(0, 10), *numbered(0, 1, key="b")])
    with pytest.raises(Unavailable):
        await schedule_many_async(lent, numbered(0, 1))
    assert db.execute("select payload from pgsched.executions order by key nulls last").fetchall() == [
        (0,),
        (2,),
        ({"n": 3},),
    ]


async def test_one_invalid_request_fails_the_call_but_not_the_connection(connection: Any, db: Connection) -> None:
    for kind, asked in REFUSED:
        with pytest.raises(kind) as raised:
            await schedule_many_async(connection, [*numbered(0, 300), *numbered(0, 1, **asked)])
        assert type(raised.value) is kind, asked
    assert count(db) == 0
    assert len(await schedule_many_async(connection, numbered(0, 6000))) == 6000
    with pytest.raises(NotFound):
        await schedule_many_async(connection, [*numbered(0, 10), *numbered(0, 6000, queue="nowhere")])
    assert count(db) == 6000


async def test_a_latin1_connection_schedules_with_and_without_copy_rights(
    database_url: str, db: Connection, connection: Any
) -> None:
    role = f"pgsched_test_{secrets.token_hex(6)}"
    db.execute(sql.SQL("create role {} in role pgsched_client").format(sql.Identifier(role)))
    db.execute("insert into pgsched.clients (client_id, database_role) values ('ü', %s)", [role])
    await connection.execute("set client_encoding to latin1")
    plain: Any = {"target": "notify:a", "payload": "ü", "client": "ü"}
    ordered: Any = {**plain, "ordering_key": "ü"}
    try:
        for statement in (f"set session authorization {role}", "reset session authorization"):
            await connection.execute(statement)
            await schedule_many_async(connection, [plain, ordered])
    finally:
        await connection.execute("reset session authorization")
        db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))
    found = db.execute("select payload, client_id, count(*) from pgsched.executions group by 1, 2").fetchall()
    assert found == [("ü", "ü", 4)]


@pytest.mark.parametrize("kind", [AsyncConnection, AsyncSession])
async def test_sqlalchemy_requests_exist_only_if_the_caller_commits(
    database_url: str, db: Connection, kind: type
) -> None:
    url = database_url.replace("postgresql://", "postgresql+asyncpg://", 1)
    engine = create_async_engine(url, poolclass=NullPool)
    async with engine.connect() as connection:
        caller = AsyncSession(connection) if kind is AsyncSession else connection
        await schedule_many_async(caller, numbered(0, 10))
        await caller.rollback()
        assert len(await schedule_many_async(caller, numbered(0, 10))) == 10
        with pytest.raises(NotFound):
            await schedule_many_async(caller, numbered(0, 1, queue="nowhere"))
        await caller.rollback()
        await schedule_many_async(caller, [*numbered(0, 2), *numbered(2, 3, key="k")])
        await caller.commit()
        if isinstance(caller, AsyncSession):
            await caller.close()
    await engine.dispose()
    assert count(db) == 3
