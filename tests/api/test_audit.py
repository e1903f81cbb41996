"""The audit log over HTTP: for whoever administers, page by page."""

import html
import re

import httpx

from tests.api.access_arrange import make_key
from tests.api.page_arrange import signed_in
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


async def test_the_page_shows_who_changed_what_page_by_page(page: httpx.AsyncClient, db: Connection) -> None:
    for rate in (50, 1):
        await page.post("/limits/set", data={"kind": "client", "name": "shop", "rate": str(rate)})
    newest = (await page.get("/audit?kind=limit")).text
    assert re.findall(r"events: (\d+)", newest) == ["50", "1", "50"]
    assert "ann" in newest
    for n in range(60):
        call(db, "hold_client", client=f"c{n}", note="<b>", actor="bo")
    first = (await page.get("/audit?by=bo")).text
    [more] = re.findall(r'href="([^"]+)" rel="next"', first)
    second = (await page.get(html.unescape(more))).text
    assert [text.count("<td>hold client</td>") for text in (first, second)] == [50, 10]
    assert "<b>" not in first
    assert (await page.get("/audit?after=x")).status_code == 400
    signed_in(page, make_key(db, clients=["shop"]))
    assert (await page.get("/audit")).status_code == 403
