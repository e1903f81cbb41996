"""Edits of a waiting execution over REST."""

from typing import Any

import httpx
import psycopg
import pytest

from tests.api.test_executions import create

Connection = psycopg.Connection[tuple[Any, ...]]


async def test_an_edit_changes_the_given_fields_and_returns_the_execution(
    api: httpx.AsyncClient, db: Connection
) -> None:
    id = await create(api, payload={"n": 1}, labels={"team": "mail"})
    changes = {"payload": {"n": 1.50}, "fire_at": "2031-03-01T10:00:00+01:00", "options": {"timeout": "5s"}}
    answer = await api.patch(f"/v1/executions/{id}", json=changes | {"note": "see 42"})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["payload"], found["fire_at"]) == ({"n": 1.50}, "2031-03-01T09:00:00Z")
    assert (found["labels"], found["target"], found["attempts"]) == ({"team": "mail"}, "notify:a", [])
    logged = db.execute("select action, detail from pgsched.audit_log").fetchall()
    assert logged == [("edit", {"note": "see 42"})]


async def test_edits_keep_all_payload_digits_and_clear_fields_set_to_null(api: httpx.AsyncClient) -> None:
    id = await create(api, payload=5, options={"timeout": "5s"})
    headers = {"Content-Type": "application/json"}
    body = b'{"payload": 1.10000000000000000000001, "options": null}'
    answer = await api.patch(f"/v1/executions/{id}", content=body, headers=headers)
    assert '"payload":1.10000000000000000000001,' in answer.text
    assert answer.json()["options"] is None
    assert (await api.patch(f"/v1/executions/{id}", json={"payload": None})).json()["payload"] is None


async def test_each_edit_route_refuses_ids_of_another_kind(api: httpx.AsyncClient, db: Connection) -> None:
    id = await create(api, schedule={"every": "1h"})
    assert (await api.patch(f"/v1/executions/{id}", json={"target": "python:other"})).status_code == 404
    waiting = await create(api)
    assert (await api.patch(f"/v1/jobs/{waiting}", json={"target": "python:other"})).status_code == 404
    assert db.execute("select count(*) from pgsched.audit_log where action = 'edit'").fetchone() == (0,)


async def test_an_edit_with_a_stale_etag_is_refused(api: httpx.AsyncClient, db: Connection) -> None:
    id = await create(api, client="shop", key="k", payload={"n": 1})
    place = f"/v1/executions/{id}"
    read = (await api.get(f"/v1/executions/{id}")).headers["ETag"]
    first = await api.patch(place, json={"payload": {"n": 2}}, headers={"If-Match": read})
    assert (first.status_code, first.headers["ETag"] != read) == (200, True)
    late = await api.patch(place, json={"payload": {"n": 3}}, headers={"If-Match": read})
    assert (late.status_code, "read it again" in late.json()["detail"]) == (412, True)
    assert (await api.get(f"/v1/executions/{id}")).json()["payload"] == {"n": 2}
    tags = f'"other", {first.headers["ETag"]}'
    db.execute("update pgsched.executions set fire_at = 'infinity', scheduled_for = fire_at, gate = 'client:shop'")
    for tag in ("*", tags):
        assert (await api.patch(place, json={}, headers={"If-Match": tag})).status_code == 200
    assert (await api.patch(place, json={}, headers={"If-Match": f"W/{first.headers['ETag']}"})).status_code == 412


async def test_a_conditional_request_for_an_unchanged_execution_gets_a_304(
    api: httpx.AsyncClient, db: Connection
) -> None:
    path = f"/v1/executions/{await create(api)}"
    read = (await api.get(path)).headers["ETag"]
    same = await api.get(path, headers={"If-None-Match": read})
    assert (same.status_code, same.content, same.headers["ETag"]) == (304, b"", read)
    db.execute("update pgsched.executions set lease_token = 1, lease_owner = 1, lease_expires_at = now()")
    begun = await api.get(path, headers={"If-None-Match": read})
    assert (begun.status_code, begun.json()["status"]) == (200, "running")
    assert begun.headers["ETag"].partition("-")[0] == read.partition("-")[0], (
        "starting does not change the version that If-Match compares"
    )


async def test_editing_a_running_execution_is_refused(api: httpx.AsyncClient, db: Connection) -> None:
    id = await create(api, key="k")
    db.execute("update pgsched.executions set lease_token = 1, lease_owner = 1, lease_expires_at = now()")
    for place in (f"/v1/executions/{id}", "/v1/executions/k"):
        for headers in ({}, {"If-Match": "*"}):
            answer = await api.patch(place, json={"payload": 5}, headers=headers)
            assert (answer.status_code, "is running" in answer.json()["detail"]) == (409, True)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("status", "hint", "body"),
    [
        (400, "the fields are", {"queue": "default"}),
        (400, "the fields are", {"key": "k"}),
        (400, "target", {"target": None}),
        (400, "labels", {"labels": {"team": 5}}),
        (400, "fire_at", {"fire_at": None}),
        (422, "fire_at", {"fire_at": "tomorrow"}),
        (422, "offset", {"fire_at": "2031-03-01T10:00:00"}),
        (422, "target", {"target": "ftp://shop.example"}),
        (422, "NUL", {"target": "notify:\x00"}),
        (422, "option", {"options": {"retries": 3}}),
        (400, "note", {"note": "x" * 1001}),
    ],
    ids=str,
)
async def test_an_invalid_edit_is_refused(
    refusing: httpx.AsyncClient, status: int, hint: str, body: dict[str, Any]
) -> None:
    id = await create(refusing)
    answer = await refusing.patch(f"/v1/executions/{id}", json=body)
    assert (answer.status_code, hint in answer.json()["detail"]) == (status, True), answer.text


async def test_an_unknown_execution_is_not_found(api: httpx.AsyncClient) -> None:
    nobody = "/v1/executions/00000000-0000-7000-8000-000000000000"
    for headers in ({}, {"If-Match": "*"}):
        assert (await api.patch(nobody, json={"payload": 5}, headers=headers)).status_code == 404
