"""The pages of executions and dead letters: timelines, edits and bulk operations."""

import html
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from pgsched.api.pages import bulk
from pgsched.api.pages.timeline import timeline_of
from pgsched.store.admin.audit import AuditEntry
from pgsched.store.ends.dependencies import Dependency
from pgsched.store.lookup.row_types import Attempt, Execution
from tests.api.access_arrange import make_key
from tests.api.page_arrange import signed_in
from tests.conftest import Connection
from tests.store.bulk.bulk_arrange import advance
from tests.store.ends.dead_letter_arrange import dead_letter
from tests.store.store_arrange import call, schedule, value

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
_ROW: dict[str, Any] = dict.fromkeys(Execution.__dataclass_fields__)
_ROW |= {"id": uuid4(), "client": "shop", "target": "notify:a", "attempt": 0, "created_at": NOON, "status": "scheduled"}
_ROW |= {"scheduled_for": NOON, "fire_at": NOON}


def row(**given: Any) -> Execution:
    return Execution(**_ROW | given)


def attempt(number: int, *, seconds: float, took: float | None = 0.5, error: str = "boom") -> Attempt:
    duration = None if took is None else timedelta(seconds=took)
    more: dict[str, Any] = {"worker": 3, "status_code": 503, "traceback": None}
    at = NOON + timedelta(seconds=seconds)
    return Attempt(attempt=number, finished_at=at, duration=duration, error=error, **more)


def told(found: Execution, now: float = 60.0, **known: Any) -> list[tuple[float | None, str]]:
    """Returns the steps of a timeline as seconds after noon and title."""
    steps = timeline_of(found, NOON + timedelta(seconds=now), **known)
    return [(None if step.at is None else (step.at - NOON).total_seconds(), step.title) for step in steps]


def test_a_timeline_lists_waits_and_attempts_in_order() -> None:
    attempts = [attempt(1, seconds=5), attempt(2, seconds=20, took=2)]
    ended = row(status="succeeded", attempt=3, finished_at=NOON + timedelta(seconds=40))
    assert told(ended, attempts=attempts) == [
        (0, "Scheduled"),
        (0, "Waited to start"),
        (4.5, "Attempt 1 on worker 3 failed"),
        (5, "Waited for attempt 2"),
        (18, "Attempt 2 on worker 3 failed"),
        (40, "Succeeded in attempt 3"),
    ]


def test_a_timeline_shows_when_the_successful_attempt_began() -> None:
    began = {"began_at": NOON + timedelta(seconds=30), "duration": timedelta(seconds=9), "worker": 3}
    ended = row(status="succeeded", attempt=2, finished_at=NOON + timedelta(seconds=40), **began)
    assert told(ended, attempts=[attempt(1, seconds=5)])[2:] == [
        (4.5, "Attempt 1 on worker 3 failed"),
        (5, "Waited for attempt 2"),
        (30, "Attempt 2 on worker 3 succeeded"),
        (40, "Succeeded in attempt 2"),
    ]


def test_a_timeline_splits_the_waiting_time_by_gate() -> None:
    waits = (
        b'[{"held_by": "client:shop", "since": "2026-03-01T12:00:01Z", "until": "2026-03-01T12:00:03+00:00"},'
        b' {"held_by": "order", "since": "2026-03-01T12:00:03Z", "until": "2026-03-01T12:00:04.5Z"},'
        b' {"held_by": "circuit:a.example shop", "since": "2026-03-01T12:00:30Z"}]'
    )
    waiting = row(status="held", held_by="circuit:a.example shop", waits=waits)
    steps = timeline_of(waiting, NOON + timedelta(seconds=40), attempts=[attempt(1, seconds=9)])
    assert [(step.title, step.took and step.took.total_seconds()) for step in steps[1:]] == [
        ("Waited to start", 5),
        ("Held until client shop was released or had room under its limit", 2),
        ("Held until earlier executions with its ordering key had ended", 1.5),
        ("Attempt 1 on worker 3 failed", 0.5),
        ("Target a.example is failing for client shop, and is not called until it recovers", 10),
    ]


