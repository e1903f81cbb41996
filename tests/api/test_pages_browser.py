"""The dashboard in a real browser: keyboard sign-in, live updates, forms, and axe on every page.

``make pictures`` also takes screenshots of all pages under a live load, into the directory PGSCHED_TEST_PICTURES.
"""

import os
from contextlib import nullcontext
from pathlib import Path
from uuid import UUID

from pgsched.api.app import create_app
from pgsched.settings import Settings
from tests.api.access_arrange import make_key, things_of_shop
from tests.api.page_arrange import pages_of
from tests.api.page_load import living
from tests.conftest import Connection
from tests.node.running import browsed
from tests.processes import Process
from tests.store.ends.dead_letter_arrange import dead_letter
from tests.store.store_arrange import call, column, finish, planned


def _arrange(db: Connection) -> dict[str, list[str]]:
    """Creates rows for each page and returns their ids by path parameter."""
    things = things_of_shop(db)
    call(db, "create_queue", name="emails")
    db.execute("select pgsched.schedule('notify:shop', client => 'shop', delay => '1 h') from generate_series(1, 60)")
    db.execute("select pgsched.schedule('notify:a', client => 'a', fire_at => now() - interval '2 minutes')")
    db.execute(
        "select pgsched.schedule('notify:close', key => 'close-day', cron => '0 2 * * *', timezone => 'Europe/Berlin')"
    )
    dead_letter(
        db, reason="cannot connect to shop.example:443: ConnectionRefusedError: [Errno 111] Connect call failed"
    )
    dead_letter(db, reason="503 Service Unavailable")
    dead_letter(db, reason="404 Not Found")
    [job], [_, letter] = things["job_id"], things["execution_id"]
    for hours, ended in enumerate(("succeeded", "failed", "succeeded", "succeeded")):
        finish(db, planned(db, UUID(job), ahead=f"-{hours + 2} hours"), ended=ended)
    db.execute(
        "insert into pgsched.attempts"
        " (finished_at, execution_id, attempt, client_id, error, duration, worker, traceback)"
        " select created_at + n * interval '40 s', id, n, client_id, 'TimeoutError: no answer within 30 s', '30 s', 1,"
        " E'Traceback (most recent call last):\\n  File \"shop.py\", line 12, in settle' from pgsched.history,"
        " generate_series(1, 3) n where id = %s",
        [letter],
    )
    return things


def test_the_dashboard_works_by_keyboard_and_has_no_axe_violations(
    db: Connection, served: tuple[str, Process], database_url: str, tmp_path: Path
) -> None:
    address, _ = served
    key = tmp_path / "key"
    key.write_text(f"Authorization: Bearer {make_key(db)}\n")
    things = _arrange(db)
    app = create_app(Settings(database_url=database_url))
    shown = [one for one in pages_of(app) if one.method == "GET"]
    letter = things["execution_id"][1]
    paths = [next(iter(one.paths(things))) for one in shown] + ["/jobs?job_state=none", "/limits?change=client:shop"]
    paths += [f"/executions/{letter}?letter", f"/executions/{letter}/replay?letter"]
    pictures = os.environ.get("PGSCHED_TEST_PICTURES")
    with living(db, database_url) if pictures else nullcontext():
        found = browsed(address, key, paths, things, pictures)
    assert found["found"] == []
    assert found["said"] == []
    assert found["led"] == "/jobs"
    assert found["stays"] == [True, True]
    assert set(found["looked_at"]) == {*paths, "/sign-in"}
    if pictures:  # under a live load, no form is sent
        return
    assert found["done"] == [
        "Cancelled.",
        "Held: no further executions of this client start until it is released.",
        "Released.",
        "Set. This applies to executions that have not started.",
        "Removed.",
        "Sidelined: the host is not called until it is restored.",
        "Restored: the host gets a few executions a second at first, then more.",
        "Paused.",
        "Resumed.",
        "Changed.",
        "The execution is due now.",
        "Started: this is its progress.",
        "Stopped. Changes already made stay.",
        "Changed.",
        "Paused.",
        "Resumed.",
        "An additional run was scheduled.",
        "Started: this is its progress.",
        "Stopped. Changes already made stay.",
        "Discarded. It stays in history.",
        "Started: this is its progress.",
        "Replayed: this is the new execution.",
    ]
    done = column(db, "select distinct action from pgsched.audit_log where authenticated ~ 'test'")
    assert {"cancel", "pause", "set limit"} <= set(done)
    assert {"edit", "bulk cancel", "trigger", "replay", "bulk replay"} <= set(done)
