"""Consumers over HTTP: claims, long polls, results and refusals."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any
from uuid import UUID

import httpx
import pytest

from pgsched.api import authentication, long_polls
from tests.api.access_arrange import make_key
from tests.conftest import Connection
from tests.databases import Databases, Janitor, lending_with
from tests.store.pull.pull_arrange import put
from tests.store.store_arrange import status, value

Api = httpx.AsyncClient
CLAIM = "/v1/queues/orders/claim"
ORDERS = """select pgsched.create_queue('orders', '{"pulled": true}'); delete from pgsched.audit_log"""
UNKNOWN = UUID(int=7)
LISTENERS = "select count(*) from pg_stat_activity where query = 'listen \"pgsched_wake\"'"
ASKING = (
    "select max(query_start) > clock_timestamp() - interval '300 ms' from pg_stat_activity"
    " where application_name = 'pgsched api'"
)
STATEMENTS = "select pid, query_start from pg_stat_activity where application_name = 'pgsched api'"


@pytest.fixture(scope="module")
def with_orders(janitor: Janitor, template: str) -> Iterator[Databases]:
    """Databases that have the queue orders."""
    with lending_with(ORDERS, "pgsched_orders", janitor=janitor, template=template) as databases:
        yield databases


@pytest.fixture
def database_url(with_orders: Databases) -> Iterator[str]:
    with with_orders.lent() as url:
        yield url


async def claim(api: Api, **body: Any) -> list[dict[str, Any]]:
    answer = await api.post(CLAIM, json={"worker": "svc-1", **body}, timeout=30)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


async def settle(api: Api, one: dict[str, Any], verb: str, **body: Any) -> httpx.Response:
    return await api.post(f"/v1/executions/{one['id']}/{verb}", json={"token": one["token"], **body})


@pytest.fixture
async def waiting(api: Api, db: Connection) -> AsyncIterator[Callable[..., Awaitable[list[asyncio.Task[Any]]]]]:
    """Starts long polls and returns once each is waiting or answered."""
    tasks: list[asyncio.Task[Any]] = []

    async def wait(count: int = 1, **body: Any) -> list[asyncio.Task[Any]]:
        tasks.extend(asyncio.create_task(claim(api, **{"wait": "20s", **body})) for _ in range(count))
        async with asyncio.timeout(20):
            while not value(db, LISTENERS) and not all(task.done() for task in tasks):  # noqa: ASYNC110  there is no event to wait on
                await asyncio.sleep(0.01)
            while value(db, ASKING):  # noqa: ASYNC110  until each has found nothing
                await asyncio.sleep(0.05)
        return tasks

    yield wait
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_claim_returns_due_messages(api: Api, db: Connection) -> None:
    id = put(db, payload={"n": 1}, key="k")
    [one] = await claim(api, batch=10, lease="1m")
    assert (one["id"], one["payload"], one["attempt"], one["key"]) == (str(id), {"n": 1}, 1, "k")
    assert isinstance(one["token"], str)  # some languages lose precision on numbers this large
    assert await claim(api) == []


async def test_a_message_is_completed_with_a_result(api: Api, db: Connection) -> None:
    put(db)
    [one] = await claim(api)
    answer = await settle(api, one, "complete", result={"paid": True})
    assert answer.json() == {"id": one["id"], "status": "succeeded"}
    assert value(db, "select result from pgsched.history") == {"paid": True}


async def test_a_failed_message_is_retried(api: Api, db: Connection) -> None:
    put(db)
    [one] = await claim(api)
    answer = await settle(api, one, "fail", error="no paper", retry_after="10m")
    assert answer.json()["status"] == "retrying"
    assert status(db, UUID(one["id"])) == "retrying"


async def test_a_claimed_message_can_be_extended_and_released(api: Api, db: Connection) -> None:
    put(db)
    [one] = await claim(api)
    assert (await settle(api, one, "extend", lease="1h")).json()["lease_expires_at"] > one["lease_expires_at"]
    assert (await settle(api, one, "release")).json()["status"] == "released"
    assert [again["attempt"] for again in await claim(api)] == [1]


async def test_settling_with_a_stale_token_is_a_conflict(api: Api, db: Connection) -> None:
    put(db)
    [one] = await claim(api)
    await settle(api, one, "complete")
    answer = await settle(api, one, "complete")
    assert (answer.status_code, answer.json()["code"]) == (409, "pgsched.stale_lease")
    assert "no longer yours" in answer.json()["detail"]


@pytest.mark.parametrize(("verb", "said"), [("complete", {}), ("fail", {"error": "no paper"})])
async def test_settling_a_cancelled_message_frees_its_ordering_key(
    api: Api, db: Connection, verb: str, said: dict[str, str]
) -> None:
    put(db, ordering_key="o")
    second = put(db, ordering_key="o")
    [one] = await claim(api)
    await api.post(f"/v1/executions/{one['id']}/cancel")
    assert await claim(api) == []
    answer = await settle(api, one, verb, **said)
    assert (answer.status_code, answer.json()["code"]) == (409, "pgsched.stale_lease")
    assert [next["id"] for next in await claim(api)] == [str(second)]


async def test_settling_an_unknown_message_is_not_found(api: Api) -> None:
    answer = await settle(api, {"id": UNKNOWN, "token": "1"}, "complete")
    assert answer.status_code == 404


async def test_a_notification_wakes_a_long_poll(
    api: Api, db: Connection, waiting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_polls, "_LOOK_EVERY", 60.0)  # three times as long as the poll waits
    [task] = await waiting()
    put(db)
    assert len(await task) == 1


async def test_a_long_poll_gets_a_message_when_it_is_due(api: Api, db: Connection, waiting: Any) -> None:
    put(db, delay="1500 ms")
    [task] = await waiting()
    assert len(await task) == 1


async def test_a_long_poll_gets_a_message_even_if_no_notification_arrives(
    api: Api, db: Connection, waiting: Any
) -> None:
    [task] = await waiting()
    db.execute("set pgsched.notify = off")
    put(db)
    assert len(await task) == 1


async def test_a_long_poll_gets_nothing_once_its_api_key_is_revoked(
    api: Api, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "_KEPT_FOR", 0.0)
    key = make_key(db, scopes=["operate"])
    api.headers["Authorization"] = f"Bearer {key}"
    asking = asyncio.create_task(api.post(CLAIM, json={"worker": "svc-1", "wait": "20s"}, timeout=30))
    async with asyncio.timeout(20):
        while not value(db, LISTENERS):  # noqa: ASYNC110  the database has no event to wait on
            await asyncio.sleep(0.01)
    db.execute("select pgsched_internal.revoke_key(%s)", [key.id])
    id = put(db)
    answer = await asking
    assert (answer.status_code, "is revoked" in answer.json()["detail"]) == (401, True)
    assert status(db, id) == "scheduled"


async def test_one_message_is_delivered_to_only_one_of_many_long_polls(api: Api, db: Connection, waiting: Any) -> None:
    tasks = await waiting(20)
    put(db)
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    assert [len(task.result()) for task in done] == [1]
    assert len(pending) == 19


async def test_one_clients_idle_polls_do_not_delay_another_client(
    api: Api, db: Connection, waiting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_polls, "_LOOK_EVERY", 60.0)  # three times as long as the polls wait
    keys = [make_key(db, clients=["idle"], scopes=["operate"]) for _ in range(3)]
    theirs = make_key(db, clients=["shop"], scopes=["operate"])

    def poll(key: Any) -> asyncio.Task[Any]:
        headers = {"Authorization": f"Bearer {key}"}
        return asyncio.create_task(api.post(CLAIM, json={"worker": "w", "wait": "20s"}, headers=headers, timeout=30))

    idle = [poll(keys[number % 3]) for number in range(30)]
    await waiting(0)
    mine = poll(theirs)
    await waiting(0)
    put(db, client="shop")
    answer = await mine
    assert len(answer.json()["items"]) == 1
    assert not any(task.done() for task in idle)
    for task in idle:
        task.cancel()
    await asyncio.gather(*idle, return_exceptions=True)


async def test_each_of_many_messages_is_delivered_to_one_of_many_long_polls(
    api: Api, db: Connection, waiting: Any
) -> None:
    tasks = await waiting(20)
    for _ in range(20):
        put(db)
    found = [one["id"] for items in await asyncio.gather(*tasks) for one in items]
    assert len(set(found)) == 20


async def test_long_polls_share_one_connection_and_one_query(api: Api, db: Connection, waiting: Any) -> None:
    await waiting(50)
    assert value(db, LISTENERS) == 1
    asked = set[Any]()
    until = time.monotonic() + 2 * long_polls._LOOK_EVERY
    while time.monotonic() < until:  # each statement has its own start time
        asked |= set(db.execute(STATEMENTS).fetchall())
        await asyncio.sleep(0.01)
    assert len(asked) < 10 + 5  # the last statements of the pool, and one poll per second in total


async def test_a_long_poll_without_a_message_returns_no_items_after_its_wait(api: Api) -> None:
    begun = time.monotonic()
    assert await claim(api, wait="300ms") == []
    assert time.monotonic() - begun >= 0.3


async def test_an_abandoned_long_poll_claims_no_message(api: Api, db: Connection, waiting: Any) -> None:
    [task] = await waiting()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    id = put(db)
    assert len(await claim(api)) == 1
    assert status(db, id) == "running"


BAD_CLAIMS: list[tuple[dict[str, Any], int]] = [
    ({"worker": None}, 400),
    ({"worker": ""}, 400),
    ({"worker": "w" * 201}, 400),
    ({"worker": "a\x00b"}, 422),
    ({"batch": 0}, 400),
    ({"batch": 1001}, 400),
    ({"batch": "ten"}, 400),
    ({"lease": "0s"}, 422),
    ({"lease": "soon"}, 422),
    ({"lease": 30}, 400),
    ({"lease": "8d"}, 422),
    ({"wait": "61s"}, 422),
    ({"wait": "-1s"}, 422),
    ({"wait": 5}, 400),
    ({"que": "orders"}, 400),
]


@pytest.mark.parametrize(("wrong", "code"), BAD_CLAIMS, ids=str)
async def test_an_invalid_claim_leases_no_message(api: Api, db: Connection, wrong: dict[str, Any], code: int) -> None:
    put(db)
    answer = await api.post(CLAIM, json={"worker": "svc-1"} | wrong)
    assert (answer.status_code, answer.headers["content-type"]) == (code, "application/problem+json"), answer.text
    assert len(await claim(api)) == 1


@pytest.mark.parametrize(("queue", "code"), [("nothing", 404), ("default", 409), ("%00", 422)])
async def test_claims_are_refused_unless_the_queue_exists_and_is_pulled(api: Api, queue: str, code: int) -> None:
    answer = await api.post(f"/v1/queues/{queue}/claim", json={"worker": "w", "wait": "10s"})
    assert answer.status_code == code, answer.text


BAD_RESULTS: list[tuple[str, dict[str, Any], int]] = [
    ("complete", {"token": None}, 400),
    ("complete", {"token": 7}, 400),
    ("complete", {"token": "seven"}, 400),
    ("complete", {"token": "7" * 19}, 409),
    ("complete", {"token": "-7"}, 400),
    ("complete", {"results": 1}, 400),
    ("fail", {}, 400),
    ("fail", {"error": ""}, 400),
    ("fail", {"error": "a\x00b"}, 422),
    ("fail", {"error": "e", "retryable": "no"}, 400),
    ("fail", {"error": "e", "retry_after": "later"}, 422),
    ("extend", {"lease": "0s"}, 422),
    ("extend", {"lease": "8d"}, 422),
    ("release", {"token": "0"}, 409),
]


@pytest.mark.parametrize(("verb", "wrong", "code"), BAD_RESULTS, ids=str)
async def test_an_invalid_result_does_not_settle_the_message(
    api: Api, db: Connection, verb: str, wrong: dict[str, Any], code: int
) -> None:
    put(db)
    [one] = await claim(api)
    answer = await settle(api, one, verb, **wrong)
    assert (answer.status_code, answer.headers["content-type"]) == (code, "application/problem+json"), answer.text
    assert status(db, UUID(one["id"])) == "running"
