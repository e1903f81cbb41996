"""Secrets as the database keeps them: sealed, counted, on record, and for workers alone."""

import asyncio
from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from pgsched.errors import Conflict, InvalidInput
from pgsched.sealing import CannotOpen, KeyRing, new_key
from pgsched.store.admin import secrets
from tests import conftest
from tests.store.store_arrange import Connection, call, column, row, value

OLD, NEW = new_key(), new_key()


async def put(url: str, name: str, text: str, *, keys: str = OLD, client: str = "shop") -> bool:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        return await secrets.put(connection, KeyRing.parse(keys), client, name, text, actor="ann")


async def test_a_secret_is_put_replaced_listed_and_dropped(store_url: str, db: Connection) -> None:
    assert [await put(store_url, "token", text) for text in ("one", "two")] == [True, False]
    assert column(db, "select name from pgsched.secrets('shop')") == ["token"]
    assert [value(db, "select pgsched.drop_secret('shop', 'token')") for _ in range(2)] == [True, False]
    assert column(db, "select name from pgsched.secrets('shop')") == []


async def test_the_log_knows_who_put_it_and_not_what(store_url: str, db: Connection) -> None:
    await put(store_url, "token", "hush-hush")
    found = row(db, "select actor, kind, name, a::text from pgsched.audit_log a where action = 'put secret'")
    assert found[:3] == ("ann", "secret", "shop/token")
    assert "hush" not in found[3]


async def test_a_dump_has_nothing_of_it(store_url: str, db: Connection) -> None:
    await put(store_url, "token", "hush-hush")
    dump = await asyncio.create_subprocess_exec(
        Path(conftest.tested_bin_dir(), "pg_dump"), "--dbname", store_url, stdout=asyncio.subprocess.PIPE
    )
    dumped, _ = await dump.communicate()
    assert b"shop\ttoken" in dumped
    assert b"hush-hush" not in dumped
    assert b"hush-hush".hex().encode() not in dumped


async def test_a_client_has_a_hundred_at_most(store_url: str, db: Connection) -> None:
    db.execute("insert into pgsched.clients (client_id) values ('shop')")
    db.execute(
        "insert into pgsched_internal.secrets (client_id, name, sealed)"
        " select 'shop', 's' || n, sha256('') || sha256('') from generate_series(1, 100) n"
    )
    with pytest.raises(errors.DatabaseError, match="100 secrets"):
        await put(store_url, "token", "hush")
    assert await put(store_url, "s1", "hush") is False


@pytest.mark.parametrize(
    ("name", "text"),
    [("", "x"), ("a b", "x"), ("-a", "x"), ("a" * 101, "x"), ("a", ""), ("a", "x" * 16_385), ("a", "\x00")],
)
async def test_what_cannot_be_kept_is_refused_and_not_repeated(store_url: str, name: str, text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await put(store_url, name, text)
    assert len(str(refused.value)) < 200


async def test_without_keys_nothing_is_kept(store_url: str, db: Connection) -> None:
    with pytest.raises(Conflict, match="new-key"):
        await put(store_url, "token", "hush", keys="")
    assert column(db, "select name from pgsched_internal.secrets") == []


async def test_secrets_are_sealed_anew_with_the_newest_key(store_url: str, db: Connection) -> None:
    await put(store_url, "a", "one")
    await put(store_url, "b", "two", keys=NEW)
    async with await psycopg.AsyncConnection.connect(store_url, autocommit=True) as connection:
        assert [await secrets.reseal_all(connection, KeyRing.parse(f"{NEW},{OLD}")) for _ in range(2)] == [1, 0]
        [found] = await secrets.look_up(connection, [("shop", "a"), ("shop", "nothing")])
        ring = KeyRing.parse(NEW)
        assert ring is not None
        assert ring.open("shop", "a", found.sealed) == "one"
        with pytest.raises(CannotOpen):
            await secrets.reseal_all(connection, KeyRing.parse(OLD))


def test_nobody_puts_what_no_header_could_name(db: Connection) -> None:
    for given in (
        '{"secret": "a b"}',
        '{"secret": 1}',
        '{"secret": "a", "more": 1}',
        '{"secret": "a", "prefix": "\\n"}',
    ):
        with pytest.raises(errors.DatabaseError, match="secrets by their names"):
            call(db, "schedule", target="https://a", options=f'{{"headers": {{"x": {given}}}}}')
