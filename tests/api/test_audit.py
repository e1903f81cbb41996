"""The audit log over HTTP: for whoever administers, page by page."""

import html
import re

import httpx
import pytest

from pgsched.api.pages import audit
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
    assert '<a href="/audit?by=bo">To the newest</a>' in second
    known = db.execute("select authenticated from pgsched.audit_log where authenticated ~ 'ann' limit 1").fetchone()
    assert known is not None
    assert (await page.get("/audit", params={"by": known[0]})).text.count("<td>set limit</td>") == 2
    assert (await page.get("/audit?after=x")).status_code == 400
    signed_in(page, make_key(db, clients=["shop"]))
    assert (await page.get("/audit")).status_code == 403


async def test_a_page_looks_through_so_many_changes_and_leads_on(
    page: httpx.AsyncClient, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_LOOKED_THROUGH", 5)
    for n in range(8):
        call(db, "hold_client", client=f"c{n}", actor="ann" if n == 0 else "bo")
    first = (await page.get("/audit?by=ann")).text
    assert "None among those that were looked through" in first
    [more] = re.findall(r'href="([^"]+)" rel="next"', first)
    second = (await page.get(html.unescape(more))).text
    assert (second.count("<td>hold client</td>"), 'rel="next"' in second) == (1, False)