def test_a_timeline_includes_dependencies_and_edits() -> None:
    how: dict[str, Any] = dict.fromkeys(AuditEntry.__dataclass_fields__) | {"id": 1, "actor": "api", "login": "x"}
    done = AuditEntry(**how | {"at": NOON + timedelta(seconds=2), "action": "edit", "authenticated": "ann"})
    over = Dependency(after_id=uuid4(), outcome="success", status="succeeded", finished_at=NOON + timedelta(seconds=3))
    assert told(row(), changes=[done], dependencies=[over])[1:3] == [
        (2, "Edit"),
        (3, "A dependency ended: succeeded"),
    ]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"status": "held", "held_by": "client:shop"}, "Its client shop is on hold, or has reached its limit"),
        (
            {"status": "held", "held_by": "circuit:a.example shop"},
            "Target a.example is failing for client shop, and is not called",
        ),
        ({"status": "held", "held_by": "order"}, "Another execution with its ordering key comes first"),
        ({"status": "held", "held_by": "worker:kafka"}, "No worker can deliver it: none has kafka"),
        ({"status": "held"}, "Held by hand: it has no instant"),
        ({"status": "held", "job_id": uuid4()}, "Waits for the previous run of its job"),
        ({"reason": "waits: no worker serves the queue"}, "No running worker serves its queue"),
        ({"reason": "waits: a place"}, "Postponed: a place"),
        ({"fire_at": NOON + timedelta(hours=1)}, "Waits until it is due"),
        ({"status": "retrying", "attempt": 1, "fire_at": NOON + timedelta(hours=1)}, "Waits until attempt 2 is due"),
        ({}, "Due, and nothing on record holds it back"),
        ({"status": "running", "attempt": 1, "worker": 7}, "Attempt 1 is running on worker 7"),
        ({"status": "running", "attempt": 1}, "Attempt 1 is with a consumer or the target"),
        ({"status": "failed", "finished_at": NOON}, "Failed"),
    ],
)
def test_a_timeline_ends_with_the_current_state(given: dict[str, Any], says: str) -> None:
    assert told(row(**given))[-1][1].startswith(says)


def fields(page: str) -> dict[str, str]:
    """Returns the values of a page's form fields."""
    found = dict(re.findall(r'<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"', page))
    found |= dict(re.findall(r'<textarea[^>]* name="([^"]+)"[^>]*>\n(.*?)</textarea>', page, re.DOTALL))
    return {name: html.unescape(text) for name, text in found.items()}


async def test_a_waiting_execution_can_be_edited_unless_the_form_is_outdated(
    page: httpx.AsyncClient, db: Connection
) -> None:
    options = {"headers": {"X-Token": "hush", "Accept": "text/plain"}, "max_attempts": 3}
    payload = '{"order": 42, "amount": 1.10, "large": 12345678901234567890.5}'
    id = schedule(db, client="shop", payload=payload, options=options)
    path = f"/executions/{id}/edit"
    shown = (await page.get(path)).text
    form = fields(shown)
    assert ("1.10" in form["payload"], "hush" in shown, "text/plain" in form["options"]) == (True, False, True)
    as_browsers_send_it = form["payload"].replace("\n", "\r\n")
    assert re.fullmatch(r"[0-9-]+T[0-9:]+(\.\d{3})?", form["fire_at"])  # otherwise a browser leaves the field empty
    unchanged = await page.post(path, data={**form, "payload": as_browsers_send_it})
    assert unchanged.status_code == 303, unchanged.text
    assert unchanged.headers["location"].endswith("done=nothing")
    edited = {
        "target": "https://new.example/x",
        "payload": form["payload"].replace("42", "43"),
        "options": form["options"].replace("3", "4"),
        "fire_at": "2030-01-01T10:00",
        "note": "wrong order",
    }
    assert (await page.post(path, data=form | edited)).headers["location"].endswith("done=edit")
    assert db.execute(
        "select target, payload ->> 'large', payload ->> 'order', options #>> '{headers,X-Token}',"
        " options ->> 'max_attempts', extract(epoch from fire_at)::int from pgsched.executions where id = %s",
        [id],
    ).fetchall() == [("https://new.example/x", "12345678901234567890.5", "43", "hush", "4", 1893492000)]
    refused = await page.post(path, data=form | {"target": "notify:mine"})
    assert (refused.status_code, "this has changed since" in refused.text, "notify:mine" in refused.text) == (
        412,
        True,
        True,
    )
    wrong = await page.post(path, data=fields((await page.get(path)).text) | {"payload": "{"})
    assert (wrong.status_code, "payload is not JSON" in wrong.text) == (400, True)
    assert value(db, "select count(*) from pgsched.audit_log where action = 'edit'") == 1
    seen = (await page.get(f"/executions/{id}")).text
    assert ("Edit" in seen, "by ann" in seen, "hush" in seen) == (True, True, False)


