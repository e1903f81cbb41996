"""The pages of jobs: the week view, edits with a preview, and backfills."""

import html
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import msgspec

from pgsched.api.pages.week import days_of, week_of
from pgsched.domain.job_definition import Definition
from pgsched.domain.recurrence import recurrence
from tests.conftest import Connection
from tests.store.store_arrange import call, column, finish, planned, schedule, value

SUNDAY = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
_JOB: dict[str, Any] = {
    "client": "shop", "key": None, "cron": None, "timezone": "UTC", "every": None, "anchor": None, "gap": "shift",
    "overlap": "first", "rules": None,
}  # fmt: skip


def job(number: int, **given: Any) -> Definition:
    return Definition(**_JOB | {"id": UUID(int=number)} | given)


def fields(page: str) -> dict[str, str]:
    """Returns the values of a page's form fields."""
    found = dict(re.findall(r'<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"', page))
    found |= dict(re.findall(r'<textarea[^>]* name="([^"]+)"[^>]*>\n(.*?)</textarea>', page, re.DOTALL))
    return {name: html.unescape(text) for name, text in found.items()}


def test_the_week_view_counts_fire_times_per_hour() -> None:
    jobs = [
        job(1, cron="0 2 * * *", key="nightly"),
        job(2, cron="*/15 * * * *"),
        job(3, every=timedelta(hours=6), anchor=SUNDAY.replace(hour=2, minute=5)),
        job(4, cron="H 2 * * *", key="drawn"),
        job(5, cron="61 * * * *"),
        job(6, every=timedelta(hours=1), anchor=SUNDAY, rules=msgspec.Raw(b'{"after_completion": true}')),
    ]
    found = week_of(jobs, SUNDAY, SUNDAY.replace(hour=2, minute=0), within=60)
    assert [row[0].fires for row in found.rows][:4] == [4, 4, 7, 4]
    assert (found.fires, found.looked_at, found.unclear, found.after) == (7 * (1 + 96 + 4 + 1), 6, 2, None)
    assert [(job.id.int, fires) for job, fires in found.chosen] == [(2, 4), (1, 1), (3, 1), (4, 1)]
    assert {cell.shade for row in found.rows for cell in row} == {4, 5}


def test_the_week_view_omits_runs_cancelled_in_advance() -> None:
    jobs = [job(1, cron="0 2 * * *"), job(2, cron="0 2 * * *", exceptions=[SUNDAY.replace(day=3, hour=2, minute=0)])]
    assert [cell.fires for cell in week_of(jobs, SUNDAY, None, within=60).rows[2]] == [2, 2, 1, 2, 2, 2, 2]


async def test_the_job_page_lists_runs_cancelled_in_advance(page: httpx.AsyncClient, db: Connection) -> None:
    id = schedule(db, client="shop", cron="30 4 * * *", key="report")
    assert "cancelled in advance" not in (await page.get(f"/jobs/{id}")).text
    row = planned(db, id, ahead="1 day")
    call(db, "cancel", id=row)
    assert "Left out, because they were cancelled in advance" in (await page.get(f"/jobs/{id}")).text


def test_the_week_view_stops_computing_jobs_at_its_time_limit() -> None:
    jobs = [job(number, cron=f"{number % 60} * * * *") for number in range(60)]
    found = week_of(jobs, SUNDAY, None, within=0)
    assert (found.looked_at, found.after) == (50, UUID(int=49))


def test_a_jobs_daily_fire_times_start_now_and_are_counted_per_day() -> None:
    twice = days_of(recurrence(cron="0 9,21 * * *"), SUNDAY)
    assert [(day.fires, [at.hour for at in day.times]) for day in twice][:2] == [(1, [21]), (2, [9, 21])]
    often = days_of(recurrence(cron="*/10 * * * *"), SUNDAY)
    assert [day.fires for day in often] == [87, *[144] * 6]
    assert [f"{at:%H:%M}" for at in often[0].times] == ["09:30", "23:50"]


async def test_job_pages_show_upcoming_fire_times_and_past_runs(page: httpx.AsyncClient, db: Connection) -> None:
    id = schedule(db, client="shop", cron="30 4 * * *", key="report", target="https://a.example/x")
    finish(db, planned(db, id), ended="failed")
    listed = (await page.get("/jobs?host=a.example")).text
    assert ("report" in listed, '<a class="run failed"' in listed, "in " in listed) == (True, True, True)
    assert "Nothing matches" in (await page.get("/jobs?host=b.example")).text
    shown = (await page.get(f"/jobs/{id}")).text
    assert shown.count("04:30:00") in {5 + 6, 5 + 7}  # today's run can be over
    assert '<a class="run failed"' in shown
    week = html.unescape((await page.get("/jobs/week?client=shop")).text)
    [*hours] = re.findall(r'href="(/jobs/week\?client=shop&hour=[^"#]+)#hour"', week)
    assert len(hours) == 7  # all hours of today are shown
    assert "report" in (await page.get(hours[0])).text
    assert "No active job matches" in (await page.get("/jobs/week?client=other")).text


