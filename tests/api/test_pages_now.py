"""The page *now*: what is held back, why, and a link to the page where an operator can fix it."""

import asyncio
import re
from typing import Any

import httpx
import pytest

from pgsched.api import doctor
from pgsched.store.doctor.examination import examine
from pgsched.store.doctor.finding import Report
from tests.api.access_arrange import make_key
from tests.api.page_arrange import signed_in
from tests.conftest import Connection
from tests.store.ends.dead_letter_arrange import dead_letter
from tests.store.store_arrange import schedule, value


async def findings(page: httpx.AsyncClient) -> str:
    """Returns the doctor's findings, once its checks are done."""
    while "HX-Reswap" in (found := await page.get("/now/findings")).headers:
        pass
    return found.text


async def test_the_now_page_lists_gates_with_a_reason_and_a_link(page: httpx.AsyncClient, db: Connection) -> None:
    db.execute("select pgsched.pause('target', 'a.example', client => 'shop', note => '503 from it since noon')")
    for gate in ("client:bank", "order", "worker:python:send", "host:b.example"):
        db.execute("update pgsched.executions set fire_at = 'infinity', gate = %s where id = %s", [gate, schedule(db)])
    found = (await page.get("/now")).text
    for text, link in (
        ("shop → a.example", "/targets"),
        ("Limit or hold of client bank", "/client?name=bank"),
        ("An earlier execution with the same ordering key", "/ordering-keys"),
        ("No worker has python:send", "/workers"),
        ("Limit of host b.example", "/limits"),
    ):
        assert re.search(rf'href="{re.escape(link)}">{text}</a>', found), text
    assert "503 from it since noon" in found


async def test_the_now_page_shows_limits_and_holds_with_the_oldest_execution(
    page: httpx.AsyncClient, db: Connection
) -> None:
    db.execute("select pgsched.set_limit('client', 'imports', concurrency => 2)")
    db.execute("select pgsched.pause('client', 'shop', note => 'they asked us to stop')")
    for client, due in (
        ("imports", "2026-03-01 12:00:05Z"),
        ("imports", "2026-03-01 12:00:00Z"),
        ("shop", "2026-03-01 12:00:00Z"),
    ):
        id = schedule(db, client=client, fire_at=due)
        db.execute(
            "update pgsched.executions set scheduled_for = fire_at, fire_at = 'infinity', gate = 'client:' || client_id"
            " where id = %s",
            [id],
        )
    found = (await page.get("/now")).text
    assert ">Limit of client imports</a>" in found
    assert ">Hold on client shop</a>" in found
    assert "at most 2 at once; the first in line was due at 2026-03-01 12:00:00<" in found
    assert re.search(r'class="status held">held</span></td><td class="long">on hold: they asked us to stop; the', found)


async def test_the_now_page_counts_open_dead_letters(page: httpx.AsyncClient, db: Connection) -> None:
    for number in range(3):
        dead_letter(db, reason=f"no {number}")
    db.execute("update pgsched.history set dealt_with_at = now() where reason = 'no 1'")
    assert re.search(r'<a id="open-letters" href="/dead-letters">2</a>', (await page.get("/now")).text)


async def test_the_now_page_shows_doctor_findings_to_administrators_only(
    page: httpx.AsyncClient, db: Connection
) -> None:
    schedule(db, fire_at=value(db, "select now() - interval '20 minutes'"))
    assert 'hx-get="/now/findings"' in (await page.get("/")).text
    found = await findings(page)
    assert re.search(r'class="fault"><span class="status error">error</span> [^<]*queue default', found)
    assert '<a href="/queues">Queues</a>' in found
    signed_in(page, make_key(db, scopes=["read"]))
    assert 'hx-get="/now/findings"' not in (await page.get("/")).text
    assert (await page.get("/now/findings")).status_code == 403


async def test_the_now_page_charts_the_coming_hour(page: httpx.AsyncClient, db: Connection) -> None:
    db.execute(
        "select pgsched.schedule('notify:x', fire_at => now() + n * interval '5 minutes') from generate_series(1, 3) n"
    )
    assert 'hx-get="/now/coming" hx-trigger="load, every 30s"' in (await page.get("/")).text
    assert (await page.get("/now/coming")).text.count("<rect") == 3


async def test_pages_do_not_wait_for_slow_doctor_checks(
    page: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = asyncio.Event()

    async def slow(*given: Any, **named: Any) -> Report:
        await may_go_on.wait()
        return await examine(*given, **named)

    monkeypatch.setattr(doctor, "examine", slow)
    for _ in range(2):
        part, whole = await page.get("/now/findings"), (await page.get("/database")).text
        assert (part.text, part.headers["HX-Reswap"]) == ("", "none")
        assert "The checks are running." in whole
        assert "Partitions exist for" in whole
    may_go_on.set()
    await findings(page)
    assert "checks were run" in (await page.get("/database")).text
