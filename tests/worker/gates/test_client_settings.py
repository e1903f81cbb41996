"""Settings of clients and queues apply to deliveries at once."""

from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.handler_call import Context
from pgsched.delivery.signature import sign
from pgsched.domain.secret import parse_signing_secret
from pgsched.sealing import KeyRing, new_key
from pgsched.store.admin import clients
from tests.delivery.receiver import receiving
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value

KEY = new_key()
ATTEMPTS = "select attempt from pgsched.history"


async def rotate(db: Connection, *, keys: str = KEY, secret: str | None = None) -> str:
    """Rotate the signing secret of the client ``default``, and return the new one."""
    return await clients.rotate_signing_secret(db, KeyRing.parse(keys), "default", secret=secret, actor=None)


def failing_app() -> App:
    app = App()

    @app.handler("fail")
    async def fail(payload: Any, context: Context) -> None:
        raise ValueError("no")

    return app


async def test_client_defaults_apply_to_options_the_execution_does_not_set(db: Connection, running: Running) -> None:
    await db.execute("""select pgsched.set_client('default', '{"options": {"max_attempts": 1}}')""")
    async with running(failing_app()):
        await db.execute("""select pgsched.schedule('python:fail', options => '{"timeout": "5s"}')""")
        await until_history(db, 1, status="failed")
    assert await value(db, ATTEMPTS) == 1


async def test_execution_options_override_client_defaults(db: Connection, running: Running) -> None:
    await db.execute("""select pgsched.set_client('default', '{"options": {"max_attempts": 1}}')""")
    async with running(failing_app()):
        await db.execute(
            """select pgsched.schedule('python:fail', options => '{"max_attempts": 2, "backoff": ["1ms"]}')"""
        )
        await until_history(db, 1, status="failed")
    assert await value(db, ATTEMPTS) == 2


async def test_queue_defaults_apply_to_options_the_client_does_not_set(db: Connection, running: Running) -> None:
    await db.execute(
        """select pgsched.create_queue('orders', '{"options": {"max_attempts": 2, "backoff": ["1ms"]}}')"""
    )
    await db.execute("""select pgsched.set_client('hasty', '{"options": {"max_attempts": 1}}')""")
    async with running(failing_app(), queues="orders"):
        await db.execute("select pgsched.schedule('python:fail', queue => 'orders', client => 'default')")
        await db.execute("select pgsched.schedule('python:fail', queue => 'orders', client => 'hasty')")
        await until_history(db, 2, status="failed")
    attempts = "select array_agg(attempt order by client_id) from pgsched.history"
    assert await value(db, attempts) == [2, 1]