async def test_the_job_page_shows_how_long_its_runs_took(page: httpx.AsyncClient, db: Connection) -> None:
    id = schedule(db, client="shop", cron="30 4 * * *")
    finish(db, planned(db, id))
    assert "successful run" not in (await page.get(f"/jobs/{id}")).text
    db.execute("update pgsched.history set began_at = now(), seconds = 1.5, worker = 7")
    shown = (await page.get(f"/jobs/{id}")).text
    assert "half took at most 1.5 s, 95% at most 1.5 s" in shown
    assert shown.count("<rect") == 1
    [run] = re.findall(r'href="(/executions/[0-9a-f-]{36})"', shown)[:1]
    execution = (await page.get(run)).text
    assert ("for 1.5 s" in execution, 'href="/workers/7"' in execution) == (True, True)


async def test_a_job_edit_can_be_previewed_and_saved(page: httpx.AsyncClient, db: Connection) -> None:
    options = {"headers": {"X-Token": "hush"}}
    id = schedule(db, client="shop", cron="0 9 * * *", key="report", options=options, payload='{"a": 1.50}')
    path = f"/jobs/{id}/edit"
    shown = (await page.get(path)).text
    form = fields(shown) | {"gap": "shift", "overlap": "first"}
    assert ("hush" in shown, form["cron"], "1.50" in form["payload"]) == (False, "0 9 * * *", True)
    assert "Nothing would change" in (await page.post(path, data=form | {"do": "preview"})).text
    changed = form | {"cron": "0 10 * * *", "target": "notify:b", "labels": '{"team": "a"}'}
    looked_at = (await page.post(path, data=changed | {"do": "preview"})).text
    assert (looked_at.count(" 09:00:00"), looked_at.count(" 10:00:00")) == (10, 10)
    assert value(db, "select cron from pgsched.jobs") == "0 9 * * *"
    again = await page.post(path, data=fields(looked_at) | {"do": "edit"})
    assert 'value="0 10 * * *"' in again.text
    assert (await page.post(path, data=fields(looked_at) | {"do": "save"})).headers["location"].endswith("done=edit")
    found = "select cron, target, labels ->> 'team', options #>> '{headers,X-Token}', payload::text from pgsched.jobs"
    assert db.execute(found).fetchall() == [("0 10 * * *", "notify:b", "a", "hush", '{"a": 1.50}')]
    old = await page.post(path, data=changed | {"do": "save"})
    assert (old.status_code, "Start again" in old.text) == (412, True)
    wrong = await page.post(path, data=fields((await page.get(path)).text) | {"do": "preview", "cron": "0 25 * * *"})
    assert (wrong.status_code, 'role="alert"' in wrong.text, 'value="0 25 * * *"' in wrong.text) == (422, True, True)


async def test_editing_a_job_can_switch_between_an_interval_and_cron(page: httpx.AsyncClient, db: Connection) -> None:
    id = schedule(db, every="1 hour", key="hourly")
    half = timedelta(minutes=30)
    for given, wanted in (({"cron": "0 9 * * *"}, ("0 9 * * *", None)), ({"every": "30m", "cron": ""}, (None, half))):
        form = fields((await page.get(f"/jobs/{id}/edit")).text) | given
        assert (await page.post(f"/jobs/{id}/edit", data=form | {"do": "save"})).status_code == 303
        assert db.execute("select cron, every from pgsched.jobs").fetchall() == [wanted]


async def test_a_declared_job_can_be_edited_only_with_force(page: httpx.AsyncClient, db: Connection) -> None:
    id = schedule(db, every="1 hour", key="hourly")
    call(db, "edit", id=id, changes={"declared_by": "shop.jobs:app"})
    shown = (await page.get(f"/jobs/{id}/edit")).text
    assert "Declared by <strong>shop.jobs:app" in shown
    form = fields(shown) | {"target": "notify:b"}
    looked_at = (await page.post(f"/jobs/{id}/edit", data=form | {"do": "preview"})).text
    assert 'name="force" required' in looked_at
    assert (await page.post(f"/jobs/{id}/edit", data=form | {"do": "save"})).status_code == 409
    assert (await page.post(f"/jobs/{id}/edit", data=form | {"do": "save", "force": "on"})).status_code == 303
    assert value(db, "select target from pgsched.jobs") == "notify:b"


async def test_a_backfill_can_be_counted_started_watched_and_stopped(page: httpx.AsyncClient, db: Connection) -> None:
    id = schedule(db, cron="0 * * * *", key="hourly")
    form = fields((await page.get(f"/jobs/{id}/backfill")).text)
    assert (await page.get("/bulk/new", params=form)).status_code == 400
    times = {"from": "2026-01-01T00:00", "to": "2026-01-02T00:00"}
    counted = (await page.get("/bulk/new", params=form | times)).text
    assert "Backfill 24 instants" in counted
    did = await page.post("/bulk/new", data=fields(counted) | {"rate": "3"})
    backfill = value(db, "select id from pgsched.bulk_operations")
    assert did.headers["location"] == f"/bulk/{backfill}?done=start"
    assert column(db, "select rate from pgsched.bulk_operations") == [3.0]
    followed = (await page.get(f"/bulk/{backfill}")).text
    assert ("0 done, 0 skipped, 0 failed" in followed, "hx-get" in followed) == (True, True)
    assert str(backfill)[-12:] in (await page.get(f"/jobs/{id}")).text
    assert (await page.post(f"/bulk/{backfill}/stop")).headers["location"].endswith("done=stop")
    assert "hx-get" not in (await page.get(f"/bulk/{backfill}")).text
    assert (await page.get(f"/bulk/{id}")).status_code == 404
