"""Clients, queues and limits with Client and AsyncClient, against the real API."""

from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest

from pgsched.client import AsyncClient, Client, schedule
from pgsched.errors import Conflict, InvalidOptions, NotFound, QueueFull


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address) as client:
        yield client


def test_a_client_is_set_read_and_dropped(client: Client) -> None:
    set_so = client.set_client("shop", weight=5, options={"timeout": "5s"})
    assert (set_so.weight, set_so.options, set_so.state) == (5, {"timeout": "5s"}, "active")
    assert client.get_client("shop") == set_so
    assert set_so in client.list_clients().items
    assert [client.drop_client("shop") for _ in range(2)] == [True, False]
    with pytest.raises(NotFound):
        client.get_client("shop")


def test_a_client_is_held_and_released(client: Client) -> None:
    assert client.hold_client("held one", note="unpaid")
    assert client.get_client("held one").reason == "unpaid"
    assert client.release_client("held one")


def test_a_signing_secret_is_rotated_and_dropped(client: Client) -> None:
    first = client.rotate_signing_secret("signed")
    second = client.rotate_signing_secret("signed", keep_for=timedelta(hours=1))
    hints = client.get_client("signed").signing_secrets
    assert [hint.hint[-4:] for hint in hints] == [second[-4:], first[-4:]]
    assert [hint.valid_until is None for hint in hints] == [True, False]
    assert client.drop_signing_secret("signed")


def test_a_queue_is_created_paused_changed_and_dropped(client: Client) -> None:
    made = client.create_queue("orders", max_waiting=10)
    assert (made.name, made.max_waiting, made.waiting) == ("orders", 10, 0)
    assert client.pause_queue("orders")
    assert client.resume_queue("orders")
    assert client.set_queue("orders", weight=3, max_waiting=None) == client.get_queue("orders")
    with pytest.raises(Conflict):
        client.create_queue("orders")
    assert "orders" in {queue.name for queue in client.list_queues()}
    client.drop_queue("orders")


def test_a_limit_is_set_and_dropped(client: Client) -> None:
    limit = client.set_limit("client", "shop", rate=100, per=timedelta(minutes=1))
    assert (limit.rate, limit.burst) == (100, 1)
    assert client.list_limits(kind="client").items == [client.get_limit("client", "shop")] == [limit]
    assert client.drop_limit("client", "shop")


def test_options_that_cannot_be_defaults_are_refused(client: Client) -> None:
    with pytest.raises(InvalidOptions, match="cannot be defaults"):
        client.set_client("shop", options={"on_success": "python:x"})


async def test_the_async_client_changes_a_clients_settings(address: str) -> None:
    async with AsyncClient(address) as client:
        found = await client.set_client("other", weight=2, channels=["http"], dead_letters_for="P90D")
        assert (found.weight, found.channels, found.dead_letters_for) == (2, ["http"], timedelta(days=90))


def test_a_full_queue_raises_queue_full_over_http_and_in_a_transaction(client: Client, module_url: str) -> None:
    with psycopg.connect(module_url, autocommit=True) as connection:
        connection.execute("update pgsched.queues set max_waiting = 1, full_since = now()")
        with pytest.raises(QueueFull, match="try again"):
            client.schedule("python:x")
        with pytest.raises(QueueFull, match="try again"):
            schedule(connection, "python:x")
        connection.execute("update pgsched.queues set max_waiting = null, full_since = null")


def test_stats_report_activity_by_step_and_queue(address: str, module_url: str) -> None:
    put = (
        "insert into pgsched.rollups (minute, client_id, queue, attempts, succeeded)"
        " values (now(), '', 'default', 4, 4)"
    )
    with psycopg.connect(module_url) as connection:
        connection.execute(put)
    with Client(address) as client:
        found = client.get_stats(step="5m")
        assert (found.step, [one.ended for one in found.items]) == ("PT5M", [4])
        assert found.items[0].lateness.p99 is None
        assert [one.queue for one in client.get_stats(by="queue", start=found.start, end=found.end).items] == [
            "default"
        ]
