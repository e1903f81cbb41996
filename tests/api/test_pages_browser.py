"""The dashboard in a real browser: signed in by keyboard, a page that goes on by itself, a form, and axe on each page.

Set PGSCHED_TEST_PICTURES to a directory to have pictures of all pages as well.
"""

import json
import os
import sys
from pathlib import Path

from tests.api.access_arrange import make_key
from tests.conftest import Connection
from tests.node.running import HERE, install, node
from tests.processes import Process
from tests.store.ends.dead_letter_arrange import dead_letter


def test_it_is_used_by_keyboard_and_axe_finds_nothing(
    db: Connection, served: tuple[str, Process], tmp_path: Path
) -> None:
    address, _ = served
    key = tmp_path / "key"
    key.write_text(f"Authorization: Bearer {make_key(db)}\n")
    db.execute("select pgsched.create_queue('emails')")
    db.execute("select pgsched.schedule('notify:shop', client => 'shop', delay => '1 h') from generate_series(1, 60)")
    db.execute("select pgsched.schedule('notify:a', client => 'a', fire_at => now() - interval '2 minutes')")
    db.execute(
        "select pgsched.schedule('notify:close', key => 'close-day', cron => '0 2 * * *', timezone => 'Europe/Berlin')"
    )
    dead_letter(
        db, reason="cannot connect to shop.example:443: ConnectionRefusedError: [Errno 111] Connect call failed"
    )
    dead_letter(db, reason="503 Service Unavailable")
    install()
    pictures = os.environ.get("PGSCHED_TEST_PICTURES", "-")
    found = json.loads(
        node(str(HERE / "dashboard.mjs"), address, str(key), pictures, str(Path(sys.prefix, ".browser")))
    )
    assert found["found"] == []
    assert found["said"] == []
    assert (found["led"], found["done"]) == ("/jobs", "Cancelled.")
