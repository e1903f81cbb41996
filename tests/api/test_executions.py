"""Executions over REST."""

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from pgsched.store.lookup.filters import ExecutionFilter
from pgsched.store.lookup.page_queries import page_of_executions

pytestmark = pytest.mark.smoke

Connection = psycopg.Connection[tuple[Any, ...]]

_FINISHED = """
insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, status, partition, attempt, client_id,
                             target, status_code, result, reason)
values (now(), '2026-03-01 09:00+00', '2026-03-01 09:00+00', now(), pgsched_internal.new_id(), %s, 0, 1, 'shop',
        'notify:a', 200, '{"a": 1.10}', null) returning id::text
"""


_TRACE = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"
_OTHER = f"00-{'a' * 32}-{'1' * 16}-00"


async def create(api: httpx.AsyncClient, **body: Any) -> str:
    answer = await api.post("/v1/jobs", json={"target": "notify:a", "schedule": {"delay": "1h"}} | body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def finished(db: Connection, status: str) -> str:
    row = db.execute(_FINISHED, [status]).fetchone()
    assert row is not None
    return str(row[0])


async def listed(api: httpx.AsyncClient, query: str) -> list[str]:
    answer = await api.get(f"/v1/executions?{query}")
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["items"]]


async def test_live_and_finished_executions_are_listed_newest_first(api: httpx.AsyncClient, db: Connection) -> None:
    created = [
        await create(api),
        finished(db, "succeeded"),
        await create(api),
        finished(db, "failed"),
        await create(api),
    ]
    seen: list[str] = []
    cursor = ""
    while len(seen) < 5:
        page = (await api.get(f"/v1/executions?limit=2{cursor}")).json()
        seen += [item["id"] for item in page["items"]]
        cursor = f"&after={page['next']}"
    assert page["next"] is None
    assert seen == created[::-1]


@pytest.mark.parametrize("status", ["scheduled", "retrying", "held", "running", "succeeded", "failed", "cancelled"])
async def test_the_status_filter_finds_executions_with_that_status(
    api: httpx.AsyncClient, db: Connection, status: str
) -> None:
    ids = {"scheduled": await create(api), "retrying": await create(api), "held": await create(api)}
    ids |= {"running": await create(api), "cancelled": await create(api), "failed": finished(db, "failed")}
    ids["succeeded"] = finished(db, "succeeded")
    db.execute("update pgsched.executions set attempt = 1 where id = %s", [ids["retrying"]])
    db.execute("update pgsched.executions set fire_at = 'infinity' where id = %s", [ids["held"]])
    db.execute(
        "update pgsched.executions set lease_token = 1, lease_owner = 1, lease_expires_at = now() where id = %s",
        [ids["running"]],
    )
    await api.post(f"/v1/executions/{ids['cancelled']}/cancel")
    assert await listed(api, f"status={status}") == [ids[status]]
    assert (await api.get(f"/v1/executions/{ids[status]}")).json()["status"] == status


async def test_several_status_filters_are_combined_with_or(api: httpx.AsyncClient, db: Connection) -> None:
    waiting, ended = await create(api), [finished(db, name) for name in ("failed", "cancelled", "succeeded")]
    assert await listed(api, "status=failed&status=scheduled&status=cancelled&status=failed") == [
        *ended[1::-1],
        waiting,
    ]
    assert (await api.get("/v1/executions?status=failed&status=lost")).status_code == 400


async def test_the_host_filter_matches_the_targets_host(api: httpx.AsyncClient) -> None:
    wanted = await create(api, target="https://Shop.example:8443/orders")
    await create(api, target="https://shop.example.org/orders")
    await create(api, target="notify:shop")
    assert await listed(api, "host=shop.EXAMPLE") == [wanted]


async def test_a_held_execution_has_no_fire_time(api: httpx.AsyncClient, db: Connection) -> None:
    db.execute("insert into pgsched.executions (target, fire_at) values ('notify:a', 'infinity')")
    items = (await api.get("/v1/executions")).json()["items"]
    assert [(item["status"], item["fire_at"]) for item in items] == [("held", None)]


async def test_different_filters_are_combined_with_and(api: httpx.AsyncClient) -> None:
    wanted = await create(api, client="shop", key="a", schedule={"fire_at": "2031-03-01T09:00:00Z"})
    await create(api, client="shop", key="b", schedule={"fire_at": "2031-03-01T09:00:00Z"})
    await create(api, client="other", key="a")
    assert await listed(api, "client=shop&key=a&queue=default&status=scheduled") == [wanted]
    assert await listed(api, "queue=another") == []


