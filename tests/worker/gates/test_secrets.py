"""Headers that name a secret are sent with its text, which appears nowhere else."""

import json
from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.sealing import KeyRing, new_key
from pgsched.store.admin import secrets
from tests.delivery.receiver import TLS, Receiver, receiving, server_tls
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value

KEY = new_key()
HEADERS = '{"headers": {"authorization": {"secret": "token", "prefix": "Bearer "}, "x-shop": "42"}, "backoff": ["1ms"]}'


async def put(db: Connection, to: Receiver, text: str, *, client: str = "shop", key: str = KEY) -> None:
    hosts = [to.url.removeprefix("http://")]
    await secrets.put(db, KeyRing.parse(key), client, "token", text, hosts=hosts, actor=None)


async def schedule(db: Connection, receiver: Receiver, *, client: str = "shop", **more: Any) -> None:
    given = {"client": client, "options": HEADERS, "target": receiver.url} | more
    names = ", ".join(f"{name} => %({name})s" for name in given)
    await db.execute(f"select pgsched.schedule({names})".encode(), given)


async def test_a_secret_is_in_the_header_but_in_neither_log_nor_history(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    async with receiving() as receiver, running(App(), secret_keys=KEY, allow_private_targets=True):
        await put(db, receiver, "hush-hush\n")
        await schedule(db, receiver)
        await until_history(db, 1, status="succeeded")
    [request] = receiver.requests
    assert (request.headers["authorization"], request.headers["x-shop"]) == ("Bearer hush-hush", "42")
    assert "hush" not in str(recorder.seen)
    assert await value(db, "select count(*) from pgsched.history h where h::text like '%%hush%%'") == 0


async def test_a_secrets_new_text_is_used_without_a_restart(db: Connection, running: Running) -> None:
    async with receiving() as receiver, running(App(), secret_keys=KEY, allow_private_targets=True):
        await put(db, receiver, "one")
        await schedule(db, receiver)
        await until_history(db, 1, status="succeeded")
        await put(db, receiver, "two")

        async def known() -> bool:
            await schedule(db, receiver)
            return any(request.headers["authorization"] == "Bearer two" for request in receiver.requests)

        await until(known)


@pytest.mark.parametrize(
    ("keys", "why"),
    [(KEY, "there is no secret of this name"), ("", "no secret_keys"), (new_key(), "not in secret_keys")],
    ids=["other_client", "no_keys", "other_keys"],
)
async def test_an_attempt_without_its_secret_fails_with_the_reason(
    db: Connection, running: Running, keys: str, why: str
) -> None:
    async with receiving() as receiver, running(App(), secret_keys=keys, allow_private_targets=True):
        await put(db, receiver, "hush", client="default" if keys == KEY else "shop")
        await schedule(db, receiver, options=HEADERS.replace("1ms", "1h"))

        async def failed() -> bool:
            return bool(await value(db, "select count(*) = 1 from pgsched.attempts"))

        await until(failed)
    assert receiver.requests == []
    error = await value(db, "select error from pgsched.attempts")
    assert why in error
    assert "hush" not in error


@pytest.mark.parametrize(
    "options",
    [
        HEADERS,
        '{"tls": {"certificate": "token"}}',
        '{"auth": {"google": {"key": "token"}}}',
        '{"auth": {"oauth2": {"token_url": "TOKEN", "client_id": "us", "client_secret": "token"}}}',
    ],
    ids=["header", "tls", "google", "oauth2"],
)
async def test_a_secret_is_sent_only_to_its_hosts(db: Connection, running: Running, options: str) -> None:
    async with (
        receiving() as own,
        receiving(tls=server_tls()) as other,
        running(App(), secret_keys=KEY, allow_private_targets=True),
    ):
        await put(db, own, "hush")
        options = options.replace("TOKEN", f"{own.url}/token")
        await schedule(db, other, target=f"https://127.0.0.1:{other.port}/", options=options)
        await until(lambda: value(db, "select count(*) > 0 from pgsched.attempts"))
    assert (own.requests, other.requests) == ([], [])
    error = await value(db, "select min(error) from pgsched.attempts")
    assert f"must not be sent to 127.0.0.1:{other.port}" in error


async def test_a_client_secret_is_not_sent_to_another_hosts_token_endpoint(db: Connection, running: Running) -> None:
    async with (
        receiving() as own,
        receiving() as other,
        running(App(), secret_keys=KEY, allow_private_targets=True),
    ):
        await put(db, own, "hush")
        auth = {"token_url": f"{other.url}/token", "client_id": "us", "client_secret": "token"}
        await schedule(db, own, options=json.dumps({"auth": {"oauth2": auth}}))
        await until(lambda: value(db, "select count(*) > 0 from pgsched.attempts"))
    assert (own.requests, other.requests) == ([], [])


async def test_a_client_certificate_is_read_from_a_secret_and_presented(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    text = (TLS / "client.pem").read_text()
    given = {"secret_keys": KEY, "tls_authorities": str(TLS / "authority.pem")}
    async with receiving(tls=server_tls(ask_for_certificate=True)) as receiver, running(App(), **given):
        target, hosts = f"https://localhost:{receiver.port}/", [f"localhost:{receiver.port}"]
        await secrets.put(db, KeyRing.parse(KEY), "shop", "bank", text, hosts=hosts, actor=None)
        await schedule(db, receiver, target=target, options='{"tls": {"certificate": "bank"}}')
        await until_history(db, 1, status="succeeded")
    key = text[text.index("PRIVATE KEY-----") :].splitlines()[1]
    assert key not in str(recorder.seen)
    assert await value(db, "select count(*) from pgsched.history h where strpos(h::text, %s) > 0", key) == 0


async def test_a_secret_that_cannot_be_a_header_value_fails_the_execution(db: Connection, running: Running) -> None:
    async with receiving() as receiver, running(App(), secret_keys=KEY, allow_private_targets=True):
        await put(db, receiver, "hush\r\nx: 1")
        await schedule(db, receiver)
        await until_history(db, 1, status="failed")
    reason = await value(db, "select error from pgsched.attempts")
    assert "cannot be used in the header authorization" in reason
    assert "hush" not in reason
    assert receiver.requests == []