async def test_changed_client_defaults_reach_a_running_worker(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    async with running(failing_app()) as worker:
        await recorder.wait_for("worker.joined")
        await db.execute("""select pgsched.set_client('default', '{"options": {"max_attempts": 1}}')""")

        async def known() -> bool:
            return bool(worker.parts.known_settings.defaults("default", 0))

        await until(known)
        await db.execute("select pgsched.schedule('python:fail')")
        await until_history(db, 1, status="failed")


async def test_unknown_defaults_from_a_later_release_are_reported_and_ignored(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    await db.execute(
        "alter domain pgsched_internal.defaults drop constraint defaults_are_known"
    )  # as in another release
    await db.execute("update pgsched.clients set options = %s::jsonb", ['{"of_later": 1}'])
    async with running(failing_app()):
        found = await recorder.wait_for("client.invalid")
        await db.execute("""select pgsched.schedule('python:fail', options => '{"max_attempts": 1}')""")
        await until_history(db, 1, status="failed")
    assert found["client"] == "default"


async def test_the_default_max_attempts_option_also_applies_to_a_lost_attempt(db: Connection, running: Running) -> None:
    await db.execute("""select pgsched.set_client('default', '{"options": {"max_attempts": 1}}')""")
    await db.execute("select pgsched.schedule('python:fail')")
    await db.execute(
        "update pgsched.executions set lease_token = 1, begun = 1, lease_owner = 77, attempt = 1,"
        " lease_expires_at = now()"
    )
    async with running(failing_app(), lease=1.0):
        await until_history(db, 1, status="failed")
    assert await value(db, "select reason from pgsched.history") == "the worker was lost on the last attempt"


async def test_callbacks_are_signed_with_the_new_and_the_former_secret(db: Connection, running: Running) -> None:
    secrets = [await rotate(db) for _ in range(2)]
    async with receiving() as receiver, running(secret_keys=KEY):
        await db.execute("select pgsched.schedule(%s)", [receiver.url])
        await until_history(db, 1)
    headers = receiver.requests[0].headers
    about = (headers["webhook-id"], int(headers["webhook-timestamp"]), b"{}")
    expected = [sign(parse_signing_secret(secret), *about) for secret in reversed(secrets)]
    assert headers["webhook-signature"] == " ".join(expected)


async def test_rotation_to_the_same_secret_adds_no_second_signature(db: Connection, running: Running) -> None:
    secret = await rotate(db)
    await rotate(db, secret=secret)
    async with receiving() as receiver, running(secret_keys=KEY):
        await db.execute("select pgsched.schedule(%s)", [receiver.url])
        await until_history(db, 1)
    assert " " not in receiver.requests[0].headers["webhook-signature"]


@pytest.mark.parametrize(
    ("keys", "why"),
    [("", "this worker has no secret_keys"), (new_key(), "not in secret_keys"), (KEY, "was not sealed")],
    ids=["no_keys", "other_keys", "other_client"],
)
async def test_a_callback_that_cannot_be_signed_is_not_sent(
    db: Connection, running: Running, recorder: Recorder, keys: str, why: str
) -> None:
    secret = await rotate(db)
    if keys == KEY:  # one client's secret cannot replace another's
        await db.execute("insert into pgsched.clients (client_id) values ('shop')")
        await db.execute("update pgsched_internal.signing_secrets set client_id = 'shop'")
    await db.execute("select pgsched.set_client('quiet', '{}')")
    async with receiving() as receiver, running(secret_keys=keys):
        client = "shop" if keys == KEY else "default"
        await db.execute(
            "select pgsched.schedule(%s, client => %s, options => %s)", [receiver.url, client, '{"backoff": ["1h"]}']
        )
        await db.execute("select pgsched.schedule(%s, client => 'quiet')", [receiver.url])
        await until_history(db, 1)

        async def failed() -> bool:
            return bool(await value(db, "select count(*) = 1 from pgsched.attempts"))

        await until(failed)
    assert why in await value(db, "select error from pgsched.attempts")
    assert [request.headers.get("pgsched-client") for request in receiver.requests] == ["quiet"]
    assert [told["client"] for told in recorder.named("client.invalid")] == [client]
    assert secret not in str(recorder.seen)


async def test_a_former_secret_that_cannot_be_decrypted_is_left_out(db: Connection, running: Running) -> None:
    await rotate(db, keys=new_key())
    secret = await rotate(db)
    async with receiving() as receiver, running(secret_keys=KEY):
        await db.execute("select pgsched.schedule(%s)", [receiver.url])
        await until_history(db, 1)
    headers = receiver.requests[0].headers
    about = (headers["webhook-id"], int(headers["webhook-timestamp"]), b"{}")
    assert headers["webhook-signature"] == sign(parse_signing_secret(secret), *about)


async def test_client_and_execution_headers_are_merged(db: Connection, running: Running) -> None:
    await db.execute(
        """select pgsched.set_client('default', '{"options": {"headers": {"X-Shop": "1", "X-Key": "a"}}}')"""
    )
    async with receiving() as receiver, running():
        await db.execute("select pgsched.schedule(%s, options => %s)", [receiver.url, '{"headers": {"x-shop": "2"}}'])
        await until_history(db, 1)
    headers = receiver.requests[0].headers
    assert (headers["x-shop"], headers["x-key"]) == ("2", "a")
