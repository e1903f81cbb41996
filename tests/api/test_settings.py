"""Clients, queues and limits over REST."""

from typing import Any

import httpx
import psycopg
import pytest

Db = psycopg.Connection[tuple[Any, ...]]


async def test_patch_changes_the_given_client_settings_and_put_replaces_all(api: httpx.AsyncClient) -> None:
    made = await api.patch("/v1/clients/shop", json={"weight": 5, "options": {"timeout": "5s"}})
    assert made.status_code == 200
    patched = (await api.patch("/v1/clients/shop", json={"keep": "failures"})).json()
    assert (patched["weight"], patched["keep"], patched["options"]) == (5, "failures", {"timeout": "5s"})
    patched = (await api.patch("/v1/clients/shop", json={"channels": ["http"]})).json()
    assert (patched["weight"], patched["channels"]) == (5, ["http"])
    refused = await api.post("/v1/jobs", json={"target": "python:work", "client": "shop"})
    assert (refused.status_code, refused.json()["code"]) == (403, "pgsched.refused")
    put = (await api.put("/v1/clients/shop", json={"keep": "nothing"})).json()
    assert (put["weight"], put["keep"], put["options"], put["channels"]) == (1, "nothing", None, None)
    assert (await api.get("/v1/clients/shop")).json() == put


async def test_a_dead_letter_target_can_be_set(api: httpx.AsyncClient) -> None:
    changes = {"dead_letter_target": "https://ops.example/dead", "dead_letters_for": "90d"}
    shown = (await api.patch("/v1/clients/shop", json=changes)).json()
    assert (shown["dead_letter_target"], shown["dead_letters_for"]) == ("https://ops.example/dead", "P90D")


async def test_clients_are_listed_page_by_page(api: httpx.AsyncClient) -> None:
    for name in ("a", "b"):
        await api.patch(f"/v1/clients/{name}", json={})
    first = (await api.get("/v1/clients", params={"limit": 2})).json()
    assert ([item["client"] for item in first["items"]], first["next"]) == (["a", "b"], "b")
    second = (await api.get("/v1/clients", params={"limit": 2, "after": "b"})).json()
    assert ([item["client"] for item in second["items"]], second["next"]) == (["default"], None)


async def test_a_client_without_settings_is_not_found(api: httpx.AsyncClient) -> None:
    answer = await api.get("/v1/clients/nobody")
    assert (answer.status_code, answer.json()["code"]) == (404, "pgsched.not_found")


async def test_holding_and_releasing_a_client_is_recorded_in_the_audit_log(api: httpx.AsyncClient, db: Db) -> None:
    held = await api.post("/v1/clients/shop/pause", json={"note": "unpaid"})
    assert held.json() == {"client": "shop", "changed": True}
    shown = (await api.get("/v1/clients/shop")).json()
    assert (shown["state"], shown["reason"]) == ("held", "unpaid")
    assert [(await api.post("/v1/clients/shop/resume")).json()["changed"] for _ in range(2)] == [True, False]
    logged = db.execute("select actor, action from pgsched.audit_log order by id").fetchall()
    assert logged == [("api 127.0.0.1", "pause"), ("api 127.0.0.1", "resume")]


async def test_after_creation_only_the_end_of_a_signing_secret_is_shown(api: httpx.AsyncClient) -> None:
    first = (await api.post("/v1/clients/shop/signing-secret")).json()["secret"]
    answer = await api.post("/v1/clients/shop/signing-secret", json={"keep_for": "PT1H"})
    second = answer.json()["secret"]
    assert answer.status_code == 201
    shown = await api.get("/v1/clients/shop")
    assert [found["hint"][-4:] for found in shown.json()["signing_secrets"]] == [second[-4:], first[-4:]]
    assert first not in shown.text
    assert second not in shown.text
    assert (await api.delete("/v1/clients/shop/signing-secret")).json()["changed"] is True
    assert (await api.get("/v1/clients/shop")).json()["signing_secrets"] == []


