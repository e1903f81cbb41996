"""Dead letters over REST: list, search, replay and discard."""

import uuid
from typing import Any

import httpx
import psycopg
import pytest

from tests.store.ends.dead_letter_arrange import dead_letter

Connection = psycopg.Connection[tuple[Any, ...]]


async def ids(api: httpx.AsyncClient, query: str = "") -> list[str]:
    return [item["id"] for item in (await api.get(f"/v1/dead-letters{query}")).json()["items"]]


async def test_a_dead_letter_is_listed_with_its_reason(api: httpx.AsyncClient, db: Connection) -> None:
    id = dead_letter(db, client="payments", key="k", payload={"n": 1})
    [item] = (await api.get("/v1/dead-letters")).json()["items"]
    shown = {
        name: item[name] for name in ("id", "client", "key", "state", "payload", "attempt", "status_code", "reason")
    }
    assert shown == {
        "id": str(id), "client": "payments", "key": "k", "state": "open", "payload": {"n": 1}, "attempt": 5,
        "status_code": 503, "reason": "503 Service Unavailable",
    }  # fmt: skip


@pytest.mark.parametrize(
    "query",
    [
        "client=payments",
        "target=https://moved.example/",
        "host=MOVED.example",
        "key=k",
        "status_code=404",
        "reason=not FOUND",
        "from=2020-01-01T00:00:00Z&client=payments",
        "to=2090-01-01T00:00:00%2B01:00&client=payments",
        "state=all&client=payments",
    ],
)
async def test_each_filter_finds_only_the_matching_dead_letter(
    api: httpx.AsyncClient, db: Connection, query: str
) -> None:
    id = dead_letter(
        db, client="payments", target="https://moved.example/a", key="k", status_code=404, reason="404 Not Found"
    )
    dead_letter(db)
    assert await ids(api, f"?{query}") == [str(id)]


@pytest.mark.parametrize("sort", ["newest", "oldest"])
async def test_dead_letters_can_be_paged_newest_or_oldest_first(
    api: httpx.AsyncClient, db: Connection, sort: str
) -> None:
    made = sorted((str(dead_letter(db)) for _ in range(3)), reverse=sort == "newest")
    first = (await api.get(f"/v1/dead-letters?limit=2&sort={sort}")).json()
    second = (await api.get(f"/v1/dead-letters?limit=2&sort={sort}&after={first['next']}")).json()
    assert [item["id"] for item in [*first["items"], *second["items"]]] == made
    assert second["next"] is None


async def test_a_dead_letter_is_shown_with_its_attempts(api: httpx.AsyncClient, db: Connection) -> None:
    id = dead_letter(db)
    shown = (await api.get(f"/v1/dead-letters/{id}")).json()
    [attempt] = shown["attempts"]
    assert (attempt["attempt"], attempt["status_code"], attempt["error"]) == (5, 503, "503 Service Unavailable")


async def test_a_dead_letter_kept_longer_than_history_still_shows_its_attempts(
    api: httpx.AsyncClient, db: Connection
) -> None:
    id = dead_letter(db, ago="40 days")
    db.execute("select pgsched_internal.keep_dead_letters(30, 10)")
    db.execute("delete from pgsched.attempts")
    for path in ("dead-letters", "executions"):
        shown = (await api.get(f"/v1/{path}/{id}")).json()
        assert [attempt["error"] for attempt in shown["attempts"]] == ["503 Service Unavailable"]
    assert [item["id"] for item in (await api.get("/v1/executions?status=failed")).json()["items"]] == [str(id)]


async def test_a_replay_returns_the_new_executions_location(api: httpx.AsyncClient, db: Connection) -> None:
    id = dead_letter(db, payload={"n": 1})
    answer = await api.post(f"/v1/executions/{id}/retry")
    assert (answer.status_code, answer.json()["dead_letter"]) == (201, str(id))
    again = await api.post(f"/v1/executions/{id}/retry")
    assert again.json() == answer.json()
    found = (await api.get(answer.headers["location"])).json()
    assert (found["id"], found["status"], found["payload"]) == (answer.json()["id"], "scheduled", {"n": 1})
    assert await ids(api) == []
    [item] = (await api.get("/v1/dead-letters?state=replayed")).json()["items"]
    assert (item["replayed_as"], item["dealt_with_by"]) == (found["id"], "api 127.0.0.1")


async def test_a_replay_can_change_target_payload_and_options(api: httpx.AsyncClient, db: Connection) -> None:
    body = '{"target": "python:repaired", "payload": {"n": 1.50}, "options": {"timeout": "9s"}, "note": "moved"}'
    headers = {"Content-Type": "application/json"}
    path = f"/v1/executions/{dead_letter(db, payload={'n': 1})}/retry"
    answer = await api.post(path, content=body, headers=headers)
    found = db.execute("select target::text, payload::text, options from pgsched.executions").fetchall()
    assert (answer.status_code, found) == (201, [("python:repaired", '{"n": 1.50}', {"timeout": "9s"})])


async def test_discarding_twice_reports_a_change_only_once(api: httpx.AsyncClient, db: Connection) -> None:
    id = dead_letter(db)
    path = f"/v1/dead-letters/{id}?note=known"
    assert [(await api.delete(path)).json() for _ in range(2)] == [
        {"id": str(id), "changed": True},
        {"id": str(id), "changed": False},
    ]
    assert await ids(api, "?state=discarded") == [str(id)]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"target": "shop.example"}, 422, "write one of"),
        ({"target": "a\x00b"}, 422, "NUL"),
        ({"options": {"retries": 3}}, 422, "the options are"),
        ({"options": []}, 400, "options"),
        ({"paylod": 1}, 400, "the fields are"),
        ({"note": 5}, 400, "note"),
    ],
)
async def test_an_invalid_replay_is_refused(
    api: httpx.AsyncClient, db: Connection, body: dict[str, Any], status: int, words: str
) -> None:
    id = dead_letter(db)
    answer = await api.post(f"/v1/executions/{id}/retry", json=body)
    assert (answer.status_code, words in answer.json()["detail"]) == (status, True), answer.text
    assert await ids(api) == [str(id)]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?clinet=a", "the parameters are"),
        ("?state=dead", "write one of"),
        ("?status_code=5", ">= 100"),
        ("?from=yesterday", "ISO 8601"),
        ("?job=42", "write one such as"),
        ("?after=abc", "next from the previous page"),
    ],
)
async def test_an_invalid_dead_letter_filter_is_refused(api: httpx.AsyncClient, query: str, words: str) -> None:
    answer = await api.get(f"/v1/dead-letters{query}")
    assert (answer.status_code, words in answer.json()["detail"]) == (400, True), answer.text


async def test_replaying_or_discarding_a_live_execution_is_a_conflict(api: httpx.AsyncClient) -> None:
    id = (await api.post("/v1/jobs", json={"target": "notify:a", "schedule": {"delay": "1h"}})).json()["id"]
    for answer in (await api.post(f"/v1/executions/{id}/retry"), await api.delete(f"/v1/dead-letters/{id}")):
        assert (answer.status_code, answer.json()["code"]) == (409, "pgsched.conflict")


async def test_an_unknown_dead_letter_is_not_found(api: httpx.AsyncClient) -> None:
    unknown = uuid.uuid4()
    answers = [
        await api.get(f"/v1/dead-letters/{unknown}"),
        await api.delete(f"/v1/dead-letters/{unknown}"),
        await api.post(f"/v1/executions/{unknown}/retry"),
    ]
    assert [answer.status_code for answer in answers] == [404] * 3
