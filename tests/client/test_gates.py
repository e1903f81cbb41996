"""Sidelined targets and blocked ordering keys with Client, against the real API."""

from datetime import UTC, datetime

import psycopg
import pytest

from pgsched.client import Client, sync_async_methods
from pgsched.errors import InvalidInput
from tests.api.test_gates import BLOCK


def test_a_host_is_sidelined_listed_and_restored(address: str) -> None:
    later = datetime(2040, 1, 1, tzinfo=UTC)
    with Client(address) as client:
        assert client.sideline("shop.example", client="payments", until=later, note="moving")
        [found] = client.list_sidelined(client="payments").items
        assert (found.host, found.state, found.until, found.reason) == ("shop.example", "by hand", later, "moving")
        assert client.restore("shop.example", client="payments")
        assert [row.state for row in client.list_sidelined(client="payments").items] == ["recovering"]


def test_a_blocked_ordering_key_is_listed_and_unblocked(address: str, module_url: str) -> None:
    with psycopg.connect(module_url) as connection:
        connection.execute(BLOCK.encode(), {"key": "account-42"})
    with Client(address) as client:
        [found] = client.list_blocked(client="payments").items
        assert (found.ordering_key, found.waiting) == ("account-42", 1)
        [waiting] = client.list_executions(client="payments", status="held").items
        assert waiting.held_by == "order"
        assert [client.unblock("payments", "account-42") for _ in range(2)] == [True, False]


def test_sidelining_an_invalid_host_is_refused(address: str) -> None:
    with Client(address) as client, pytest.raises(InvalidInput, match="shop"):
        client.sideline("https://shop.example/x")


def test_iteration_covers_all_pages(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_async_methods, "LARGEST", 2)
    with Client(address) as client:
        for number in range(5):
            client.set_client(f"paged-{number}", weight=2)
            client.set_limit("host", f"paged-{number}.example", rate=5)
            client.sideline(f"paged-{number}.example", client="paged-0")
        assert [one.client for one in client.iter_clients() if "paged-" in one.client] == [
            f"paged-{number}" for number in range(5)
        ]
        assert len({one.name for one in client.iter_limits(kind="host") if "paged-" in one.name}) == 5
        assert len({one.host for one in client.iter_sidelined(client="paged-0")}) == 5
        assert not [*client.iter_blocked(client="paged-0")]
        assert not [*client.iter_secrets("paged-0")]
        assert [*client.iter_bulk()] == client.list_bulk(limit=500).items
