"""Clients, queues and limits by Client and AsyncClient, against the real API."""

from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest

from pgsched.client import AsyncClient, Client, schedule, settings
from pgsched.errors import Conflict, InvalidOptions, NotFound, QueueFull


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address) as client:
        yield client


def test_a_client_is_set_looked_at_and_dropped(client: Client) -> None:
    set_so = client.ask(settings.set_client("shop", weight=5, options={"timeout": "5s"}))
    assert (set_so.weight, set_so.options, set_so.state) == (5, {"timeout": "5s"}, "active")
    assert client.ask(settings.get_client("shop")) == set_so
    assert set_so in client.ask(settings.list_clients()).items
    assert [client.ask(settings.drop_client("shop")).changed for _ in range(2)] == [True, False]
    with pytest.raises(NotFound):
        client.ask(settings.get_client("shop"))


def test_a_client_is_held_and_released(client: Client) -> None:
    assert client.ask(settings.hold_client("held one", note="unpaid")).changed
    assert client.ask(settings.get_client("held one")).reason == "unpaid"
    assert client.ask(settings.release_client("held one")).changed


def test_a_secret_is_rotated_and_dropped(client: Client) -> None:
    first = client.ask(settings.rotate_secret("signed"))
    second = client.ask(settings.rotate_secret("signed", keep_for=timedelta(hours=1)))
    hints = client.ask(settings.get_client("signed")).signing_secrets
    assert [hint.hint[-4:] for hint in hints] == [second.secret[-4:], first.secret[-4:]]
    assert [hint.valid_until is None for hint in hints] == [True, False]
    assert client.ask(settings.drop_secret("signed")).changed


def test_a_queue_is_made_paused_set_and_dropped(client: Client) -> None:
    made = client.ask(settings.create_queue("orders", max_waiting=10))
    assert (made.name, made.max_waiting, made.waiting) == ("orders", 10, 0)
    assert client.ask(settings.pause_queue("orders")).changed
    assert client.ask(settings.resume_queue("orders")).changed
    assert client.ask(settings.set_queue("orders", weight=3, max_waiting=None)) == client.ask(
        settings.get_queue("orders")
    )
    with pytest.raises(Conflict):
        client.ask(settings.create_queue("orders"))
    assert "orders" in {queue.name for queue in client.ask(settings.list_queues()).items}
    client.ask(settings.drop_queue("orders"))


def test_a_limit_is_set_and_dropped(client: Client) -> None:
    limit = client.ask(settings.set_limit("client", "shop", rate=100, per=timedelta(minutes=1)))
    assert (limit.rate, limit.burst) == (100, 1)
    assert client.ask(settings.list_limits(kind="client")).items == (limit,)
    assert client.ask(settings.drop_limit("client", "shop")).changed


def test_what_cannot_be_meant_is_raised(client: Client) -> None:
    with pytest.raises(InvalidOptions, match="cannot be a default"):
        client.ask(settings.set_client("shop", options={"on_success": "python:x"}))


async def test_the_async_client_does_the_same(address: str) -> None:
    async with AsyncClient(address) as client:
        found = await client.ask(settings.set_client("other", weight=2, dead_letters_for="P90D"))
        assert (found.weight, found.dead_letters_for) == (2, "P90D")


def test_a_full_queue_is_raised_by_the_client_and_in_a_transaction(client: Client, served_url: str) -> None:
    with psycopg.connect(served_url, autocommit=True) as connection:
        connection.execute("update pgsched.queues set max_waiting = 1, full_since = now()")
        with pytest.raises(QueueFull, match="try again"):
            client.schedule("python:x")
        with pytest.raises(QueueFull, match="try again"):
            schedule(connection, "python:x")
        connection.execute("update pgsched.queues set max_waiting = null, full_since = null")
