"""Consumers that use Client and AsyncClient, against the real API."""

from collections.abc import Iterator

import psycopg
import pytest

from pgsched.client import AsyncClient, Client, Ticket
from pgsched.errors import InvalidInput, StaleLease
from tests.store.store_arrange import Connection, value


@pytest.fixture(scope="module")
def queue(address: str) -> str:
    """A queue from which consumers pull."""
    with Client(address) as client:
        assert client.create_queue("orders", pulled=True).pulled
    return "orders"


@pytest.fixture
def client(address: str, queue: str) -> Iterator[Client]:
    with Client(address) as client:
        yield client
        for message in client.claim(queue, worker="cleaner", batch=1000):
            client.complete(message)


@pytest.fixture
def db(module_url: str) -> Iterator[Connection]:
    with psycopg.connect(module_url, autocommit=True) as connection:
        yield connection


def put(client: Client, **options: object) -> None:
    client.schedule("queue:", queue="orders", **{"payload": {"n": 1}, **options})  # type: ignore[arg-type]


def test_a_message_is_claimed_and_completed(client: Client, db: Connection) -> None:
    put(client)
    [message] = client.claim("orders", worker="svc-1", batch=10)
    assert (message.payload, message.attempt, message.client) == ({"n": 1}, 1, "default")
    client.complete(message, {"paid": True})
    assert value(db, "select result from pgsched.history where id = %s", [message.id]) == {"paid": True}


def test_a_message_is_extended_released_and_failed(client: Client) -> None:
    put(client)
    [message] = client.claim("orders", worker="svc-1")
    assert client.extend(message, "1h") > message.lease_expires_at
    client.release(message)
    [again] = client.claim("orders", worker="svc-1")
    assert client.fail(again, "no paper", retryable=False) == "failed"


def test_completing_a_message_twice_raises_stale_lease(client: Client) -> None:
    put(client)
    [message] = client.claim("orders", worker="svc-1")
    client.complete(message)
    with pytest.raises(StaleLease, match="no longer yours"):
        client.complete(Ticket(id=message.id, token=message.token))


def test_consume_yields_messages_one_at_a_time(client: Client) -> None:
    for n in range(3):
        put(client, payload=n)
    seen = []
    for message in client.consume("orders", worker="svc-1", batch=2):
        seen.append(message.payload)
        client.complete(message)
        if len(seen) == 3:
            break
    assert sorted(seen) == [0, 1, 2]


def test_a_claim_can_wait_for_a_message(client: Client) -> None:
    put(client, delay="1s")
    [message] = client.claim("orders", worker="svc-1", wait="20s")
    client.complete(message)


def test_consume_with_a_zero_wait_is_refused(client: Client) -> None:
    with pytest.raises(InvalidInput, match="wait"):
        next(client.consume("orders", worker="svc-1", wait="0s"))


async def test_the_async_client_consumes_releases_fails_and_completes_messages(client: Client, address: str) -> None:
    put(client)
    async with AsyncClient(address) as consumer:
        async for message in consumer.consume("orders", worker="svc-1"):
            await consumer.extend(message)
            await consumer.release(message)
            break
        [again] = await consumer.claim("orders", worker="svc-1")
        assert await consumer.fail(again, "later", retry_after="1h") == "retrying"
        put(client)
        [last] = await consumer.claim("orders", worker="svc-1")
        await consumer.complete(last)
