"""Recurring jobs over REST."""

import uuid
from typing import Any

import httpx
import psycopg
import pytest

pytestmark = pytest.mark.smoke

Connection = psycopg.Connection[tuple[Any, ...]]


async def create(api: httpx.AsyncClient, **body: Any) -> str:
    body = {"target": "https://shop.example/settle", "schedule": {"cron": "0 * * * *"}} | body
    answer = await api.post("/v1/jobs", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def test_a_job_is_returned_with_its_next_fire_time(api: httpx.AsyncClient) -> None:
    schedule = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "gap": "skip", "overlap": "both"}
    created = await api.post("/v1/jobs", json={"target": "notify:a", "key": "k", "schedule": schedule})
    found = (await api.get(created.headers["location"])).json()
    assert found["schedule"] == schedule
    assert (found["state"], found["fire_at"]) == ("active", created.json()["fire_at"])


async def test_a_jobs_fire_time_is_computed_when_no_execution_is_planned(
    api: httpx.AsyncClient, db: Connection
) -> None:
    job = await create(api)
    planned = (await api.get(f"/v1/jobs/{job}")).json()["fire_at"]
    db.execute("delete from pgsched.executions")
    assert (await api.get(f"/v1/jobs/{job}")).json()["fire_at"] == planned


async def test_a_job_inserted_with_an_impossible_cron_has_no_fire_time(api: httpx.AsyncClient, db: Connection) -> None:
    insert = "insert into pgsched.jobs (target, cron) values ('notify:a', '0 0 30-31 2 *') returning id"
    job = db.execute(insert).fetchone()
    assert job is not None
    found = await api.get(f"/v1/jobs/{job[0]}")
    assert (found.status_code, found.json()["fire_at"]) == (200, None)


@pytest.mark.parametrize("sort", ["newest", "oldest"])
async def test_jobs_can_be_paged_newest_or_oldest_first(api: httpx.AsyncClient, sort: str) -> None:
    made = [await create(api, schedule={"every": f"{n}h"}) for n in range(1, 6)]
    created = made if sort == "newest" else made[::-1]
    seen, after = [], ""
    for _ in range(3):
        page = (await api.get(f"/v1/jobs?sort={sort}&limit=2{after}")).json()
        seen.append([item["id"] for item in page["items"]])
        after = f"&after={page['next']}"
    assert page["next"] is None
    assert seen == [created[4:2:-1], created[2:0:-1], created[:1]]


async def test_jobs_are_listed_with_their_last_outcomes(api: httpx.AsyncClient, db: Connection) -> None:
    job, other = await create(api), await create(api)
    for n, status in enumerate(("succeeded", "failed", "skipped")):
        db.execute(
            "insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, status, partition,"
            " attempt, client_id, target, job_id) values (now(), now(), %s, now(), pgsched_internal.new_id(), %s, 0, 1,"
            " 'default', 'notify:a', %s)",
            [f"2026-03-0{3 - n} 09:00+00", status, job],
        )
    items = (await api.get("/v1/jobs?last_outcomes=2")).json()["items"]
    assert [[end["status"] for end in item["last_outcomes"]] for item in items] == [[], ["succeeded", "failed"]]
    assert [item["id"] for item in items] == [other, job]
    assert items[1]["last_outcomes"][0]["scheduled_for"] == "2026-03-03T09:00:00Z"
    assert [item["last_outcomes"] for item in (await api.get("/v1/jobs")).json()["items"]] == [None, None]
    assert (await api.get("/v1/jobs?last_outcomes=11")).status_code == 400


