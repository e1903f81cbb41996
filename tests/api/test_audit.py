"""The audit log over HTTP: for whoever administers, page by page."""

import httpx

from tests.conftest import Connection
from tests.store.store_arrange import call, schedule


async def test_a_page_tells_who_changed_what_and_how_it_was(api: httpx.AsyncClient, db: Connection) -> None:
    job = schedule(db, every="1 hour")
    assert (await api.patch(f"/v1/jobs/{job}", json={"schedule": {"every": "2h"}})).status_code == 200
    call(db, "pause", job_id=job, actor="ann")
    [edited] = (await api.get("/v1/audit", params={"subject": str(job), "action": "edit"})).json()["items"]
    assert (edited["actor"], edited["kind"], edited["name"]) == ("api 127.0.0.1", "job", str(job))
    assert (edited["before"], edited["after"]) == ({"every": "01:00:00"}, {"every": "02:00:00"})
    first = (await api.get("/v1/audit", params={"kind": "job", "name": str(job), "limit": 1})).json()
    rest = (await api.get("/v1/audit", params={"limit": 10, "after": first["next"]})).json()
    assert [one["action"] for one in first["items"] + rest["items"]] == ["pause", "edit", "insert"]
    assert rest["next"] is None
    assert len((await api.get("/v1/audit", params={"actor": "ann"})).json()["items"]) == 1
