"""Sidelined targets and blocked ordering keys over REST."""

from typing import Any

import httpx
import psycopg
import pytest

Db = psycopg.Connection[tuple[Any, ...]]
BLOCK = """
with failed as (
  insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, status, partition, attempt,
                               client_id, target)
  values (now(), now(), now(), now(), pgsched_internal.new_id(), 'failed', 0, 1, 'payments', 'python:x') returning id
), waits as (
  insert into pgsched.executions (client_id, target, fire_at, ordering_key, gate, partition)
  values ('payments', 'python:x', 'infinity', %(key)s::text, 'order',
          pgsched.partition_for('default', 'payments', null, %(key)s::text))
  returning partition
)
select pgsched_internal.block_key(waits.partition, 'payments', %(key)s::text, failed.id, 'HTTP 500')
  from failed, waits"""


async def test_a_host_can_be_sidelined_listed_and_restored(api: httpx.AsyncClient, db: Db) -> None:
    body = {"host": "Shop.example", "client": "payments", "until": "2040-01-01T00:00:00Z", "note": "moving"}
    first, again = [(await api.post("/v1/targets/pause", json=body)).json() for _ in range(2)]
    assert first == {"host": "Shop.example", "client": "payments", "changed": True}
    assert again["changed"] is False
    [item] = (await api.get("/v1/targets/sidelined")).json()["items"]
    assert item.pop("since")
    assert item == {
        "gate": "circuit:shop.example payments", "host": "shop.example", "client": "payments", "state": "by hand",
        "until": "2040-01-01T00:00:00Z", "openings": 0, "reason": "moving", "held": 0, "failing_since": None,
    }  # fmt: skip
    restored = await api.post("/v1/targets/resume", json={"host": "shop.example", "client": "payments"})
    assert restored.json()["changed"] is True
    assert [item["state"] for item in (await api.get("/v1/targets/sidelined")).json()["items"]] == ["recovering"]
    logged = db.execute("select actor, action from pgsched.audit_log order by id").fetchall()
    assert logged == [("api 127.0.0.1", "pause"), ("api 127.0.0.1", "resume")]


async def test_sidelined_hosts_can_be_paged_and_filtered_by_client(api: httpx.AsyncClient) -> None:
    for host in ("a.example", "b.example"):
        await api.post("/v1/targets/pause", json={"host": host, "client": "payments"})
    await api.post("/v1/targets/pause", json={"host": "c.example"})
    page = (await api.get("/v1/targets/sidelined", params={"client": "payments", "limit": 1})).json()
    rest = (await api.get("/v1/targets/sidelined", params={"client": "payments", "after": page["next"]})).json()
    assert [[item["host"] for item in found["items"]] for found in (page, rest)] == [["a.example"], ["b.example"]]
    assert rest["next"] is None
    everybody = (await api.get("/v1/targets/sidelined")).json()["items"]
    assert [(item["host"], item["until"]) for item in everybody if item["client"] is None] == [("c.example", None)]


async def test_a_blocked_ordering_key_can_be_listed_and_unblocked(api: httpx.AsyncClient, db: Db) -> None:
    db.execute(BLOCK.encode(), {"key": "account-42"})
    [item] = (await api.get("/v1/ordering-keys/blocked", params={"client": "payments"})).json()["items"]
    named = ("client", "ordering_key", "queue", "reason", "waiting")
    assert [item[name] for name in named] == ["payments", "account-42", "default", "HTTP 500", 1]
    key = {"client": "payments", "ordering_key": "account-42"}
    answers = [(await api.post("/v1/ordering-keys/resume", json=key)).json() for _ in range(2)]
    assert answers == [{**key, "changed": True}, {**key, "changed": False}]
    [waiting] = (await api.get("/v1/executions", params={"status": "scheduled"})).json()["items"]
    assert waiting["held_by"] is None


async def test_blocked_ordering_keys_can_be_paged(api: httpx.AsyncClient, db: Db) -> None:
    for key in ("a", "b"):
        db.execute(BLOCK.encode(), {"key": key})
    page = (await api.get("/v1/ordering-keys/blocked", params={"limit": 1})).json()
    rest = (await api.get("/v1/ordering-keys/blocked", params={"after": page["next"]})).json()
    assert [found["items"][0]["ordering_key"] for found in (page, rest)] == ["b", "a"]
    assert rest["next"] is None


async def test_an_execution_names_the_gate_that_holds_it(api: httpx.AsyncClient, db: Db) -> None:
    db.execute(
        "insert into pgsched.executions (target, fire_at, gate) values ('python:x', 'infinity', 'queue:default'),"
        " ('python:x', 'infinity', null), ('python:x', '2040-01-01Z', 'queue:default')"
    )
    items = (await api.get("/v1/executions")).json()["items"]
    assert sorted((item["status"], item["held_by"] or "") for item in items) == [
        ("held", ""), ("held", "queue:default"), ("scheduled", ""),
    ]  # fmt: skip
    [held] = [item for item in items if item["held_by"]]
    assert (await api.get(f"/v1/executions/{held['id']}")).json()["held_by"] == "queue:default"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("targets/pause", {}, 400, "host"),
        ("targets/pause", {"host": ""}, 400, "host"),
        ("targets/pause", {"host": "https://shop.example/"}, 422, "shop.example"),
        ("targets/pause", {"host": "shop.example", "until": "tomorrow"}, 422, "until"),
        ("targets/pause", {"host": "shop.example", "until": "2020-01-01T00:00:00Z"}, 422, "until"),
        ("targets/pause", {"host": "shop.example", "until": "2040-01-01T00:00:00"}, 422, "offset"),
        ("targets/pause", {"host": "a\x00", "client": "payments"}, 422, "NUL"),
        ("targets/pause", {"host": "shop.example", "note": "\x00"}, 422, "NUL"),
        ("targets/pause", {"host": "shop.example", "why": "x"}, 400, "the fields are"),
        ("targets/resume", {"host": "shop.example", "client": ""}, 400, "client"),
        ("targets/resume", {"host": "shop example"}, 422, "shop.example"),
        ("ordering-keys/resume", {"client": "payments"}, 400, "ordering_key"),
        ("ordering-keys/resume", {"client": "payments", "ordering_key": "x" * 201}, 400, "ordering_key"),
        ("ordering-keys/resume", {"client": "payments", "ordering_key": "\x00"}, 422, "NUL"),
    ],
)
async def test_an_invalid_gate_request_is_refused(
    refusing: httpx.AsyncClient, witness: Db, path: str, body: Any, status: int, says: str
) -> None:
    answer = await refusing.post(f"/v1/{path}", json=body)
    assert (answer.status_code, says in answer.json()["detail"]) == (status, True), answer.text
    assert witness.execute("select count(*) from pgsched_internal.gates").fetchone() == (0,)


@pytest.mark.parametrize("query", ["after=x", "limit=0", "limit=501", "clinet=a"])
async def test_invalid_query_parameters_are_refused(api: httpx.AsyncClient, query: str) -> None:
    assert (await api.get(f"/v1/ordering-keys/blocked?{query}")).status_code == 400
