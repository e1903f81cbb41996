"""Secrets in the database: sealed, limited in number and size, logged without their text, and resealed."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors

from pgsched.errors import Conflict, InvalidInput
from pgsched.sealing import CannotOpen, KeyRing, new_key
from pgsched.store.admin import clients, secrets
from tests import conftest
from tests.store.store_arrange import Connection, call, column, refused, row, value

OLD, NEW = new_key(), new_key()


async def put(url: str, name: str, text: str, *, keys: str = OLD, client: str = "shop") -> bool:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        return await secrets.put(connection, KeyRing.parse(keys), client, name, text, actor="ann")


async def test_secrets_can_be_put_replaced_listed_and_dropped(store_url: str, db: Connection) -> None:
    assert [await put(store_url, "token", text) for text in ("one", "two")] == [True, False]
    assert column(db, "select name from pgsched.secrets('shop')") == ["token"]
    assert [value(db, "select pgsched.drop_secret('shop', 'token')") for _ in range(2)] == [True, False]
    assert column(db, "select name from pgsched.secrets('shop')") == []


@pytest.mark.parametrize("name", ["https://shop.example/", "0x7f.1", "a b", ""])
async def test_a_secret_with_an_invalid_host_is_refused(db: Connection, name: str) -> None:
    with refused("PS000"):
        db.execute("select pgsched_internal.put_secret('shop', 'a', sha256('') || sha256(''), array[%s])", [name])


async def test_replacing_a_secret_keeps_its_hosts_unless_hosts_are_given(store_url: str, db: Connection) -> None:
    hosts = "select hosts from pgsched.secrets('shop')"
    async with await psycopg.AsyncConnection.connect(store_url, autocommit=True) as connection:
        given: list[Any] = [None, ["Shop.Example:443", "shop.example.", "b.example:08443"], None, []]
        kept = []
        for one in given:
            await secrets.put(connection, KeyRing.parse(OLD), "shop", "token", "hush", hosts=one, actor="ann")
            kept.append(value(db, hosts))
    assert kept == [[], ["b.example:8443", "shop.example"], ["b.example:8443", "shop.example"], []]


async def test_putting_a_secret_logs_the_actor_but_not_the_secret(store_url: str, db: Connection) -> None:
    await put(store_url, "token", "hush-hush")
    found = row(db, "select actor, kind, name, a::text from pgsched.audit_log a where action = 'put secret'")
    assert found[:3] == ("ann", "secret", "shop/token")
    assert "hush" not in found[3]


async def test_a_database_dump_contains_no_plaintext_secret(store_url: str, db: Connection) -> None:
    await put(store_url, "token", "hush-hush")
    signing = [await rotate(store_url) for _ in range(2)]
    dump = await asyncio.create_subprocess_exec(
        Path(conftest.tested_bin_dir(), "pg_dump"), "--dbname", store_url, stdout=asyncio.subprocess.PIPE
    )
    dumped, _ = await dump.communicate()
    assert b"shop\ttoken" in dumped
    assert b"hush-hush" not in dumped
    for text in ("hush-hush", *signing):
        raw = [text.encode(), base64.b64decode(text.removeprefix("whsec_"))] if text in signing else [text.encode()]
        assert not any(found in dumped or found.hex().encode() in dumped for found in raw)


async def rotate(url: str, *, keys: str = OLD, secret: str | None = None) -> str:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        return await clients.rotate_signing_secret(connection, KeyRing.parse(keys), "shop", secret=secret, actor="ann")


@pytest.mark.parametrize(
    "secret",
    ["", "secret", "whsec_", "whsec_c2hvcnQ=", "A" * 32, "whsec_" + "A" * 32 + "!", "whsec_" + "A" * 92, "whsec_é"],
)
async def test_an_invalid_signing_secret_is_refused_and_not_quoted(store_url: str, secret: str) -> None:
    with pytest.raises(InvalidInput, match="write whsec_ followed by the base64") as refused:
        await rotate(store_url, secret=secret)
    assert len(secret) < 10 or secret not in str(refused.value)


async def test_signing_secrets_are_resealed_with_the_newest_secret_key(store_url: str, db: Connection) -> None:
    first, second = [await rotate(store_url, keys=keys) for keys in (OLD, NEW)]
    async with await psycopg.AsyncConnection.connect(store_url, autocommit=True) as connection:
        assert [await secrets.reseal_all(connection, KeyRing.parse(f"{NEW},{OLD}")) for _ in range(2)] == [1, 0]
        ring = KeyRing.parse(NEW)
        assert ring is not None
        kept = column(db, "select sealed from pgsched_internal.signing_secrets order by valid_until nulls last")
        assert [ring.open("shop", "signing secret", sealed) for sealed in kept] == [first, second]
        with pytest.raises(CannotOpen, match=r"client 'shop', its signing secret: .*; add that key"):
            await secrets.reseal_all(connection, KeyRing.parse(OLD))


async def test_resealing_skips_expired_signing_secrets(store_url: str, db: Connection) -> None:
    for keys in (OLD, NEW):
        await rotate(store_url, keys=keys)
    db.execute("update pgsched_internal.signing_secrets set valid_until = now() where valid_until is not null")
    async with await psycopg.AsyncConnection.connect(store_url, autocommit=True) as connection:
        assert await secrets.reseal_all(connection, KeyRing.parse(NEW)) == 0


def test_header_options_cannot_refer_to_the_signing_secret(db: Connection) -> None:
    with pytest.raises(errors.DatabaseError, match="references to secrets"):
        call(db, "schedule", target="https://a", options='{"headers": {"x": {"secret": "signing secret"}}}')


async def test_a_client_has_at_most_a_hundred_secrets(store_url: str, db: Connection) -> None:
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
async def test_an_invalid_secret_is_refused_and_not_quoted(store_url: str, name: str, text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await put(store_url, name, text)
    assert len(str(refused.value)) < 200


async def test_secrets_are_refused_if_no_secret_keys_are_set(store_url: str, db: Connection) -> None:
    with pytest.raises(Conflict, match="new-key"):
        await put(store_url, "token", "hush", keys="")
    with pytest.raises(Conflict, match="new-key"):
        await rotate(store_url, keys="")
    assert column(db, "select name from pgsched_internal.secrets") == []
    assert column(db, "select hint from pgsched_internal.signing_secrets") == []


async def test_secrets_are_resealed_with_the_newest_secret_key(store_url: str, db: Connection) -> None:
    await put(store_url, "a", "one")
    await put(store_url, "b", "two", keys=NEW)
    async with await psycopg.AsyncConnection.connect(store_url, autocommit=True) as connection:
        assert [await secrets.reseal_all(connection, KeyRing.parse(f"{NEW},{OLD}")) for _ in range(2)] == [1, 0]
        [found] = await secrets.look_up(connection, [("shop", "a"), ("shop", "nothing")])
        ring = KeyRing.parse(NEW)
        assert ring is not None
        assert ring.open("shop", "a", found.sealed) == "one"
        with pytest.raises(CannotOpen, match=r"client 'shop', its secret a: .* not in secret_keys; add that key"):
            await secrets.reseal_all(connection, KeyRing.parse(OLD))


def test_invalid_secret_references_in_headers_are_refused(db: Connection) -> None:
    for given in (
        '{"secret": "a b"}',
        '{"secret": 1}',
        '{"secret": "a", "more": 1}',
        '{"secret": "a", "prefix": "\\n"}',
    ):
        with pytest.raises(errors.DatabaseError, match="references to secrets"):
            call(db, "schedule", target="https://a", options=f'{{"headers": {{"x": {given}}}}}')
