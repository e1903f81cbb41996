"""Edits of a job over REST, and their previews."""

import uuid
from typing import Any

import httpx
import psycopg
import pytest

from tests.api.test_jobs import create

Connection = psycopg.Connection[tuple[Any, ...]]
_MARCH = "2026-03-01T09:00:00Z"
_BERLIN = {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}


async def test_an_edit_returns_the_edited_job(api: httpx.AsyncClient) -> None:
    job = await create(api, key="k", payload={"n": 1})
    answer = await api.patch(f"/v1/jobs/{job}", json={"schedule": {"every": "1h30m"}, "labels": {"team": "a"}})
    assert answer.status_code == 200
    found = answer.json()
    assert (found["schedule"], found["labels"], found["payload"]) == ({"every": "PT1H30M"}, {"team": "a"}, {"n": 1})
    assert found == (await api.get(f"/v1/jobs/{job}")).json()


async def test_an_edit_with_a_stale_etag_is_refused(api: httpx.AsyncClient) -> None:
    path = f"/v1/jobs/{await create(api)}"
    read = (await api.get(path)).headers["ETag"]

    async def edit(target: str, tag: str) -> httpx.Response:
        return await api.patch(path, json={"target": target}, headers={"If-Match": tag})

    first = await edit("notify:b", read)
    assert (first.status_code, first.headers["ETag"] == read) == (200, False)
    late = await edit("notify:c", read)
    assert (late.status_code, late.json()["code"]) == (412, "pgsched.conflict")
    assert (await edit("notify:d", f'"1", W/{first.headers["ETag"]}')).status_code == 412
    assert (await api.get(path)).json()["target"] == "notify:b"
    assert [(await edit("notify:e", tag)).status_code for tag in (f'"1", {first.headers["ETag"]}', "*")] == [200, 200]


async def test_a_matching_if_none_match_header_gets_a_304(api: httpx.AsyncClient, db: Connection) -> None:
    path = f"/v1/jobs/{await create(api)}"
    read = (await api.get(path)).headers["ETag"]

    async def look(tag: str) -> tuple[int, bytes, bool]:
        answer = await api.get(path, headers={"If-None-Match": tag})
        return answer.status_code, answer.content, answer.headers["ETag"] == read

    for known in (read, f"W/{read}", f'"other", {read}', "*"):
        assert await look(known) == (304, b"", True)
    assert [(await look(tag))[0] for tag in ('"other"', "", f'{read[:-1]}0"')] == [200, 200, 200]
    db.execute("update pgsched.executions set scheduled_for = scheduled_for + interval '1 minute'")
    assert (await look(read))[::2] == (200, False)
    assert (await api.patch(path, json={"target": "notify:b"}, headers={"If-Match": read})).status_code == 200


async def test_editing_the_schedule_replans_the_job_in_the_same_transaction(
    api: httpx.AsyncClient, db: Connection
) -> None:
    job = await create(api)
    answer = await api.patch(f"/v1/jobs/{job}", json={"schedule": _BERLIN})
    rows = db.execute("select fire_at from pgsched.executions").fetchall()
    assert [row[0].isoformat().replace("+00:00", "Z") for row in rows] == [answer.json()["fire_at"]]
    assert db.execute("select revision = planned_revision from pgsched.jobs").fetchone() == (True,)


async def test_payload_edits_preserve_digits_and_null_removes_the_payload(
    api: httpx.AsyncClient, db: Connection
) -> None:
    job = await create(api)
    headers = {"Content-Type": "application/json"}
    await api.patch(f"/v1/jobs/{job}", content=b'{"payload": {"price": 1.500000000000000000001}}', headers=headers)
    shown = db.execute("select payload::text from pgsched.executions").fetchone()
    assert shown == ('{"price": 1.500000000000000000001}',)
    await api.patch(f"/v1/jobs/{job}", json={"payload": None})
    assert db.execute("select payload from pgsched.executions").fetchone() == (None,)


async def test_a_declared_job_can_be_edited_only_with_force(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api)
    db.execute('select pgsched.edit(%s, \'{"declared_by": "jobs.toml"}\')', [job])
    refused = await api.patch(f"/v1/jobs/{job}", json={"target": "notify:b"})
    assert (refused.status_code, refused.json()["code"]) == (409, "pgsched.conflict")
    assert "declared by 'jobs.toml'" in refused.json()["detail"]
    found = (await api.patch(f"/v1/jobs/{job}", params={"force": "true"}, json={"target": "notify:b"})).json()
    assert (found["target"], found["declared_by"]) == ("notify:b", "jobs.toml")


