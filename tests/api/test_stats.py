"""GET /v1/stats: attempts and ended executions over time, by queue and by client."""

import httpx
import pytest

from pgsched.domain.histogram import BUCKETS
from tests.api.access_arrange import make_key
from tests.conftest import Connection

DAY = "2026-03-01T00:00:00Z"
PUT = """
insert into pgsched.rollups (minute, client_id, queue, attempts, failed_attempts, succeeded, failed, lateness)
values (%s, %s, %s, %s, 1, %s, 1, %s)"""


def put(db: Connection, at: str, client: str, *, queue: str = "default", attempts: int = 4, bucket: int = 3) -> None:
    counts = [0] * (len(BUCKETS) + 1)
    counts[bucket] = attempts
    db.execute(PUT, [f"2026-03-01 {at}Z", client, queue, attempts, attempts - 1, counts])


@pytest.fixture
def filled(db: Connection) -> Connection:
    """Rollups of two clients and two queues. The rows of client '' count both clients."""
    for at, client, queue in (("09:00", "shop", "default"), ("09:01", "bank", "default"), ("10:30", "shop", "orders")):
        for whose in (client, ""):
            put(db, at, whose, queue=queue)
    return db


async def asked(api: httpx.AsyncClient, **more: str) -> list[dict[str, object]]:
    response = await api.get("/v1/stats", params={"from": DAY, "to": "2026-03-02T00:00:00Z", **more})
    assert response.status_code == 200, response.text
    items: list[dict[str, object]] = response.json()["items"]
    return items


async def test_stats_are_grouped_by_time_step(api: httpx.AsyncClient, filled: Connection) -> None:
    found = await asked(api, step="1h")
    assert [(one["starts_at"], one["ended"], one["attempts"]) for one in found] == [
        ("2026-03-01T09:00:00Z", 8, 8), ("2026-03-01T10:00:00Z", 4, 4),
    ]  # fmt: skip
    assert found[0]["failed_attempts"] == 2
    assert found[0]["lateness"] == {"p50": 0.0075, "p99": pytest.approx(0.00995)}
    assert found[0]["duration"] == {"p50": None, "p99": None}
    assert [one["ended"] for one in await asked(api, step="1h", client="shop")] == [4, 4]
    assert [one["ended"] for one in await asked(api, queue="orders")] == [4]


async def test_stats_are_grouped_by_queue_or_by_client(api: httpx.AsyncClient, filled: Connection) -> None:
    assert [(one["queue"], one["ended"]) for one in await asked(api, by="queue")] == [("default", 8), ("orders", 4)]
    hours = {"from": "2026-03-01T06:00:00Z", "to": "2026-03-01T12:00:00Z"}
    assert [(one["client"], one["ended"]) for one in await asked(api, by="client", **hours)] == [
        ("shop", 8), ("bank", 4),
    ]  # fmt: skip


async def test_an_api_key_gets_only_its_own_clients_stats(api: httpx.AsyncClient, filled: Connection) -> None:
    api.headers["authorization"] = f"Bearer {make_key(filled, clients=['shop'])}"
    assert [one["ended"] for one in await asked(api, step="1d")] == [8]
    assert [one["queue"] for one in await asked(api, by="queue")] == ["default", "orders"]
    hours = {"from": "2026-03-01T06:00:00Z", "to": "2026-03-01T12:00:00Z"}
    assert [one["client"] for one in await asked(api, by="client", **hours)] == ["shop"]
    assert (await api.get("/v1/stats", params={"client": "bank"})).status_code == 403


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"from": DAY, "to": DAY}, 422),
        ({"from": DAY, "to": "2026-04-02T00:00:00Z"}, 422),
        ({"from": DAY, "to": "2026-03-01T07:00:00Z", "by": "client"}, 422),
        ({"from": DAY, "to": "2026-03-31T00:00:00Z", "step": "1m"}, 422),
        ({"step": "1s"}, 422),
        ({"from": "today"}, 400),
        ({"by": "target"}, 400),
    ],
)
async def test_expensive_or_invalid_ranges_are_refused(
    api: httpx.AsyncClient, given: dict[str, str], status: int
) -> None:
    """Requests that match the schema get 422, and other requests get 400."""
    assert (await api.get("/v1/stats", params=given)).status_code == status
