"""Executions cancelled and rescheduled many at once over REST."""

import uuid
from typing import Any

import httpx
import psycopg
import pytest

from tests.api.test_executions import create
from tests.store.ends.dead_letter_arrange import advance

Connection = psycopg.Connection[tuple[Any, ...]]
SHOP: dict[str, Any] = {"verb": "cancel", "filter": {"client": "shop"}}


async def ask(api: httpx.AsyncClient, **body: Any) -> httpx.Response:
    return await api.post("/v1/bulk-changes", json=SHOP | body)


async def test_a_dry_run_counts_and_changes_nothing(api: httpx.AsyncClient) -> None:
    await create(api, client="shop", labels={"team": "mail"})
    await create(api, client="shop")
    answer = await ask(api, filter={"client": "shop", "labels": {"team": "mail"}}, dry_run=True)
    assert (answer.status_code, answer.json()) == (200, {"id": None, "matched": 1, "complete": True})
    answer = await ask(api, verb="reschedule", shift="1h", dry_run=True)
    assert answer.json()["matched"] == 2
    assert (await api.get("/v1/bulk-changes")).json() == {"items": [], "next": None}


async def test_many_are_cancelled_looked_at_and_left(api: httpx.AsyncClient, db: Connection) -> None:
    for _ in range(3):
        await create(api, client="shop")
    answer = await ask(api, rate=1, note="taken back", filter={"client": "shop", "status": ["scheduled", "held"]})
    assert (answer.status_code, answer.json()["matched"]) == (201, 3)
    place = answer.headers["location"]
    for _ in range(20):
        advance(db, uuid.UUID(answer.json()["id"]))
    found = (await api.get(place)).json()
    shown = {name: found[name] for name in ("verb", "state", "changed", "passed_over", "rate", "note", "actor")}
    assert shown == {
        "verb": "cancel", "state": "active", "changed": 2, "passed_over": 0, "rate": 1, "note": "taken back",
        "actor": "api 127.0.0.1",
    }  # fmt: skip
    assert found["filter"] == {"client": "shop", "status": ["scheduled", "held"]}
    assert [(await api.delete(place)).json()["changed"] for _ in range(2)] == [True, False]
    [listed] = (await api.get("/v1/bulk-changes")).json()["items"]
    assert (listed["id"], listed["state"]) == (found["id"], "cancelled")
    assert (await api.get("/v1/dead-letters/replays")).json()["items"] == []
    assert len((await api.get("/v1/executions?status=scheduled")).json()["items"]) == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"fire_at": "2032-03-01T10:00:00+01:00"}, "2032-03-01T09:00:00Z"),
        ({"shift": "PT1H30M"}, "2031-03-01T10:30:00Z"),
        ({"shift": "-15m"}, "2031-03-01T08:45:00Z"),
    ],
)
async def test_many_are_moved_to_an_instant_or_by_a_length(
    api: httpx.AsyncClient, db: Connection, given: dict[str, str], expected: str
) -> None:
    id = await create(api, client="shop", schedule={"fire_at": "2031-03-01T09:00:00Z"})
    answer = await ask(api, verb="reschedule", **given)
    for _ in range(20):
        advance(db, uuid.UUID(answer.json()["id"]))
    assert (await api.get(f"/v1/executions/{id}")).json()["fire_at"] == expected
    found = (await api.get(answer.headers["location"])).json()
    assert (found["state"], found["changed"]) == ("finished", 1)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"filter": {}}, 422, "at least one"),
        ({"filter": {"status": ["scheduled"]}}, 422, "at least one"),
        ({"filter": {"client": "shop", "status": []}}, 400, "status"),
        ({"filter": {"client": "shop", "status": ["failed"]}}, 400, "failed"),
        ({"filter": {"clinet": "a"}}, 400, "the fields are client"),
        ({"filter": {"client": ""}}, 422, "must be text"),
        ({"filter": {"host": "a\x00b"}}, 422, "NUL"),
        ({"filter": {"from": "yesterday"}}, 422, "from 'yesterday' is no instant"),
        ({"filter": {"job": "42"}}, 400, "job"),
        ({"filter": {"labels": {"team": 5}}}, 400, "labels"),
        ({"verb": "delete"}, 400, "delete"),
        ({"verb": "cancel", "shift": "1h"}, 422, "for reschedule"),
        ({"verb": "reschedule"}, 422, "either"),
        ({"verb": "reschedule", "dry_run": True}, 422, "either"),
        ({"verb": "reschedule", "shift": "1h", "fire_at": "2031-03-01T09:00:00Z"}, 422, "either"),
        ({"verb": "reschedule", "shift": "soon"}, 422, "cannot be read"),
        ({"verb": "reschedule", "shift": "--1h"}, 422, "duration"),
        ({"verb": "reschedule", "fire_at": "tomorrow"}, 422, "fire_at"),
        ({"rate": 0}, 400, "rate"),
        ({"rate": "fast"}, 400, "rate"),
        ({"note": "x" * 1001}, 400, "note"),
    ],
    ids=str,
)
async def test_what_cannot_be_meant_is_refused(
    refusing: httpx.AsyncClient, body: dict[str, Any], status: int, words: str
) -> None:
    answer = await ask(refusing, **body)
    assert (answer.status_code, words in answer.json()["detail"]) == (status, True), answer.text
    assert (await refusing.get("/v1/bulk-changes")).json()["items"] == []


async def test_an_unknown_one_is_not_found(api: httpx.AsyncClient) -> None:
    nobody = "/v1/bulk-changes/00000000-0000-7000-8000-000000000000"
    assert [(await api.get(nobody)).status_code, (await api.delete(nobody)).status_code] == [404, 404]
