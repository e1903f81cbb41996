"""Backfills over REST: counted first, then run."""

import uuid
from typing import Any

import httpx
import psycopg
import pytest

from tests.api.test_jobs import create

Connection = psycopg.Connection[tuple[Any, ...]]
DAY = {"from": "2026-03-01T00:00:00+01:00", "to": "2026-03-02T00:00:00+01:00"}


async def start(api: httpx.AsyncClient, job: str, **body: Any) -> httpx.Response:
    return await api.post(f"/v1/jobs/{job}/backfill", json=DAY | body)


def ran(db: Connection, job: str, at: str) -> None:
    db.execute(
        "insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, job_id, status, partition,"
        " attempt, client_id, target)"
        " values (now(), now(), %s, now(), gen_random_uuid(), %s, 'succeeded', 0, 1, 'default', 'notify:a')",
        [at, job],
    )


async def test_a_dry_run_counts_and_starts_nothing(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api)
    ran(db, job, "2026-03-01T01:00:00Z")
    answer = await start(api, job, dry_run=True)
    assert answer.status_code == 200
    assert answer.json() == {"id": None, "job_id": job, "instants": 24, "run_already": 1, "to_run": 23}
    assert (await api.get(f"/v1/jobs/{job}/backfills")).json() == {"items": [], "next": None}


async def test_a_backfill_is_found_where_the_answer_says(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api)
    answer = await start(api, job, rate=2.5)
    assert answer.status_code == 201
    found = (await api.get(answer.headers["location"])).json()
    counted = {
        name: found[name] for name in ("job_id", "rate", "state", "instants", "planned", "live", "finished", "failed")
    }
    assert counted == {
        "job_id": job, "rate": 2.5, "state": "active", "instants": 24,
        "planned": 0, "live": 0, "finished": 0, "failed": 0,
    }  # fmt: skip
    assert (found["starts_at"], found["ends_at"]) == ("2026-02-28T23:00:00Z", "2026-03-01T23:00:00Z")
    log = db.execute("select action, actor from pgsched.audit_log where action <> 'insert'").fetchall()
    assert log == [("backfill", "api 127.0.0.1")]


async def test_a_paused_job_can_be_backfilled(api: httpx.AsyncClient) -> None:
    job = await create(api)
    await api.post(f"/v1/jobs/{job}/pause")
    assert (await start(api, job)).status_code == 201


async def test_cancelling_says_whether_it_did(api: httpx.AsyncClient) -> None:
    place = (await start(api, await create(api))).headers["location"]
    assert [(await api.delete(place)).json()["changed"] for _ in range(2)] == [True, False]
    assert (await api.get(place)).json()["state"] == "cancelled"


async def test_backfills_are_listed_page_by_page_from_the_newest(api: httpx.AsyncClient) -> None:
    job = await create(api)
    made = []
    for _ in range(3):
        answer = await start(api, job)
        made.append(answer.json()["id"])
        await api.delete(answer.headers["location"])
    first = (await api.get(f"/v1/jobs/{job}/backfills?limit=2")).json()
    second = (await api.get(f"/v1/jobs/{job}/backfills?limit=2&after={first['next']}")).json()
    assert [item["id"] for item in [*first["items"], *second["items"]]] == made[::-1]
    assert second["next"] is None


async def test_a_range_in_hand_is_a_conflict(api: httpx.AsyncClient) -> None:
    job = await create(api)
    await start(api, job)
    answer = await start(api, job)
    assert (answer.status_code, answer.json()["code"]) == (409, "pgsched.conflict")


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"to": "2026-02-01T00:00:00Z"}, 422, "the earlier instant"),
        ({"to": "9000-01-01T00:00:00Z"}, 422, "in the future"),
        ({"from": "2026-03-01T00:00:00"}, 422, "from 2026-03-01T00:00:00 has no offset"),
        ({"from": "2000-03-01T00:00:00Z"}, 422, "3653 days"),
        ({"rate": 0}, 400, "rate"),
        ({"rate": "fast"}, 400, "rate"),
        ({"rates": 1}, 400, "rates"),
    ],
)
async def test_what_cannot_be_meant_is_refused_with_what_to_write(
    api: httpx.AsyncClient, body: dict[str, Any], status: int, words: str
) -> None:
    job = await create(api)
    for dry_run in (True, False):
        answer = await start(api, job, dry_run=dry_run, **body)
        assert (answer.status_code, words in answer.json()["detail"]) == (status, True), answer.text


async def test_unknown_jobs_and_backfills_are_not_found(api: httpx.AsyncClient) -> None:
    unknown = uuid.uuid4()
    answers = [
        await start(api, str(unknown)),
        await api.get(f"/v1/jobs/{unknown}/backfills"),
        await api.get(f"/v1/backfills/{unknown}"),
        await api.delete(f"/v1/backfills/{unknown}"),
    ]
    assert [answer.status_code for answer in answers] == [404] * 4
