"""POST /v1/jobs: every kind of schedule."""

from datetime import datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from pgsched.domain.schedule import from_parts, next_instant

Connection = psycopg.Connection[tuple[Any, ...]]


async def create(api: httpx.AsyncClient, **body: Any) -> Any:
    answer = await api.post("/v1/jobs", json={"target": "https://shop.example/settle"} | body)
    assert answer.is_success, answer.text
    assert answer.status_code == (201 if answer.json()["outcome"] == "created" else 200)
    return answer.json()


async def test_a_request_without_a_schedule_creates_an_execution_due_now(
    api: httpx.AsyncClient, db: Connection
) -> None:
    answer = await api.post("/v1/jobs", json={"target": "https://shop.example/settle"})
    assert (answer.status_code, answer.json()["kind"]) == (201, "execution")
    assert answer.headers["location"] == f"/v1/executions/{answer.json()['id']}"
    fire_at = datetime.fromisoformat(answer.json()["fire_at"])
    assert db.execute("select id::text, fire_at from pgsched.executions").fetchall() == [(answer.json()["id"], fire_at)]


async def test_a_delay_counts_from_the_databases_clock(api: httpx.AsyncClient, db: Connection) -> None:
    await create(api, schedule={"delay": "PT10M"})
    found = db.execute("select fire_at - created_at from pgsched.executions").fetchone()
    assert found == (timedelta(minutes=10),)


async def test_an_instant_with_an_offset_is_returned_in_utc(api: httpx.AsyncClient) -> None:
    answer = await create(api, schedule={"fire_at": "2031-03-01T09:00:00+01:00"})
    assert answer["fire_at"] == "2031-03-01T08:00:00Z"


async def test_a_cron_job_is_planned_before_the_response(api: httpx.AsyncClient, db: Connection) -> None:
    answer = await create(api, schedule={"cron": "30 2 * * *", "timezone": "Europe/Berlin"})
    assert answer["kind"] == "job"
    planned = db.execute("select job_id::text, fire_at from pgsched.executions").fetchall()
    assert planned == [(answer["id"], datetime.fromisoformat(answer["fire_at"]))]


async def test_an_interval_counts_from_the_jobs_creation(api: httpx.AsyncClient, db: Connection) -> None:
    answer = await create(api, schedule={"every": "15m"})
    anchor = db.execute("select anchor from pgsched.jobs").fetchone()
    assert anchor is not None
    assert datetime.fromisoformat(answer["fire_at"]) == anchor[0] + timedelta(minutes=15)


async def test_replacing_a_job_resets_omitted_gap_and_overlap_rules(api: httpx.AsyncClient, db: Connection) -> None:
    cron = {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}
    await create(api, key="nightly", schedule=cron | {"gap": "skip", "overlap": "both"})
    kept = db.execute("select gap, overlap from pgsched.jobs").fetchone()
    await create(api, key="nightly", schedule=cron)
    assert (kept, db.execute("select gap, overlap from pgsched.jobs").fetchall()) == (
        ("skip", "both"),
        [("shift", "first")],
    )


async def test_scheduling_a_key_again_replaces_its_waiting_execution(api: httpx.AsyncClient, db: Connection) -> None:
    first = await create(api, key="settle-42", schedule={"delay": "1h"})
    second = await create(api, key="settle-42", schedule={"fire_at": "2031-03-01T09:00:00Z"})
    assert second == {
        "id": first["id"],
        "kind": "execution",
        "outcome": "replaced",
        "fire_at": "2031-03-01T09:00:00Z",
    }
    assert db.execute("select count(*) from pgsched.executions").fetchone() == (1,)


async def test_reusing_a_succeeded_executions_key_returns_that_execution(
    api: httpx.AsyncClient, db: Connection
) -> None:
    first = await create(api, key="settle-42", schedule={"delay": "1h"})
    db.execute("select pgsched_internal.end_execution(e, 'succeeded', 'by hand') from pgsched.executions e")
    db.execute("delete from pgsched.executions")
    assert await create(api, key="settle-42") == {
        "id": first["id"],
        "kind": "execution",
        "outcome": "ended",
        "fire_at": None,
    }