async def test_the_from_filter_is_inclusive_and_the_to_filter_is_exclusive(api: httpx.AsyncClient) -> None:
    wanted = await create(api, schedule={"fire_at": "2031-03-01T09:00:00Z"})
    assert await listed(api, "from=2031-03-01T09:00:00Z&to=2031-03-01T09:00:01Z") == [wanted]
    assert await listed(api, "from=2031-03-01T10:00:00%2B01:00") == [wanted]
    assert await listed(api, "to=2031-03-01T09:00:00Z") == []


async def test_label_filters_match_executions_with_all_given_labels(api: httpx.AsyncClient, db: Connection) -> None:
    labels = {"team": "mail", "formula": "x=y"}
    wanted = await create(api, client="shop", labels=labels)
    await create(api, client="shop", labels={"team": "mail"})
    assert await listed(api, "label=team=mail&label=formula=x=y&client=shop") == [wanted]
    assert len(await listed(api, "label=team=mail")) == 2
    assert (await api.get(f"/v1/executions/{wanted}")).json()["labels"] == labels
    refused = await api.get("/v1/executions?label=team")
    assert (refused.status_code, "NAME=TEXT" in refused.text) == (400, True)
    db.execute("update pgsched.executions set lease_token = 1, lease_expires_at = now()")  # as if a worker runs it
    assert await listed(api, "label=formula=x=y&status=running") == [wanted]


async def test_the_job_filter_finds_only_that_jobs_executions(api: httpx.AsyncClient) -> None:
    job = await create(api, schedule={"every": "1h"})
    await create(api)
    rows = await listed(api, f"job={job}")
    assert rows == [item["id"] for item in (await api.get(f"/v1/jobs/{job}/executions")).json()["items"]]
    assert len(rows) == 1


@pytest.mark.parametrize(
    ("header", "kept"),
    [
        (f"00-{_TRACE}-01", f"00-{_TRACE}-01"),
        (f"cc-{_TRACE}-01-what.the.future-will-be", f"00-{_TRACE}-01"),
        (f"00-{_TRACE}-01-x", None),
        (f"ff-{_TRACE}-01", None),
        (f"00-{'0' * 32}-b7ad6b7169203331-01", None),
    ],
)
async def test_a_one_shot_execution_continues_the_requests_trace(
    api: httpx.AsyncClient, db: Connection, header: str, kept: str | None
) -> None:
    body = {"target": "notify:a", "schedule": {"delay": "1h"}}
    for more in ({}, {"schedule": {"every": "1h"}}, {"options": {"traceparent": _OTHER, "timeout": "5s"}}):
        assert (await api.post("/v1/jobs", json=body | more, headers={"traceparent": header})).status_code == 201
    found = db.execute("select options ->> 'traceparent' from pgsched.executions order by id").fetchall()
    assert found == [(kept,), (None,), (_OTHER,)]


async def test_an_execution_is_shown_with_its_failed_attempts(api: httpx.AsyncClient, db: Connection) -> None:
    execution = finished(db, "failed")
    db.execute(
        "insert into pgsched.attempts (finished_at, execution_id, duration, worker, attempt, status_code, client_id,"
        " error) values ('2026-03-01 09:00+00', %s, '250 ms', 3, 1, 503, 'shop', 'HTTP 503')",
        [execution],
    )
    found = (await api.get(f"/v1/executions/{execution}")).json()
    assert (found["result"], found["status_code"], found["client"]) == ({"a": 1.10}, 200, "shop")
    tried = {"attempt": 1, "finished_at": "2026-03-01T09:00:00Z", "duration": "PT0.25S", "worker": 3}
    assert found["attempts"] == [tried | {"status_code": 503, "error": "HTTP 503", "traceback": None}]


async def test_cancelling_an_execution_twice_changes_it_once(api: httpx.AsyncClient, db: Connection) -> None:
    execution = await create(api)
    answers = [(await api.post(f"/v1/executions/{execution}/cancel")).json() for _ in range(2)]
    assert answers == [{"id": execution, "changed": True}, {"id": execution, "changed": False}]
    assert db.execute("select action, subject::text from pgsched.audit_log where action <> 'insert'").fetchall() == [
        ("cancel", execution)
    ]


async def test_a_running_execution_can_be_cancelled_with_a_note(api: httpx.AsyncClient, db: Connection) -> None:
    execution = await create(api)
    db.execute("update pgsched.executions set lease_token = 1, attempt = 1")
    answer = await api.post(f"/v1/executions/{execution}/cancel", json={"note": "already paid"})
    assert answer.json() == {"id": execution, "changed": True}
    found = (await api.get(f"/v1/executions/{execution}")).json()
    assert (found["status"], found["reason"], found["attempt"]) == ("cancelled", "already paid", 1)


