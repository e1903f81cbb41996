"""However `up` ends, it leaves no process behind, and the next `up` continues its work."""

import json
import os
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run, Start, answer

pytestmark = pytest.mark.usefixtures("made_before")

_HANDLERS = "import pgsched\napp = pgsched.App()\n@app.handler('note')\nasync def note(payload): ...\n"


def _until(condition: Callable[[], bool], *, within: float = 60.0) -> None:
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, "the condition was not met in time"
        time.sleep(0.02)


def _began(pid: int) -> str:
    """Returns a process's start time, which with the pid identifies the process, or "" if it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if text[0] == "Z" else text[19]


def _descendants(pid: int) -> dict[int, str]:
    """Returns the pids of all descendants of a process, with their start times."""
    found: dict[int, str] = {}
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            found |= {child: _began(child)} | _descendants(child)
    return found


def _left(processes: dict[int, str]) -> list[int]:
    return [pid for pid, began in processes.items() if began and _began(pid) == began]


def _at_work(start: Start, run: Run, tmp_path: Path) -> tuple[subprocess.Popen[str], dict[int, str]]:
    """Starts `up` with its PostgreSQL, API and two workers, and waits for one execution to succeed."""
    (tmp_path / "my_handlers.py").write_text(_HANDLERS)
    process = start("up", "--port", "0", "--processes", "2", "--app", "my_handlers:app", "--json")
    said = answer(process)
    subprocess.run(shlex.split(said["try"]["psql"]), check=True, capture_output=True)
    run("schedule", "python:note", "--key", "done", "--json")
    ended = ["executions", "list", "--key", "done", "--json"]
    _until(lambda: [row["status"] for row in json.loads(run(*ended).stdout)["items"]] == ["succeeded"])
    found = _descendants(process.pid)
    assert len(found) > 10  # three pgsched processes, the PostgreSQL server and its backends
    return process, found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_stop_signal_to_pgsched_up_leaves_no_processes(
    start: Start, run: Run, tmp_path: Path, number: signal.Signals
) -> None:
    process, found = _at_work(start, run, tmp_path)
    found |= _descendants(process.pid)
    process.send_signal(number)
    assert process.wait(60) == 0
    _until(lambda: _left(found) == [])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_stop_signal_during_startup_leaves_no_processes(start: Start, number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        process = start("up", "--port", "0", PGSCHED_DATABASE_URL=f"postgresql://somebody@127.0.0.1:{port}/none")
        silent.settimeout(60)
        asking, _ = silent.accept()  # until then, child processes come only from libraries at import
        found = _descendants(process.pid)
        process.send_signal(number)
        assert process.wait(60) == {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGKILL: -9}[number]
        asking.close()
        _until(lambda: _left(found) == [])


def test_a_second_stop_signal_leaves_no_processes(start: Start, run: Run, tmp_path: Path) -> None:
    process, found = _at_work(start, run, tmp_path)
    process.send_signal(signal.SIGQUIT)
    process.send_signal(signal.SIGQUIT)
    process.wait(60)
    _until(lambda: _left(found) == [])


def test_killing_pgsched_up_ends_its_processes_and_a_restart_keeps_data(start: Start, run: Run, tmp_path: Path) -> None:
    process, found = _at_work(start, run, tmp_path)
    found |= _descendants(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    _until(lambda: _left(found) == [])
    again = start("up", "--port", "0", "--json")
    answer(again)
    kept = json.loads(run("executions", "list", "--key", "done", "--json").stdout)["items"]
    assert [row["status"] for row in kept] == ["succeeded"]
    found = _descendants(again.pid)
    again.send_signal(signal.SIGQUIT)
    assert again.wait(60) == 0
    _until(lambda: _left(found) == [])