async def test_every_client_except_the_default_can_be_deleted(api: httpx.AsyncClient) -> None:
    await api.patch("/v1/clients/shop", json={})
    assert (await api.delete("/v1/clients/shop")).json() == {"client": "shop", "changed": True}
    assert (await api.delete("/v1/clients/shop")).json()["changed"] is False
    assert (await api.delete("/v1/clients/default")).status_code == 409


async def test_a_queue_can_be_created_changed_paused_resumed_and_deleted(api: httpx.AsyncClient) -> None:
    made = await api.post("/v1/queues", json={"name": "orders", "weight": 3})
    assert (made.status_code, made.headers["location"]) == (201, "/v1/queues/orders")
    await api.post("/v1/jobs", json={"target": "python:x", "queue": "orders", "schedule": {"delay": "PT1H"}})
    found = (await api.patch("/v1/queues/orders", json={"max_waiting": 10})).json()
    assert (found["weight"], found["max_waiting"], found["waiting"]) == (3, 10, 1)
    assert (await api.post("/v1/queues/orders/pause", json={"note": "later"})).json()["changed"] is True
    paused = (await api.get("/v1/queues/orders")).json()
    assert (paused["reason"], paused["paused_at"] is None) == ("later", False)
    assert (await api.post("/v1/queues/orders/resume")).json()["changed"] is True
    refused = await api.delete("/v1/queues/orders")
    assert (refused.status_code, "executions waiting or running: 1" in refused.json()["detail"]) == (409, True)
    [waiting] = (await api.get("/v1/executions", params={"queue": "orders"})).json()["items"]
    await api.post(f"/v1/executions/{waiting['id']}/cancel")
    assert (await api.delete("/v1/queues/orders")).status_code == 200
    assert [item["name"] for item in (await api.get("/v1/queues")).json()["items"]] == ["default"]


async def test_scheduling_into_a_full_queue_returns_429_with_retry_after(api: httpx.AsyncClient, db: Db) -> None:
    db.execute("update pgsched.queues set max_waiting = 1, full_since = now()")
    answer = await api.post("/v1/jobs", json={"target": "python:x"})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert answer.json()["code"] == "pgsched.queue_full"
    assert (await api.post("/v1/jobs", json={"target": "python:x", "schedule": {"every": "PT1H"}})).status_code == 201


