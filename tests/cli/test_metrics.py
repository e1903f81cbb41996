"""Metrics of real worker processes, one of which is killed."""

import os
import signal
import socket
import time
import urllib.request
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.cli.conftest import Run, Start, answer, children
from tests.metrics.test_counting import Read, read
from tests.programs.prometheus import check_page

pytestmark = pytest.mark.smoke

Db = psycopg.Connection[Any]


def _page(url: str) -> Read:
    return read(_text(url))


def _text(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as response:
        return bytes(response.read())


def _until(url: str, condition: Callable[[Read], bool]) -> Read:
    end = time.monotonic() + 30
    while not condition(found := _page(url)):
        assert time.monotonic() < end, "\n".join(f"{x}" for x in found.items() if "bucket" not in x[0][0])
        time.sleep(0.1)
    return found


def test_metrics_are_summed_over_all_processes_even_a_killed_process(start: Start, database_url: str, db: Db) -> None:
    command = ("worker", "--processes", "2", "--metrics", "127.0.0.1:0", "--json")
    process = start(*command, PGSCHED_DATABASE_URL=database_url)
    url = answer(process)["metrics"]
    db.execute("select pgsched.schedule('notify:shop', jsonb_build_object('n', n)) from generate_series(1, 40) n")

    def are_counted(found: Read) -> bool:
        return found.get(("pgsched_settled_executions_total", ("succeeded",))) == 40

    found = _until(url, are_counted)
    assert found["pgsched_attempts_total", ("default", "succeeded")] == 40
    assert found["pgsched_lateness_seconds_count", ("default",)] == 40
    assert found["pgsched_claimed_executions_total", ()] == 40
    _until(url, lambda found: found.get(("pgsched_events_total", ("worker.joined",))) == 2)
    assert _page(url)["pgsched_worker_processes", ()] == 2
    killed = next(child for child, words in children(process.pid).items() if "cli.main worker" in words)
    os.kill(killed, signal.SIGKILL)
    _until(url, lambda found: found["pgsched_events_total", ("worker.joined",)] == 3)
    _until(url, lambda found: found["pgsched_events_total", ("worker.declared_lost",)] == 1)
    check_page(_text(url))
    assert are_counted(_page(url))
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0


def test_a_taken_or_invalid_metrics_address_is_refused(run: Run, database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        found = run("worker", "--metrics", address, env={"PGSCHED_DATABASE_URL": database_url})
    assert found.exit_code == 2
    assert f"metrics: cannot listen on {address}: Address already in use" in found.output
    for bad in ("9464", "here", "[::1]", "127.0.0.1:99999"):
        found = run("worker", "--metrics", bad, env={"PGSCHED_DATABASE_URL": database_url})
        assert (found.exit_code, "metrics" in found.output) == (2, True), bad
