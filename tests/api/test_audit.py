"""The audit log over HTTP: an administrator reads every entry, and a client reads the changes to its own rows."""

import html
import re
from typing import Any

import httpx
import pytest

from pgsched.api.pages import audit
from tests.api.access_arrange import make_key
from tests.api.page_arrange import signed_in
from tests.conftest import Connection
from tests.store.bulk.bulk_arrange import backfill
from tests.store.ends.dead_letter_arrange import dead_letter
from tests.store.store_arrange import call, schedule

_BLOCKED = "insert into pgsched.blocked_keys values ('shop', 'order-1', 0, pgsched_internal.new_id(), 'no')"


async def test_audit_entries_have_the_actor_and_the_old_and_new_values(api: httpx.AsyncClient, db: Connection) -> None:
    job = schedule(db, every="1 hour")
    assert (await api.patch(f"/v1/jobs/{job}", json={"schedule": {"every": "2h"}})).status_code == 200
    call(db, "pause", kind="job", name=str(job), actor="ann")
    [edited] = (await api.get("/v1/audit", params={"subject": str(job), "action": "edit"})).json()["items"]
    assert (edited["actor"], edited["kind"], edited["name"]) == ("api 127.0.0.1", "job", str(job))
    assert (edited["before"], edited["after"]) == ({"every": "01:00:00"}, {"every": "02:00:00"})
    first = (await api.get("/v1/audit", params={"kind": "job", "name": str(job), "limit": 1})).json()
    rest = (await api.get("/v1/audit", params={"limit": 10, "after": first["next"]})).json()
    assert [one["action"] for one in first["items"] + rest["items"]] == ["pause", "edit", "insert"]
    assert rest["next"] is None
    assert len((await api.get("/v1/audit", params={"actor": "ann"})).json()["items"]) == 1


async def test_the_audit_page_shows_filtered_changes_fifty_per_page(page: httpx.AsyncClient, db: Connection) -> None:
    for rate in (50, 1):
        await page.post("/limits/set", data={"kind": "client", "name": "shop", "rate": str(rate)})
    newest = (await page.get("/audit?kind=limit")).text
    assert re.findall(r"events: (\d+)", newest) == ["50", "1", "50"]
    assert "ann" in newest
    for n in range(60):
        call(db, "pause", kind="client", name=f"c{n}", note="<b>", actor="bo")
    first = (await page.get("/audit?by=bo")).text
    [more] = re.findall(r'href="([^"]+)" rel="next"', first)
    second = (await page.get(html.unescape(more))).text
    assert [text.count("<td>pause</td>") for text in (first, second)] == [50, 10]
    assert "<b>" not in first
    assert '<a href="/audit?by=bo">To the newest</a>' in second
    known = db.execute("select authenticated from pgsched.audit_log where authenticated ~ 'ann' limit 1").fetchone()
    assert known is not None
    assert (await page.get("/audit", params={"by": known[0]})).text.count("<td>set limit</td>") == 2
    assert (await page.get("/audit?after=x")).status_code == 400
    signed_in(page, make_key(db, clients=["shop"]))
    assert (await page.get("/audit")).status_code == 403