async def test_a_limit_can_be_set_listed_and_deleted(api: httpx.AsyncClient) -> None:
    put = await api.put("/v1/limits/host/Shop.Example", json={"rate": 100, "per": "PT1M", "burst": 10})
    limit = put.json()
    assert (limit["name"], limit["rate"], limit["per"], limit["burst"]) == ("shop.example", 100, "PT60S", 10)
    assert (await api.get("/v1/limits/host/shop.example")).json() == limit
    await api.put("/v1/limits/client/shop", json={"concurrency": 5})
    page = (await api.get("/v1/limits", params={"limit": 1})).json()
    assert ([item["kind"] for item in page["items"]], page["next"]) == (["client"], "client:shop")
    rest = (await api.get("/v1/limits", params={"after": page["next"]})).json()
    assert [item["name"] for item in rest["items"]] == ["shop.example"]
    assert [item["kind"] for item in (await api.get("/v1/limits", params={"kind": "host"})).json()["items"]] == ["host"]
    dropped = [(await api.delete("/v1/limits/client/shop")).json()["changed"] for _ in range(2)]
    assert dropped == [True, False]
    assert (await api.get("/v1/limits/client/shop")).status_code == 404


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("PATCH", "/v1/clients/shop", {"wieght": 1}, 400, "the fields are"),
        ("PATCH", "/v1/clients/shop", {"weight": 0}, 400, "weight"),
        ("PATCH", "/v1/clients/shop", {"weight": 1.5}, 400, "weight"),
        ("PATCH", "/v1/clients/shop", {"keep": "some"}, 400, "keep"),
        ("PATCH", "/v1/clients/shop", {"options": []}, 400, "options"),
        ("PATCH", "/v1/clients/shop", {"options": {"retries": 1}}, 422, "the options are"),
        ("PATCH", "/v1/clients/shop", {"options": {"on_success": "python:x"}}, 422, "each execution"),
        ("PATCH", "/v1/clients/shop", {"options": {"headers": {"Host": "x"}}}, 422, "Host"),
        ("PATCH", "/v1/clients/shop", {"options": {"headers": {"X": "a\x00"}}}, 422, "NUL"),
        ("PATCH", "/v1/clients/shop", {"database_role": "nobody at all"}, 422, "create role"),
        ("PATCH", "/v1/clients/shop", {"database_role": "a\x00"}, 422, "NUL"),
        ("PATCH", "/v1/clients/shop", {"dead_letter_target": "ops.example"}, 422, "https://"),
        ("PATCH", "/v1/clients/shop", {"dead_letters_for": "PT5M"}, 422, "90d"),
        ("PATCH", "/v1/clients/shop", {"dead_letters_for": 90}, 400, "dead_letters_for"),
        ("PATCH", f"/v1/clients/{'x' * 101}", {}, 400, "client"),
        ("PATCH", "/v1/clients/a%00b", {}, 422, "NUL"),
        ("POST", "/v1/clients/shop/pause", {"note": 1}, 400, "note"),
        ("POST", "/v1/clients/shop/pause", {"note": "\x00"}, 422, "NUL"),
        ("POST", "/v1/clients/shop/signing-secret", {"secret": "secret"}, 422, "whsec_"),
        ("POST", "/v1/clients/shop/signing-secret", {"keep_for": "a day"}, 422, "write"),
        ("POST", "/v1/clients/shop/signing-secret", {"keep_for": "P400D"}, 422, "366 days"),
        ("POST", "/v1/queues", {}, 400, "name"),
        ("POST", "/v1/queues", {"name": "Orders"}, 400, "name"),
        ("POST", "/v1/queues", {"name": "orders", "max_waiting": 0}, 400, "max_waiting"),
        ("POST", "/v1/queues", {"name": "default"}, 409, "set_queue"),
        ("PATCH", "/v1/queues/nowhere", {"weight": 1}, 404, "pgsched.queues"),
        ("PATCH", "/v1/queues/default", {"weight": "1"}, 400, "weight"),
        ("PATCH", "/v1/queues/default", {"full_since": None}, 400, "the fields are"),
        ("POST", "/v1/queues/nowhere/pause", {}, 404, "pgsched.queues"),
        ("PUT", "/v1/limits/client/shop", {}, 422, "rate => 100"),
        ("PUT", "/v1/limits/client/shop", {"rate": 0}, 400, "rate"),
        ("PUT", "/v1/limits/client/shop", {"rate": 1, "per": "soon"}, 422, "write"),
        ("PUT", "/v1/limits/client/shop", {"rate": 1, "per": "P400D"}, 422, "366 days"),
        ("PUT", "/v1/limits/circuit/shop", {"rate": 1}, 422, "client, host, queue or key"),
        ("PUT", "/v1/limits/queue/nowhere", {"rate": 1}, 404, "pgsched.queues"),
        ("PUT", "/v1/limits/key/merchant", {"rate": 1}, 422, "payments/merchant-42"),
        ("GET", "/v1/limits?kind=circuit", None, 400, "client, host, queue, key"),
        ("GET", "/v1/clients?limit=0", None, 400, "limit"),
    ],
)
async def test_invalid_settings_are_refused_and_change_nothing(
    refusing: httpx.AsyncClient, witness: Db, method: str, path: str, body: Any, status: int, says: str
) -> None:
    answer = await refusing.request(method, path, **({} if body is None else {"json": body}))
    assert (answer.status_code, says in answer.json()["detail"]) == (status, True), answer.text
    found = witness.execute(
        "select (select count(*) from pgsched.clients),"
        " (select count(*) from pgsched.queues where max_waiting is null), (select count(*) from"
        " pgsched_internal.gates)"
    ).fetchone()
    assert found == (1, 1, 0)