async def test_an_edits_audit_entry_lists_the_changed_fields(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api)
    for _ in range(2):
        await api.patch(f"/v1/jobs/{job}", json={"target": "notify:b"})
    logged = db.execute(
        "select actor, action, subject::text, detail from pgsched.audit_log where action <> 'insert'"
    ).fetchall()
    assert logged == [("api 127.0.0.1", "edit", job, {"changed": ["target"]})]


async def test_correcting_an_invalid_jobs_schedule_makes_the_job_active(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api)
    db.execute("update pgsched.jobs set cron = '0 0 30-31 2 *', state = 'invalid', reason = 'never occurs'")
    found = (await api.patch(f"/v1/jobs/{job}", json={"schedule": {"cron": "@daily"}})).json()
    assert (found["state"], found["reason"], found["fire_at"] is None) == ("active", None, False)


async def test_raising_the_max_runs_limit_reactivates_a_finished_job(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api, rules={"max_runs": 2})
    db.execute("delete from pgsched.executions")
    db.execute("update pgsched.jobs set state = 'finished', runs = 2")
    found = (await api.patch(f"/v1/jobs/{job}", json={"rules": {"max_runs": 3}})).json()
    assert (found["state"], found["runs"], found["fire_at"] is None) == ("active", 0, False)


async def test_editing_the_anchor_moves_the_fire_times(api: httpx.AsyncClient) -> None:
    job = await create(api, schedule={"every": "24h"})
    found = (await api.patch(f"/v1/jobs/{job}", json={"schedule": {"anchor": "2026-01-01T03:00:00+01:00"}})).json()
    assert found["fire_at"].endswith("T02:00:00Z")


async def test_editing_a_paused_job_leaves_it_paused(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api)
    await api.post(f"/v1/jobs/{job}/pause")
    found = (await api.patch(f"/v1/jobs/{job}", json={"schedule": {"every": "1h"}})).json()
    assert (found["state"], found["fire_at"]) == ("paused", None)
    assert db.execute("select count(*) from pgsched.executions").fetchone() == (0,)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("status", "hint", "body"),
    [
        (400, "the fields are target, schedule", {"retries": 3}),
        (400, "the fields are cron, every", {"schedule": {"fire_at": "2030-01-01T00:00:00Z"}}),
        (400, "Expected", {"labels": {"team": 5}}),
        (404, "pgsched.queues", {"queue": "nowhere"}),
        (422, "it replaces the other", {"schedule": {"cron": "@daily", "every": "1h"}}),
        (422, "never occurs", {"schedule": {"cron": "0 0 31 2 *"}}),
        (422, "Mars/Base", {"schedule": {"timezone": "Mars/Base"}}),
        (422, "no unit", {"schedule": {"every": "90"}}),
        (422, 'give "cron"', {"schedule": {"every": "1h", "gap": "skip"}}),
        (422, '"anchor" needs "every"', {"schedule": {"cron": "@daily", "anchor": "2026-01-01T00:00:00Z"}}),
        (422, "in the rules", {"schedule": {"every": "1h", "anchor": _MARCH}, "rules": {"anchor": _MARCH}}),
        (422, "offset", {"schedule": {"every": "1h", "anchor": "2026-01-01"}}),
        (422, "there is no rule", {"rules": {"jiter": "5m"}}),
        (422, 'needs "every"', {"rules": {"after_completion": True}}),
        (422, "write one of", {"target": "ftp://shop.example"}),
        (422, "unknown option", {"options": {"tiemout": "5s"}}),
        (422, "NUL", {"target": "notify:a\x00"}),
    ],
    ids=str,
)
async def test_edit_and_preview_refuse_the_same_invalid_requests(
    refusing: httpx.AsyncClient, witness: Connection, status: int, hint: str, body: dict[str, Any]
) -> None:
    job = await create(refusing)
    query = (
        "select to_jsonb(j), to_jsonb(e) from pgsched.jobs j join pgsched.executions e on job_id = j.id where j.id = %s"
    )
    before = witness.execute(query, [job]).fetchone()
    for answer in (
        await refusing.patch(f"/v1/jobs/{job}", json=body),
        await refusing.post(f"/v1/jobs/{job}/preview", json=body),
    ):
        assert (answer.status_code, hint in answer.json()["detail"]) == (status, True), answer.text
    assert before is not None
    assert witness.execute(query, [job]).fetchone() == before