async def test_an_audit_search_stops_at_a_limit_and_links_to_older_changes(
    page: httpx.AsyncClient, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_LOOKED_THROUGH", 5)
    for n in range(8):
        call(db, "pause", kind="client", name=f"c{n}", actor="ann" if n == 0 else "bo")
    first = (await page.get("/audit?by=ann")).text
    assert "No match among the changes searched so far" in first
    [more] = re.findall(r'href="([^"]+)" rel="next"', first)
    second = (await page.get(html.unescape(more))).text
    assert (second.count("<td>pause</td>"), 'rel="next"' in second) == (1, False)


def _done_to_shop(db: Connection) -> dict[str, Any]:
    """Changes shop's rows with every verb. The actor of each change has the verb's name."""
    job = schedule(db, client="shop", every="1 hour")
    waiting = [schedule(db, client="shop", target="python:note", delay="1 hour") for _ in range(4)]
    letters = [dead_letter(db, client="shop") for _ in range(3)]
    db.execute(_BLOCKED)
    started = backfill(db, job, actor="backfill")
    verbs: dict[str, dict[str, Any]] = {
        "cancel": {"id": waiting[0]},
        "move": {"verb": "edit", "id": waiting[1], "changes": {"fire_at": "2040-01-01T00:00:00Z"}},
        "edit execution": {"verb": "edit", "id": waiting[2], "changes": {"labels": {"a": "b"}}},
        "replay": {"id": letters[0]},
        "discard": {"id": letters[1]},
        "trigger": {"job_id": job},
        "pause": {"kind": "job", "name": str(job)},
        "resume": {"kind": "job", "name": str(job)},
        "edit": {"id": job, "changes": {"target": "python:other"}},
        "stop_bulk": {"id": started},
        "bulk": {"action": "cancel", "filter": {"client": "shop", "key": "none"}},
        "unblock": {"verb": "resume", "kind": "ordering_key", "client": "shop", "name": "order-1"},
        "sideline": {"verb": "pause", "kind": "target", "name": "shop.example", "client": "shop"},
        "restore": {"verb": "resume", "kind": "target", "name": "shop.example", "client": "shop"},
        "set_limit": {"kind": "client", "name": "shop", "rate": 5},
        "drop_limit": {"kind": "client", "name": "shop"},
        "hold": {"verb": "pause", "kind": "client", "name": "shop"},
        "release": {"verb": "resume", "kind": "client", "name": "shop"},
    }
    for actor, given in verbs.items():
        call(db, given.pop("verb", actor), **given, actor=actor)
    return {"backfill": {}} | verbs


async def test_an_api_key_reads_only_its_own_clients_audit_entries(keyed: httpx.AsyncClient, db: Connection) -> None:
    done = _done_to_shop(db)
    call(db, "pause", kind="client", name="other", actor="elsewhere")
    call(db, "set_installation", changes={"audit_days": 30}, actor="everywhere")

    async def actors(clients: list[str] | None, scopes: list[str], **asked: Any) -> set[str]:
        key = {"Authorization": f"Bearer {make_key(db, clients=clients, scopes=scopes)}"}
        answer = await keyed.get("/v1/audit", params={"limit": 500, **asked}, headers=key)
        assert answer.status_code == 200, answer.text
        return {item["actor"] for item in answer.json()["items"]} & {*done, "elsewhere", "everywhere"}

    assert await actors(["shop"], ["read"]) == {*done}
    assert await actors(["other"], ["read"]) == {"elsewhere"}
    assert await actors(["other", "shop"], ["read"], client="shop") == {*done}
    assert await actors(None, ["read"]) == {*done, "elsewhere"}
    assert await actors(None, ["read", "admin"]) == {*done, "elsewhere", "everywhere"}


async def test_a_client_can_see_who_cancelled_its_execution(keyed: httpx.AsyncClient, db: Connection) -> None:
    id = schedule(db, client="shop", target="python:note", delay="1 hour")
    by = make_key(db, clients=["shop"], scopes=["schedule"], subject="ann")
    asked = await keyed.post(f"/v1/executions/{id}/cancel", json={}, headers={"Authorization": f"Bearer {by}"})
    assert asked.json()["changed"] is True
    key = {"Authorization": f"Bearer {make_key(db, clients=['shop'], scopes=['read'])}"}
    [found] = (await keyed.get("/v1/audit", params={"subject": str(id)}, headers=key)).json()["items"]
    assert (found["action"], found["client"], "ann" in found["authenticated"]) == ("cancel", "shop", True)
    refused = await keyed.get("/v1/audit", params={"client": "other"}, headers=key)
    assert (refused.status_code, "'other'" in refused.json()["detail"]) == (403, True)
