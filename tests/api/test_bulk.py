"""Bulk operations over REST: count, start, inspect and stop."""

import uuid
from typing import Any

import httpx
import psycopg
import pytest

from tests.api.access_arrange import make_key
from tests.api.test_executions import create
from tests.store.bulk.bulk_arrange import advance
from tests.store.ends.dead_letter_arrange import dead_letter

Connection = psycopg.Connection[tuple[Any, ...]]
SHOP: dict[str, Any] = {"action": "cancel", "filter": {"client": "shop"}}


async def ask(api: httpx.AsyncClient, **body: Any) -> httpx.Response:
    return await api.post("/v1/bulk", json=SHOP | body)


async def test_a_dry_run_counts_matching_executions_and_changes_nothing(api: httpx.AsyncClient) -> None:
    await create(api, client="shop", labels={"team": "mail"})
    await create(api, client="shop")
    answer = await ask(api, filter={"client": "shop", "labels": {"team": "mail"}}, dry_run=True)
    assert (answer.status_code, answer.json()) == (200, {"id": None, "matched": 1, "complete": True, "skipped": 0})
    answer = await ask(api, action="reschedule", shift="1h", dry_run=True)
    assert answer.json()["matched"] == 2
    assert (await api.get("/v1/bulk")).json() == {"items": [], "next": None}


async def test_a_running_bulk_cancel_can_be_shown_and_stopped(api: httpx.AsyncClient, db: Connection) -> None:
    for _ in range(3):
        await create(api, client="shop")
    answer = await ask(api, rate=1, note="taken back", filter={"client": "shop", "status": ["scheduled", "held"]})
    assert (answer.status_code, answer.json()["matched"]) == (201, 3)
    place = answer.headers["location"]
    for _ in range(20):
        advance(db, uuid.UUID(answer.json()["id"]))
    found = (await api.get(place)).json()
    shown = {
        name: found[name] for name in ("action", "state", "total", "done", "skipped", "failed", "rate", "note", "actor")
    }
    assert shown == {
        "action": "cancel", "state": "active", "total": 3, "done": 2, "skipped": 0, "failed": 0, "rate": 1,
        "note": "taken back", "actor": "api 127.0.0.1",
    }  # fmt: skip
    assert found["filter"] == {"client": "shop", "status": ["scheduled", "held"]}
    assert [(await api.delete(place)).json()["changed"] for _ in range(2)] == [True, False]
    [listed] = (await api.get("/v1/bulk")).json()["items"]
    assert (listed["id"], listed["state"]) == (found["id"], "stopped")
    assert (await api.get("/v1/bulk?action=replay")).json()["items"] == []
    assert len((await api.get("/v1/executions?status=scheduled")).json()["items"]) == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"fire_at": "2032-03-01T10:00:00+01:00"}, "2032-03-01T09:00:00Z"),
        ({"shift": "PT1H30M"}, "2031-03-01T10:30:00Z"),
        ({"shift": "-15m"}, "2031-03-01T08:45:00Z"),
    ],
)
async def test_a_bulk_reschedule_sets_an_instant_or_shifts_fire_at(
    api: httpx.AsyncClient, db: Connection, given: dict[str, str], expected: str
) -> None:
    id = await create(api, client="shop", schedule={"fire_at": "2031-03-01T09:00:00Z"})
    answer = await ask(api, action="reschedule", **given)
    for _ in range(20):
        advance(db, uuid.UUID(answer.json()["id"]))
    assert (await api.get(f"/v1/executions/{id}")).json()["fire_at"] == expected
    found = (await api.get(answer.headers["location"])).json()
    assert (found["state"], found["done"]) == ("finished", 1)


async def test_dead_letters_are_replayed_and_discarded_in_bulk(api: httpx.AsyncClient, db: Connection) -> None:
    for reason in ("moved", "moved", "moved", "known"):
        dead_letter(db, reason=reason)
    named = {"host": "shop.example", "from": "2020-01-01T00:00:00Z", "reason": "moved"}
    answer = await ask(api, action="replay", filter=named, rate=1, target="python:repaired")
    assert (answer.status_code, answer.json()["matched"]) == (201, 3)
    advance(db, uuid.UUID(answer.json()["id"]))
    found = (await api.get(answer.headers["location"])).json()
    assert (found["state"], found["done"], found["rate"], found["target"]) == ("active", 2, 1, "python:repaired")
    gone = (await ask(api, action="discard", filter={"reason": "known"}, note="seen")).json()["id"]
    advance(db, uuid.UUID(gone))
    letters = (await api.get("/v1/dead-letters?state=all")).json()["items"]
    assert sorted(letter["state"] for letter in letters) == ["discarded", "open", "replayed", "replayed"]


async def test_pausing_resuming_or_cancelling_jobs_in_bulk_finishes_immediately(api: httpx.AsyncClient) -> None:
    job = await create(api, schedule={"every": "1h"}, labels={"team": "a"})
    await create(api, schedule={"every": "1h"}, labels={"team": "b"})
    for action, state in (("pause", "paused"), ("resume", "active"), ("cancel_jobs", "cancelled")):
        answer = await ask(api, action=action, filter={"labels": {"team": "a"}})
        assert (answer.status_code, answer.json()["matched"]) == (201, 1)
        found = (await api.get(answer.headers["location"])).json()
        assert (found["state"], found["done"], found["rate"]) == ("finished", 1, None)
        assert (await api.get(f"/v1/jobs/{job}")).json()["state"] == state


