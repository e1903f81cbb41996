"""Live pages in a real browser: updates keep scroll, focus and selection, and failures are shown."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.api.access_arrange import make_key
from tests.conftest import Connection
from tests.node import running
from tests.processes import Process
from tests.store.store_arrange import schedule


@pytest.fixture
def read(db: Connection, served: tuple[str, Process]) -> dict[str, Any]:
    """The findings of ``live.mjs``."""
    address, _ = served
    waiting = schedule(db, target="https://shop.example/settle", delay="1 hour")
    db.execute("select pgsched.schedule('notify:m', client => 'm')")
    given = {"address": address, "key": str(make_key(db)), "execution": str(waiting)}
    found: dict[str, Any] = running.run("live.mjs", given | {"unpacked": str(Path(sys.prefix, ".browser"))})
    return found


def test_live_updates_keep_focus_and_selection_and_show_failures(read: dict[str, Any]) -> None:
    assert read["scrolled"] == [60, True]
    assert read["focused"] == [0, 1, "/client?name=m"]
    assert read["selected"] == [True, "https://shop.example/settle"]
    assert read["pressed"][0]
    assert read["pressed"][1].endswith("/edit")
    assert read["told"] == [[True, True]] * 6