async def test_a_repeated_idempotency_key_creates_one_execution(api: httpx.AsyncClient, db: Connection) -> None:
    body = {"target": "https://shop.example/settle", "schedule": {"delay": "1h"}}
    answers = [await api.post("/v1/jobs", json=body, headers={"Idempotency-Key": "once"}) for _ in range(3)]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert db.execute("select key from pgsched.executions").fetchall() == [("once",)]


async def test_a_key_in_the_body_overrides_the_idempotency_key_header(api: httpx.AsyncClient, db: Connection) -> None:
    body = {"target": "https://shop.example/settle", "key": "mine"}
    await api.post("/v1/jobs", json=body, headers={"Idempotency-Key": "theirs"})
    assert db.execute("select key from pgsched.executions").fetchall() == [("mine",)]


@pytest.mark.parametrize(
    "payload", ["1.10", "123456789012345678901234567890", '"\\u00e9 \\ud83d\\ude00"', "null", '[1, {"a": []}]']
)
async def test_a_payload_is_returned_digit_for_digit(api: httpx.AsyncClient, payload: str) -> None:
    body = f'{{"target": "notify:orders", "payload": {payload}}}'.encode()
    created = await api.post("/v1/jobs", content=body, headers={"Content-Type": "application/json"})
    found = await api.get(created.headers["location"])
    written = payload.encode().decode("unicode_escape").encode("utf-16", "surrogatepass").decode("utf-16")
    assert f'"payload":{written},' in found.text


async def test_a_number_too_long_for_python_is_returned_unchanged(api: httpx.AsyncClient) -> None:
    number = "0." + "1" * 5000
    for schedule in ("{}", '{"every": "1h"}'):
        body = f'{{"target": "notify:a", "schedule": {schedule}, "payload": {number}}}'
        created = await api.post("/v1/jobs", content=body, headers={"Content-Type": "application/json"})
        assert created.status_code == 201
        assert f'"payload":{number},' in (await api.get(created.headers["location"])).text


async def test_an_execution_is_returned_with_all_requested_fields(api: httpx.AsyncClient) -> None:
    asked: dict[str, Any] = {"client": "shop", "key": "k", "ordering_key": "o", "queue": "default"}
    asked |= {"target": "python:a", "options": {"timeout": "PT5S"}, "payload": {"merchant": 42}}
    created = await create(api, **asked)
    found = (await api.get(f"/v1/executions/{created['id']}")).json()
    assert {name: found[name] for name in asked} == asked


async def test_a_paused_job_stays_paused_when_scheduled_again(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api, key="nightly", schedule={"every": "1h"})
    await api.post(f"/v1/jobs/{job['id']}/pause")
    again = await create(api, key="nightly", schedule={"every": "2h"})
    assert again == {"id": job["id"], "kind": "job", "outcome": "replaced", "fire_at": None}
    assert db.execute("select count(*) from pgsched.executions").fetchone() == (0,)


async def test_the_on_conflict_option_decides_the_outcome_for_a_taken_key(
    api: httpx.AsyncClient, db: Connection
) -> None:
    made = await create(api, key="k", payload={"n": 1}, schedule={"fire_at": "2031-03-01T09:00:00Z"})
    kept = await create(api, key="k", payload={"n": 2}, schedule={"delay": "1h"}, on_conflict="keep")
    assert kept == made | {"outcome": "existing"}
    moved = await create(api, key="k", schedule={"fire_at": "2032-03-01T09:00:00Z"}, on_conflict="debounce")
    assert (moved["id"], moved["fire_at"]) == (made["id"], "2032-03-01T09:00:00Z")
    refused = await api.post("/v1/jobs", json={"target": "python:a", "key": "k", "on_conflict": "reject"})
    assert (refused.status_code, refused.json()["code"]) == (409, "pgsched.conflict")
    assert db.execute("select payload, target from pgsched.executions").fetchall() == [
        ({"n": 1}, "https://shop.example/settle")
    ]


async def test_on_conflict_keep_preserves_a_jobs_schedule_and_fire_time(api: httpx.AsyncClient, db: Connection) -> None:
    cron = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "gap": "skip", "overlap": "both"}
    made = await create(api, key="k", schedule=cron)
    kept = await create(api, key="k", schedule={"cron": "0 9 * * *"}, on_conflict="keep")
    assert kept == made | {"outcome": "existing"}
    assert db.execute("select cron, gap, overlap from pgsched.jobs").fetchall() == [("30 2 * * *", "skip", "both")]