async def test_a_backfill_can_be_counted_started_and_listed_by_job(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api, key="hourly", schedule={"cron": "0 * * * *"})
    ran = "insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, job_id, status, partition,"
    ran += " attempt, client_id, target) values (now(), now(), '2026-03-01T01:00Z', now(), gen_random_uuid(), %s,"
    db.execute(f"{ran} 'succeeded', 0, 1, 'default', 'notify:a')".encode(), [job])
    day = {"job": job, "from": "2026-03-01T01:00:00+01:00", "to": "2026-03-02T01:00:00+01:00"}
    counted = await ask(api, action="backfill", filter=day, dry_run=True)
    assert (counted.status_code, counted.json()) == (200, {"id": None, "matched": 24, "complete": True, "skipped": 1})
    await api.post(f"/v1/jobs/{job}/pause")
    answer = await ask(api, action="backfill", filter=day)
    found = (await api.get(answer.headers["location"])).json()
    assert (found["state"], found["rate"], found["done"]) == ("active", 10, 0)
    assert found["runs"] == {"live": 0, "finished": 0, "failed": 0, "cancelled": 0}
    again = await ask(api, action="backfill", filter=day)
    assert (again.status_code, again.json()["code"]) == (409, "pgsched.conflict")
    assert (await api.delete(answer.headers["location"])).json()["changed"]
    later = (await ask(api, action="backfill", filter=day)).json()["id"]
    await ask(api)
    first = (await api.get(f"/v1/bulk?job={job}&limit=1")).json()
    second = (await api.get(f"/v1/bulk?job={job}&limit=1&after={first['next']}")).json()
    assert [item["id"] for item in [*first["items"], *second["items"]]] == [later, found["id"]]


async def test_cancelling_jobs_in_bulk_needs_the_schedule_scope_too(keyed: httpx.AsyncClient, db: Connection) -> None:
    key = make_key(db, scopes=["read", "operate"])
    for action, status in (("pause", 201), ("cancel_jobs", 403)):
        answer = await keyed.post(
            "/v1/bulk", json=SHOP | {"action": action}, headers={"Authorization": f"Bearer {key}"}
        )
        assert answer.status_code == status, answer.text


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"filter": {}}, 422, "at least one"),
        ({"filter": {"status": ["scheduled"]}}, 422, "at least one"),
        ({"filter": {"client": "shop", "status": []}}, 400, "status"),
        ({"filter": {"client": "shop", "status": ["failed"]}}, 400, "failed"),
        ({"filter": {"clinet": "a"}}, 400, "the fields are client"),
        ({"filter": {"client": ""}}, 422, "must be a string"),
        ({"filter": {"host": "a\x00b"}}, 422, "NUL"),
        ({"filter": {"from": "yesterday"}}, 422, "\"from\" 'yesterday' is not an instant"),
        ({"filter": {"job": "42"}}, 400, "job"),
        ({"filter": {"labels": {"team": 5}}}, 400, "labels"),
        ({"action": "delete"}, 400, "delete"),
        ({"filter": {"client": "shop", "reason": "x"}}, 422, "cannot be filtered by reason"),
        ({"target": "python:moved"}, 422, "only replay"),
        ({"action": "backfill"}, 422, "the filters are job, from, to"),
        (
            {"action": "backfill", "filter": {"job": str(uuid.UUID(int=1))}},
            422,
            'needs the filters "job", "from" and "to"',
        ),
        ({"action": "cancel", "shift": "1h"}, 422, "only reschedule"),
        ({"action": "reschedule"}, 422, "give fire_at"),
        ({"action": "reschedule", "dry_run": True}, 422, "give fire_at"),
        ({"action": "reschedule", "shift": "1h", "fire_at": "2031-03-01T09:00:00Z"}, 422, "give fire_at"),
        ({"action": "reschedule", "shift": "soon"}, 422, "is not valid"),
        ({"action": "reschedule", "shift": "--1h"}, 422, "duration"),
        ({"action": "reschedule", "fire_at": "tomorrow"}, 422, "fire_at"),
        ({"rate": 0}, 400, "rate"),
        ({"rate": "fast"}, 400, "rate"),
        ({"note": "x" * 1001}, 400, "note"),
    ],
    ids=str,
)
async def test_invalid_bulk_requests_are_refused(
    refusing: httpx.AsyncClient, body: dict[str, Any], status: int, words: str
) -> None:
    answer = await ask(refusing, **body)
    assert (answer.status_code, words in answer.json()["detail"]) == (status, True), answer.text
    assert (await refusing.get("/v1/bulk")).json()["items"] == []


async def test_an_unknown_bulk_operation_is_not_found(api: httpx.AsyncClient) -> None:
    nobody = "/v1/bulk/00000000-0000-7000-8000-000000000000"
    assert [(await api.get(nobody)).status_code, (await api.delete(nobody)).status_code] == [404, 404]