async def test_a_large_payload_is_truncated_and_omitted_from_the_edit_form(
    page: httpx.AsyncClient, db: Connection
) -> None:
    id = schedule(db, payload=f'"{"x" * 200_000}"')
    assert len((await page.get(f"/executions/{id}")).text) < 30_000
    form = fields((await page.get(f"/executions/{id}/edit")).text)
    assert "payload" not in form
    await page.post(f"/executions/{id}/edit", data=form | {"target": "notify:b"})
    found = db.execute("select target, length(payload #>> '{}') from pgsched.executions").fetchall()
    assert found == [("notify:b", 200_000)]


async def test_the_run_now_button_makes_an_execution_due(page: httpx.AsyncClient, db: Connection) -> None:
    id = schedule(db, delay="1 hour")
    assert (await page.post(f"/executions/{id}/run-now")).headers["location"].endswith("done=reschedule")
    assert value(db, "select fire_at <= clock_timestamp() from pgsched.executions")


async def test_a_dead_letter_can_be_replayed_with_changes(page: httpx.AsyncClient, db: Connection) -> None:
    id = dead_letter(db, client="shop", payload='{"order": 1.50}', options={"headers": {"X-Token": "hush"}})
    path = f"/executions/{id}/replay"
    form = fields((await page.get(path)).text)
    assert "hush" not in str(form)
    wrong = await page.post(path, data=form | {"target": "nowhere"})
    assert (wrong.status_code, 'role="alert"' in wrong.text) == (422, True)
    await page.post(path, data=form | {"target": "https://new.example/x"})
    found = db.execute(
        "select target, payload::text, options #>> '{headers,X-Token}' from pgsched.executions"
    ).fetchall()
    assert found == [("https://new.example/x", '{"order": 1.50}', "hush")]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives pages enough time to count on a busy machine."""
    monkeypatch.setattr(bulk, "GLANCE", 5.0)


async def test_an_incomplete_count_is_marked_and_can_be_completed(
    page: httpx.AsyncClient, db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "GLANCE", 0.0)
    schedule(db, client="shop", delay="1 hour")
    glanced = (await page.get("/bulk/new?action=cancel&client=shop")).text
    assert "or more" in glanced
    assert "Cancel all matching executions" in glanced
    [further] = re.findall(r'href="(/bulk/new\?[^"]*count=on)"', html.unescape(glanced))
    assert "Cancel 1 execution<" in (await page.get(further)).text
    did = await page.post("/bulk/new", data=fields(glanced))
    change = value(db, "select id from pgsched.bulk_operations")
    assert did.headers["location"] == f"/bulk/{change}?done=start"


async def test_filtered_executions_are_counted_and_cancelled_in_bulk(page: httpx.AsyncClient, db: Connection) -> None:
    for _ in range(3):
        schedule(db, client="shop", delay="1 hour")
    schedule(db, client="other", delay="1 hour")
    listed = html.unescape((await page.get("/executions?client=shop&status=scheduled")).text)
    [asked] = re.findall(r'href="(/bulk/new\?action=cancel[^"]*)"', listed)
    counted = (await page.get(asked)).text
    assert "Cancel 3 executions" in counted
    form = fields(counted)
    assert (form["client"], form["statuses"], form["rate"]) == ("shop", "scheduled", "1000")
    did = await page.post("/bulk/new", data=form | {"note": "wrong campaign"})
    change = value(db, "select id from pgsched.bulk_operations")
    assert did.headers["location"] == f"/bulk/{change}?done=start"
    assert "hx-get" in (await page.get(did.headers["location"])).text
    for _ in range(40):
        if advance(db, change)[2]:
            break
    over = (await page.get(f"/bulk/{change}")).text
    assert ("3 done, 0 skipped, 0 failed, of about 3" in over, "hx-get" in over) == (True, False)
    assert str(change)[-12:] in (await page.get("/bulk")).text
    assert value(db, "select count(*) from pgsched.executions") == 1
    assert "wrong campaign" in str(db.execute("select detail from pgsched.audit_log").fetchall())


async def test_a_bulk_reschedule_of_filtered_executions_can_be_stopped(page: httpx.AsyncClient, db: Connection) -> None:
    schedule(db, client="shop", delay="1 hour")
    form = {"action": "reschedule", "client": "shop", "rate": "5"}
    neither = await page.post("/bulk/new", data=form)
    assert (neither.status_code, "reschedule needs fire_at or shift" in neither.text) == (422, True)
    did = await page.post("/bulk/new", data=form | {"shift": "-30m"})
    [(change, shift, rate)] = db.execute("select id, shift, rate from pgsched.bulk_operations").fetchall()
    assert (did.status_code, shift, rate) == (303, timedelta(minutes=-30), 5)
    assert (await page.post(f"/bulk/{change}/stop")).headers["location"].endswith("done=stop")
    assert value(db, "select state from pgsched.bulk_operations") == "stopped"


async def test_an_invalid_bulk_form_is_refused(page: httpx.AsyncClient, db: Connection) -> None:
    for path in ("/bulk/new?action=explode&client=a", "/bulk/new?action=cancel", "/bulk/new"):
        found = await page.get(path)
        assert (found.status_code, "That is not possible" in found.text) == (422, True), path
    signed_in(page, make_key(db, clients=["orders"]))
    assert (await page.get("/bulk/new?action=cancel&client=shop")).status_code == 403
    form = {"action": "discard", "client": "shop"}
    assert (await page.post("/bulk/new", data=form)).status_code == 403


async def test_dead_letters_are_grouped_and_replayed_by_reason(page: httpx.AsyncClient, db: Connection) -> None:
    for client in ("a", "b"):
        dead_letter(db, client=client, reason="no route to host")
    dead_letter(db, client="a", reason="out of paper")
    listed = html.unescape((await page.get("/dead-letters?host=shop.example")).text)
    row = r'<td class="number">(\d)</td><td class="long"><a [^>]*>([^<]*)</a></td><td class="long">([^<]*)</td>'
    assert re.findall(row, listed) == [("2", "no route to host", "2 clients"), ("1", "out of paper", "a")]
    [asked] = re.findall(r'href="(/bulk/new\?[^"]*action=replay[^"]*no\+route[^"]*)"', listed)
    counted = (await page.get(asked)).text
    assert "Replay 2 dead letters" in counted
    form = fields(counted)
    assert (form["host"], form["reason"]) == ("shop.example", "no route to host")
    wrong = await page.post("/bulk/new", data=form | {"new_target": "nowhere"})
    assert wrong.status_code == 422
    did = await page.post("/bulk/new", data=form | {"new_target": "https://new.example/", "rate": "50"})
    change = value(db, "select id from pgsched.bulk_operations")
    assert did.headers["location"] == f"/bulk/{change}?done=start"
    assert value(db, "select target from pgsched.bulk_operations") == "https://new.example/"


async def test_all_dead_letters_can_be_discarded_in_bulk(page: httpx.AsyncClient, db: Connection) -> None:
    for _ in range(2):
        dead_letter(db)
    form = fields((await page.get("/bulk/new?action=discard")).text)
    assert form.keys() == {"action", "to", "note", "rate"}
    did = await page.post("/bulk/new", data=form)
    advance(db, value(db, "select id from pgsched.bulk_operations"))
    assert "2 done" in (await page.get(did.headers["location"])).text
    assert value(db, "select count(*) from pgsched.dead_letters where state = 'open'") == 0


async def test_the_replay_link_for_failed_executions_keeps_the_filter(page: httpx.AsyncClient, db: Connection) -> None:
    dead_letter(db, client="shop")
    dead_letter(db, client="other")
    listed = html.unescape((await page.get("/executions?status=failed&client=shop")).text)
    [asked] = re.findall(r'href="(/bulk/new\?action=replay[^"]*)"', listed)
    assert "Replay 1 dead letter<" in (await page.get(asked)).text
    within = html.unescape((await page.get("/executions?status=failed&client=shop&from=2026-01-01T00:00")).text)
    assert "/bulk/new?action=replay" not in within  # executions and dead letters filter by different instants


async def test_a_dependent_execution_links_to_its_predecessors(page: httpx.AsyncClient, db: Connection) -> None:
    first = schedule(db, delay="1 hour")
    second = call(db, "schedule", target="notify:b", after=[str(first)])
    found = (await page.get(f"/executions/{second}")).text
    assert ("Waits for other executions to end" in found, f"/executions/{first}" in found) == (True, True)