async def test_a_hashed_schedule_depends_only_on_client_and_key(api: httpx.AsyncClient) -> None:
    cron = {"cron": "H H * * *", "timezone": "Europe/Berlin"}
    made = await create(api, client="payments", key="nightly", schedule=cron)
    resolved = from_parts(cron=cron["cron"], timezone=cron["timezone"], identity="payments/nightly")
    first = datetime.fromisoformat(made["fire_at"])
    assert next_instant(resolved, first - timedelta(seconds=1)) == first
    await api.delete(f"/v1/jobs/{made['id']}")
    again = await create(api, client="payments", key="nightly", schedule=cron)
    assert again["fire_at"] == made["fire_at"]
    assert (await api.get(f"/v1/jobs/{again['id']}")).json()["schedule"]["cron"] == "H H * * *"


async def test_on_conflict_keep_does_not_replan_a_job(api: httpx.AsyncClient, db: Connection) -> None:
    job = {"key": "k", "schedule": {"cron": "30 2 * * *"}}
    await create(api, **job)
    db.execute("select pgsched.cancel(id) from pgsched.executions")
    db.execute("update pgsched.jobs set planned_revision = revision")
    await create(api, **job, on_conflict="keep")
    assert db.execute("select count(*) from pgsched.executions").fetchone() == (0,)


async def test_an_execution_lists_the_executions_it_waits_for(api: httpx.AsyncClient) -> None:
    first = await create(api, schedule={"delay": "PT1H"}, key="extract")
    second = await create(api, schedule={"delay": "PT1H"})
    last = await create(api, after=["extract", second["id"]])
    assert last["fire_at"] is None
    detail = (await api.get(f"/v1/executions/{last['id']}")).json()
    assert (detail["status"], detail["fire_at"]) == ("held", None)
    assert sorted(detail["waits_for"]) == sorted([first["id"], second["id"]])
    assert (await api.get(f"/v1/executions/{first['id']}")).json()["waits_for"] == []


async def test_a_dependency_on_any_outcome_is_stored(api: httpx.AsyncClient, db: Connection) -> None:
    await create(api, schedule={"delay": "PT1H"}, key="extract")
    await create(api, after=["extract"], after_outcome="any")
    assert db.execute("select outcome from pgsched.dependencies").fetchall() == [("any",)]


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("pgsched.not_found", {"after": ["nothing"]}),
        ("pgsched.invalid_schedule", {"after": ["extract"], "schedule": {"every": "1h"}}),
        ("pgsched.invalid_input", {"after": ["extract"], "after_outcome": "failure"}),
        ("pgsched.invalid_input", {"after_outcome": "any"}),
        ("pgsched.invalid_input", {"after": ["extract"] * 101}),
        ("pgsched.invalid_input", {"after": ["\x00"]}),
        ("pgsched.conflict", {"after": ["hourly"]}),
    ],
)
async def test_an_invalid_dependency_is_refused(api: httpx.AsyncClient, code: str, body: dict[str, Any]) -> None:
    await create(api, schedule={"delay": "PT1H"}, key="extract")
    await create(api, schedule={"every": "1h"}, key="hourly")
    answer = await api.post("/v1/jobs", json={"target": "https://shop.example/settle"} | body)
    assert answer.json()["code"] == code, answer.text


async def test_a_failed_executions_key_can_be_reused(api: httpx.AsyncClient, db: Connection) -> None:
    first = await create(api, key="settle-42", payload={"merchant": "wrong"})
    db.execute("select pgsched_internal.end_execution(e, 'failed', 'by hand') from pgsched.executions e")
    db.execute("delete from pgsched.executions")
    second = await create(api, key="settle-42", payload={"merchant": 42})
    assert second["id"] != first["id"]
    assert (second["outcome"], second["fire_at"] is None) == ("created", False)


async def test_a_one_shot_execution_cannot_take_a_jobs_key(api: httpx.AsyncClient) -> None:
    job = await create(api, key="k", schedule={"every": "1h"})
    refused = await api.post("/v1/jobs", json={"target": "python:a", "key": "k"})
    assert (refused.status_code, refused.json()["code"]) == (409, "pgsched.conflict")
    assert f"taken by job {job['id']}" in refused.json()["detail"]