async def test_a_job_is_returned_with_its_usual_duration(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api)
    assert (await api.get(f"/v1/jobs/{job}")).json()["usual_duration"] is None
    db.execute(
        "insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, status, partition, attempt,"
        " client_id, target, job_id, began_at, seconds) select now(), now(), now() - n * interval '1 hour', now(),"
        " pgsched_internal.new_id(), case when n = 21 then 'failed' else 'succeeded' end::pgsched.execution_status, 0,"
        " 1, 'default', 'notify:a', %s, now(), case when n = 21 then 900 else n end from generate_series(1, 21) n",
        [job],
    )
    found = (await api.get(f"/v1/jobs/{job}")).json()
    assert found["usual_duration"] == {"p50": "PT10S", "p95": "PT19S", "runs": 20}
    [last] = (await api.get("/v1/jobs?last_outcomes=1")).json()["items"][0]["last_outcomes"]
    assert last["duration"] == "PT1S"


async def test_jobs_can_be_filtered_by_client_state_and_key(api: httpx.AsyncClient) -> None:
    wanted = await create(api, client="shop", key="a")
    for body in ({"client": "shop", "key": "b"}, {"client": "other", "key": "a"}):
        await create(api, **body)
    assert [item["id"] for item in (await api.get("/v1/jobs?client=shop&key=a&state=active")).json()["items"]] == [
        wanted
    ]
    assert (await api.get("/v1/jobs?state=paused")).json() == {"items": [], "next": None}


async def test_pausing_a_job_removes_its_planned_execution_and_is_logged_once(
    api: httpx.AsyncClient, db: Connection
) -> None:
    job = await create(api)
    answers = [(await api.post(f"/v1/jobs/{job}/pause", json={"note": "stocktaking"})).json() for _ in range(2)]
    assert answers == [{"id": job, "changed": True}, {"id": job, "changed": False}]
    found = (await api.get(f"/v1/jobs/{job}")).json()
    assert (found["state"], found["reason"], found["fire_at"]) == ("paused", "stocktaking", None)
    assert db.execute("select count(*) from pgsched.executions").fetchone() == (0,)
    logged = db.execute(
        "select actor, action, subject::text, detail from pgsched.audit_log where action <> 'insert'"
    ).fetchall()
    assert logged == [("api 127.0.0.1", "pause", job, {"note": "stocktaking"})]


async def test_a_job_can_be_paused_without_a_request_body(api: httpx.AsyncClient) -> None:
    job = await create(api)
    assert (await api.post(f"/v1/jobs/{job}/pause")).json() == {"id": job, "changed": True}


async def test_resuming_makes_a_paused_job_active(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api)
    await api.post(f"/v1/jobs/{job}/pause")
    assert (await api.post(f"/v1/jobs/{job}/resume")).json() == {"id": job, "changed": True}
    assert (await api.get(f"/v1/jobs/{job}")).json()["state"] == "active"
    assert db.execute("select action from pgsched.audit_log where action <> 'insert' order by id").fetchall() == [
        ("pause",),
        ("resume",),
    ]


async def test_pausing_sets_the_paused_at_field_and_resuming_clears_it(api: httpx.AsyncClient) -> None:
    job = await create(api)
    await api.post(f"/v1/jobs/{job}/pause")
    found = (await api.get(f"/v1/jobs/{job}")).json()
    assert found["paused_at"] == found["updated_at"]
    await api.post(f"/v1/jobs/{job}/resume", json={"note": "open again"})
    assert (await api.get(f"/v1/jobs/{job}")).json()["paused_at"] is None


async def test_a_jobs_runs_field_is_null_without_a_max_runs_limit(api: httpx.AsyncClient) -> None:
    job = await create(api)
    assert (await api.get(f"/v1/jobs/{job}")).json()["runs"] is None
    assert (await api.get("/v1/jobs")).json()["items"][0]["runs"] is None


async def test_a_job_is_returned_with_its_rules_and_labels(api: httpx.AsyncClient) -> None:
    asked = {"rules": {"max_runs": 2, "on_overlap": "skip"}, "labels": {"team": "payments"}}
    job = await create(api, **asked)
    found = (await api.get(f"/v1/jobs/{job}")).json()
    assert (found["rules"], found["labels"], found["runs"]) == (asked["rules"], asked["labels"], 0)
    assert (await api.get("/v1/jobs")).json()["items"][0]["labels"] == asked["labels"]


