"""Real processes: `up` and `worker` from start to end."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsched.cli.welcome import Welcome
from pgsched.sealing import new_key
from pgsched.settings import Settings
from tests.cli.conftest import Run, Start, answer, children
from tests.conftest import at

pytestmark = pytest.mark.smoke

Db = psycopg.Connection[Any]
HANDLERS = """
import os
import pgsched

app = pgsched.App()


@app.handler("greet")
async def greet(payload):
    return {"inherits_keys": "PGSCHED_SECRET_KEYS" in os.environ}
"""


def _until(condition: Callable[[], bool], *, within: float = 20.0) -> None:
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, "the condition was not met in time"
        time.sleep(0.02)


def _workers(pid: int) -> set[int]:
    return {child for child, words in children(pid).items() if "cli.main worker" in words}


def test_pgsched_up_restarts_a_killed_worker_and_drains_on_ctrl_c(start: Start, database_url: str, db: Db) -> None:
    process = start("up", "--port", "0", "--allow-private-targets", "--json", PGSCHED_DATABASE_URL=database_url)
    said = answer(process)
    with urllib.request.urlopen(f"{said['url']}/readyz", timeout=10) as response:
        assert json.load(response)["status"] == "ready"

    before = _workers(process.pid)
    assert len(before) == said["processes"] == 1
    os.kill(before.pop(), signal.SIGKILL)
    for way in ("curl", "python"):
        subprocess.run(shlex.split(said["try"][way]), check=True, capture_output=True)
    db.execute("update pgsched.executions set fire_at = now()")
    _until(lambda: db.execute("select count(*) from pgsched.history where status = 'succeeded'").fetchone() == (2,))

    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    assert process.stdout is not None
    assert process.stdout.read() == ""
    assert db.execute("select count(*) from pgsched.executions").fetchone() == (0,)


def test_commands_use_the_embedded_database_and_pgsched_up_keeps_its_data(
    start: Start, run: Run, tmp_path: Path
) -> None:
    first = start("up", "--port", "0", "--json")
    said = answer(first)
    assert said["embedded"] is True
    subprocess.run(shlex.split(said["try"]["psql"]), check=True, capture_output=True)
    scheduled = json.loads(run("schedule", "https://shop.example/x", "--every", "1h", "--key", "kept", "--json").stdout)
    assert run("jobs", "list", "--json").exit_code == 0
    refused = start("up", "--port", "0", "--json")
    assert refused.wait(20) == 1
    assert refused.stdout is not None
    assert json.loads(refused.stdout.read())["error"]["code"] == "pgsched.conflict"
    first.terminate()
    assert first.wait(30) == 0

    second = start("up", "--port", "0", "--json")
    answer(second)
    items = json.loads(run("jobs", "list", "--json").stdout)["items"]
    assert [(row["id"], row["key"]) for row in items] == [(scheduled["id"], "kept")]
    second.terminate()
    assert second.wait(30) == 0


def test_a_taken_port_is_refused_before_anything_starts(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run("up", "--port", str(taken.getsockname()[1]), "--json")
    assert (result.exit_code, json.loads(result.stdout)["error"]["code"]) == (1, "pgsched.conflict")
    assert not Path(".pgsched").exists()


def test_an_unknown_queue_is_refused_before_any_process_starts(run: Run, database_url: str) -> None:
    result = run("worker", "--processes", "2", "--queues", "nowhere", "--json", env=at(database_url))
    assert (result.exit_code, json.loads(result.stdout)["error"]["code"]) == (1, "pgsched.not_found")


def test_several_worker_processes_drain_on_sigterm(start: Start, database_url: str, db: Db) -> None:
    process = start("worker", "--processes", "2", "--json", PGSCHED_DATABASE_URL=database_url)
    assert answer(process)["processes"] == 2
    _until(lambda: db.execute("select count(*) from pgsched.workers").fetchone() == (2,))
    process.terminate()
    assert process.wait(20) == 0
    assert db.execute("select count(*) from pgsched.workers").fetchone() == (0,)


def test_a_worker_runs_its_apps_handlers(start: Start, database_url: str, db: Db, tmp_path: Path) -> None:
    (tmp_path / "my_handlers.py").write_text(HANDLERS)
    given = {"PGSCHED_DATABASE_URL": database_url, "PGSCHED_SECRET_KEYS": new_key()}
    process = start("worker", "--app", "my_handlers:app", "--json", **given)
    answer(process)
    db.execute("select pgsched.schedule('python:greet')")
    ended = "select status::text, result from pgsched.history"
    _until(lambda: db.execute(ended.encode()).fetchall() == [("succeeded", {"inherits_keys": False})])
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0


def test_the_welcome_shows_a_program_name_that_the_shell_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    welcome = Welcome(settings=Settings(), psql="psql", authorization=Path("authorization"))
    beside = Path(sys.executable).with_name("pgsched")
    for path, named in ((beside.parent, "pgsched"), ("/nowhere", beside)):
        monkeypatch.setenv("PATH", str(path))
        assert f"See the results: {named} executions list" in welcome.text()