async def test_editing_a_cancelled_or_unknown_job_is_refused(api: httpx.AsyncClient) -> None:
    job = await create(api)
    await api.delete(f"/v1/jobs/{job}")
    for id, status in ((job, 409), (uuid.uuid4(), 404)):
        assert (await api.patch(f"/v1/jobs/{id}", json={"target": "notify:b"})).status_code == status
        assert (await api.post(f"/v1/jobs/{id}/preview", json={"target": "notify:b"})).status_code == status


async def test_a_preview_shows_old_and_new_fire_times_and_changes_nothing(
    api: httpx.AsyncClient, db: Connection
) -> None:
    job = await create(api, schedule=_BERLIN)
    body = {"rules": {"exclude": ["2026-10-25"]}, "from": "2026-10-24T12:00:00Z", "count": 2}
    before = db.execute("select to_jsonb(j) from pgsched.jobs j").fetchone()
    found = (await api.post(f"/v1/jobs/{job}/preview", json=body)).json()
    assert found["before"][0] == {
        "fire_at": "2026-10-25T00:30:00Z",
        "local": "2026-10-25T02:30:00+02:00",
        "note": "first of two 02:30: the clocks go back",
    }
    assert [fire["local"] for fire in found["after"]] == ["2026-10-26T02:30:00+01:00", "2026-10-27T02:30:00+01:00"]
    assert db.execute("select to_jsonb(j) from pgsched.jobs j").fetchone() == before


async def test_a_preview_shows_only_the_runs_that_the_max_runs_limit_allows(
    api: httpx.AsyncClient, db: Connection
) -> None:
    job = await create(api, rules={"max_runs": 4})
    db.execute("update pgsched.jobs set runs = 1")
    found = (await api.post(f"/v1/jobs/{job}/preview", json={"rules": {"max_runs": 2}})).json()
    assert (len(found["before"]), len(found["after"])) == (3, 1)


async def test_a_preview_of_an_invalid_job_shows_the_repaired_schedule(api: httpx.AsyncClient, db: Connection) -> None:
    job = await create(api)
    db.execute("update pgsched.jobs set cron = '0 0 30-31 2 *', state = 'invalid'")
    found = (await api.post(f"/v1/jobs/{job}/preview", json={"schedule": {"cron": "@daily"}})).json()
    assert (found["before"], len(found["after"])) == ([], 5)


async def test_a_schedule_can_be_previewed_without_a_job(api: httpx.AsyncClient) -> None:
    body = {"schedule": _BERLIN, "rules": {"max_runs": 3}, "from": "2026-10-24T12:00:00Z", "count": 10}
    found = (await api.post("/v1/preview", json=body)).json()["next"]
    assert [fire["local"][:10] for fire in found] == ["2026-10-25", "2026-10-26", "2026-10-27"]


async def test_a_previewed_hashed_schedule_depends_on_the_given_key(api: httpx.AsyncClient) -> None:
    asked = {"schedule": {"cron": "H H * * *"}, "key": "nightly", "count": 1, "from": "2026-03-01T00:00:00Z"}
    first = (await api.post("/v1/preview", json=asked)).json()
    assert (await api.post("/v1/preview", json=asked)).json() == first
    assert (await api.post("/v1/preview", json=asked | {"key": "weekly"})).json() != first


@pytest.mark.parametrize(
    ("status", "hint", "body"),
    [
        (422, "a schedule is missing", {"schedule": {}}),
        (422, "identity", {"schedule": {"cron": "H * * * *"}}),
        (422, "from", {"schedule": {"cron": "@daily"}, "from": "tomorrow"}),
        (400, "count", {"schedule": {"cron": "@daily"}, "count": 101}),
        (400, "count", {"schedule": {"cron": "@daily"}, "count": 0}),
        (400, "the fields are", {"schedule": {"delay": "5m"}}),
    ],
    ids=str,
)
async def test_an_invalid_preview_is_refused(
    api: httpx.AsyncClient, status: int, hint: str, body: dict[str, Any]
) -> None:
    answer = await api.post("/v1/preview", json=body)
    assert (answer.status_code, hint in answer.json()["detail"]) == (status, True), answer.text


async def test_an_edited_jobs_overdue_run_is_left_for_a_worker_to_replan(
    api: httpx.AsyncClient, db: Connection
) -> None:
    job = await create(api, schedule={"every": "1h"})
    db.execute(
        "update pgsched.executions set scheduled_for = now() - interval '1 minute', fire_at = now() + interval '1 hour'"
    )
    answer = await api.patch(f"/v1/jobs/{job}", json={"rules": {"max_runs": 7}})
    assert answer.status_code == 200, answer.text
    assert db.execute(
        "select e.reason, j.planned_revision < j.revision from pgsched.executions e, pgsched.jobs j"
    ).fetchall() == [("edited", True)]