async def test_the_execution_cancel_route_refuses_a_job(api: httpx.AsyncClient) -> None:
    job = await create(api, schedule={"every": "1h"})
    answer = await api.post(f"/v1/executions/{job}/cancel")
    assert (answer.status_code, answer.json()["detail"]) == (404, f"{job} is a job: use DELETE /v1/jobs/{job}")
    assert (await api.get(f"/v1/jobs/{job}")).json()["state"] == "active"


async def test_editing_the_fire_time_reschedules_a_waiting_execution(api: httpx.AsyncClient, db: Connection) -> None:
    execution = await create(api)
    found = (await api.patch(f"/v1/executions/{execution}", json={"fire_at": "2031-03-01T10:00:00+01:00"})).json()
    assert (found["fire_at"], found["scheduled_for"]) == ("2031-03-01T09:00:00Z", "2031-03-01T09:00:00Z")
    assert db.execute("select action from pgsched.audit_log where action <> 'insert'").fetchall() == [("edit",)]


async def test_a_refused_edit_is_not_in_the_audit_log(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api, schedule={"every": "1h"})
    planned = (await listed(api, f"job={job}"))[0]
    answer = await api.patch(f"/v1/executions/{planned}", json={"fire_at": "2031-03-01T09:00:00Z"})
    assert (answer.status_code, answer.json()["code"]) == (409, "pgsched.conflict")
    assert db.execute("select count(*) from pgsched.audit_log where action <> 'insert'").fetchone() == (0,)


async def test_every_route_answers_404_for_an_unknown_execution(api: httpx.AsyncClient) -> None:
    nobody = f"/v1/executions/{uuid.uuid4()}"
    answers = [await api.get(nobody), await api.post(f"{nobody}/cancel")]
    answers.append(await api.patch(nobody, json={"fire_at": "2031-03-01T09:00:00Z"}))
    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(404, "pgsched.not_found")}


def test_listing_a_page_of_executions_uses_index_scans_only(db: Connection) -> None:
    db.execute(
        "insert into pgsched.executions (target, fire_at) select 'notify:a', now() from generate_series(1, 20000)"
    )
    db.execute("analyze pgsched.executions")
    query = page_of_executions(ExecutionFilter(), limit=50, after=None)
    plan = db.execute(f"explain (analyze, format json) {query.text}".encode(), query.parameters).fetchone()
    assert plan is not None
    reads = [node for node in _nodes(plan[0][0]["Plan"]) if node.get("Relation Name", "").startswith("executions_")]
    assert {node["Node Type"] for node in reads} == {"Index Scan"}
    assert {node["Index Name"] for node in reads} == {f"{node['Relation Name']}_pkey" for node in reads}
    assert sum(node["Actual Rows"] * node["Actual Loops"] for node in reads) <= 16 * 50


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from _nodes(inner)


async def test_many_slow_list_requests_do_not_block_scheduling(api: httpx.AsyncClient, db: Connection) -> None:
    with db.transaction():  # blocks every page until the transaction ends
        db.execute("lock table pgsched_internal.kept_dead_letters in access exclusive mode")
        pages = [asyncio.create_task(api.get("/v1/executions")) for _ in range(30)]
        waiting = (
            "select count(*) from pg_locks where not granted"
            " and database = (select oid from pg_database where datname = current_database())"
        )
        async with asyncio.timeout(20):
            while db.execute(waiting).fetchone() != (2,):  # noqa: ASYNC110  the database has no event to wait on
                await asyncio.sleep(0.01)
        created = await api.post("/v1/jobs", json={"target": "notify:a"})
        assert created.status_code == 201
        assert not any(page.done() for page in pages)
    assert {page.status_code for page in await asyncio.gather(*pages)} == {200}


@pytest.mark.parametrize(("status", "told"), [("succeeded", None), ("failed", 0.98)])
async def test_progress_is_hidden_after_success_but_not_after_failure(
    api: httpx.AsyncClient, db: Connection, status: str, told: float | None
) -> None:
    id = finished(db, status)
    db.execute(
        "insert into pgsched.progress (execution_id, partition, client_id, fraction) values (%s, 0, 'shop', 0.98)", [id]
    )
    progress = (await api.get(f"/v1/executions/{id}")).json()["progress"]
    assert (progress and progress["fraction"]) == told