async def test_jobs_can_be_filtered_by_target_host(api: httpx.AsyncClient) -> None:
    wanted = await create(api, client="a", target="https://Old.example:8443/x")
    await create(api, client="a")
    for query in ("host=old.example", "host=OLD.example&client=a"):
        found = (await api.get(f"/v1/jobs?{query}")).json()["items"]
        assert [job["id"] for job in found] == [wanted]
    assert (await api.get("/v1/jobs?host=old.example&client=b")).json()["items"] == []


async def test_label_filters_match_jobs_with_all_given_labels(api: httpx.AsyncClient) -> None:
    wanted = await create(api, labels={"team": "a", "formula": "x=y"})
    await create(api, labels={"team": "a"})
    found = (await api.get("/v1/jobs", params={"label": ["team=a", "formula=x=y"]})).json()["items"]
    assert [item["id"] for item in found] == [wanted]


async def test_the_state_filter_finds_finished_jobs(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api)
    db.execute("update pgsched.jobs set state = 'finished'")
    assert [item["id"] for item in (await api.get("/v1/jobs?state=finished")).json()["items"]] == [job]
    assert (await api.get(f"/v1/jobs/{job}")).json()["fire_at"] is None


async def test_triggering_a_job_adds_a_run_beside_the_planned_run(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api)
    answer = await api.post(f"/v1/jobs/{job}/trigger", headers={"Idempotency-Key": "whatever"})
    assert (answer.status_code, answer.json()["job_id"]) == (201, job)
    assert answer.headers["location"] == f"/v1/executions/{answer.json()['id']}"
    page = (await api.get(f"/v1/jobs/{job}/executions")).json()["items"]
    assert answer.json()["id"] in {item["id"] for item in page}
    assert len(page) == 2
    logged = db.execute("select action, detail from pgsched.audit_log where action <> 'insert'").fetchall()
    assert logged == [("trigger", {"execution": answer.json()["id"]})]


async def test_deleting_a_job_cancels_the_job_and_its_planned_execution(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api)
    answers = [(await api.delete(f"/v1/jobs/{job}")).json()["changed"] for _ in range(2)]
    assert answers == [True, False]
    assert (await api.get(f"/v1/jobs/{job}")).json()["state"] == "cancelled"
    assert db.execute("select count(*) from pgsched.executions").fetchone() == (0,)
    assert db.execute("select action from pgsched.audit_log where action <> 'insert'").fetchall() == [("cancel",)]


async def test_the_delete_job_route_also_cancels_an_execution_by_id(api: httpx.AsyncClient) -> None:
    created = await api.post("/v1/jobs", json={"target": "notify:a", "schedule": {"delay": "1h"}})
    assert (await api.delete(f"/v1/jobs/{created.json()['id']}")).json()["changed"] is True
    assert (await api.get(created.headers["location"])).json()["status"] == "cancelled"


async def test_a_cancelled_job_cannot_be_paused_resumed_or_triggered(api: httpx.AsyncClient) -> None:
    job = await create(api)
    await api.delete(f"/v1/jobs/{job}")
    for verb in ("pause", "resume", "trigger"):
        answer = await api.post(f"/v1/jobs/{job}/{verb}")
        assert (answer.status_code, answer.json()["code"]) == (409, "pgsched.conflict")


async def test_every_route_answers_404_for_an_unknown_job(api: httpx.AsyncClient) -> None:
    nobody = f"/v1/jobs/{uuid.uuid4()}"
    answers = [await api.get(nobody), await api.delete(nobody), await api.get(f"{nobody}/executions")]
    answers += [await api.post(f"{nobody}/{verb}") for verb in ("pause", "resume", "trigger")]
    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(404, "pgsched.not_found")}
