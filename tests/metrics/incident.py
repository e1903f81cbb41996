"""Simulates incidents under a real Prometheus: ``make incident``.

Starts PostgreSQL, an API, a worker with two processes, and a Prometheus that scrapes them and evaluates
``docker/prometheus/alerts.yml``. Then it breaks one thing at a time, waits for the expected alerts, repairs it, and
waits until no alert fires. An unexpected or a missing alert is a failure.

The durations in the rules are divided by 30, so that a run takes about six minutes; the thresholds stay.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
import psycopg

from pgsched.cli.migrate import bring_up
from pgsched.cli.own_logins import own_logins
from pgsched.embedded import EmbeddedPostgres
from tests.metrics.watched import Watch, watch

_SHORTER = 30.0
_PATIENCE = 180.0
_AFTERWARDS = 5.0
_CONCURRENCY = 5
_HANDLER = """
import asyncio, pgsched
app = pgsched.App()
@app.handler("work")
async def work():
    await asyncio.sleep(0.1)
"""


class Target:
    """Answers callbacks with ``status``."""

    def __init__(self) -> None:
        self.status = 200
        target = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"] or 0))
                self.send_response(target.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_port}/"
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def answer(self, status: int) -> None:
        self.status = status


class House:
    """Everything that can break. Its ports stay the same across restarts."""

    def __init__(self, stack: ExitStack, place: Path) -> None:
        self.place = place
        self.url = stack.enter_context(EmbeddedPostgres(place / "postgres")).url
        bring_up(self.url)
        self.logins = own_logins(self.url, place / "logins")
        self.db = stack.enter_context(psycopg.connect(self.url, autocommit=True))
        self.target, self.busy, self.over = Target(), threading.Event(), threading.Event()
        self.feeding = threading.Thread(target=self.feed)
        self.ports = _free_ports(3)
        (place / "shop.py").write_text(_HANDLER)
        self.key = json.loads(self._run("admin", "keys", "create", "prometheus", "--scope", "read"))["token"]
        self.start_api()
        self.start_workers()
        self.feeding.start()
        stack.callback(self.stop)

    def start_api(self) -> None:
        self.api = self._start("api", "--port", str(self.ports[0]))

    def start_workers(self) -> None:
        address = f"127.0.0.1:{self.ports[1]}"
        few = ("--processes", "2", "--concurrency", str(_CONCURRENCY))
        self.workers = self._start("worker", "--app", "shop:app", *few, "--allow-private-targets", "--metrics", address)
        self.busy.set()

    def stop_workers(self) -> None:
        """Stops the workers. Nothing is scheduled meanwhile, so nothing is late when they return."""
        self.busy.clear()
        self.workers.terminate()
        self.workers.wait(60)

    def stop_api(self) -> None:
        self.api.terminate()
        self.api.wait(60)

    def stop(self) -> None:
        self.over.set()
        self.feeding.join()
        for process in (self.api, self.workers):
            process.kill()
            process.wait(60)

    def kill_a_worker(self) -> None:
        listed = subprocess.check_output(["pgrep", "-f", "-P", str(self.workers.pid), "cli.main worker"], text=True)
        os.kill(int(listed.split()[0]), signal.SIGKILL)

    def schedule(self, target: str, count: int = 1, queue: str = "default") -> None:
        query = "select pgsched.schedule(%s, queue => %s) from generate_series(1, %s)"
        self.db.execute(query, [target, queue, count])

    def feed(self) -> None:
        """Schedules about twenty callbacks and ten notifications a second while ``busy`` is set."""
        query = "select pgsched.schedule(%(to)s), pgsched.schedule(%(to)s), pgsched.schedule('notify:shop')"
        with psycopg.connect(self.url, autocommit=True) as connection:
            while not self.over.wait(0.1):
                if self.busy.is_set():
                    connection.execute(query, {"to": self.target.url})

    def _run(self, *words: str) -> str:
        return subprocess.run(
            [*_PROGRAM, *words, "--json"],
            env=self._environment(words[0]),
            cwd=self.place,
            stdout=subprocess.PIPE,
            check=True,
        ).stdout.decode()

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        with (self.place / f"{words[0]}.log").open("a") as log:
            process = subprocess.Popen(
                [*_PROGRAM, *words, "--json"],
                env=self._environment(words[0]),
                cwd=self.place,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert process.stdout is not None
        assert process.stdout.readline(), (self.place / f"{words[0]}.log").read_text()
        return process

    def _environment(self, command: str) -> dict[str, str]:
        return os.environ | {"PGSCHED_DATABASE_URL": self.logins.api_url if command == "api" else self.logins.url}


_PROGRAM = (sys.executable, "-m", "pgsched.cli.main")
_Step = Callable[[], object]


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in taken]


def _nothing() -> None: ...


def incident(watch: Watch, what: str, expected: set[str], begin: _Step, end: _Step | None = _nothing) -> None:
    """Begins an incident and ends it, if it has an end. Asserts that exactly the ``expected`` alerts fire meanwhile."""
    watch.seen.clear()
    began = time.monotonic()
    begin()
    watch.until(lambda _: expected <= watch.seen, _PATIENCE, what)
    passed = time.monotonic() - began
    watch.keep_looking(_AFTERWARDS)
    if end:
        end()
        watch.until(lambda firing: not firing, _PATIENCE, f"after: {what}")
    assert watch.seen == expected, f"{what}: {sorted(watch.seen)} fired instead of {sorted(expected)}"
    click.echo(f"{what}: {', '.join(sorted(expected)) or 'nothing fires'} ({passed:.0f} s)")


def go_through(house: House, watch: Watch) -> None:
    """Runs the incidents one by one. The backlog is last, since it stays in the hourly windows for long."""
    target = house.target
    watch.keep_looking(10.0)  # by then Prometheus has scraped every target
    incident(watch, "all is well", set(), lambda: watch.keep_looking(20.0))
    down = {"PgschedTargetDown"}
    incident(watch, "a target is down", down, lambda: target.answer(503), lambda: target.answer(200))
    refused = {"PgschedDeadLetters", "PgschedTargetsFail"}
    incident(watch, "targets refuse", refused, lambda: target.answer(410), lambda: target.answer(200))
    incident(watch, "a worker process is killed", {"PgschedWorkersLost"}, house.kill_a_worker)
    incident(watch, "no worker is left", {"PgschedNoWorker"}, house.stop_workers, house.start_workers)
    incident(watch, "the API is down", {"PgschedDatabaseAway"}, house.stop_api, house.start_api)
    house.db.execute("select pgsched.create_queue('orders')")
    unserved = {"PgschedQueueUnserved"}
    forget = "select pgsched.cancel(id) from pgsched.executions where partition >= 16"
    incident(
        watch, "no worker serves a queue", unserved, lambda: house.schedule("notify:x", queue="orders"),
        lambda: house.db.execute(forget),
    )  # fmt: skip
    behind = {"PgschedBacklog", "PgschedLateFast", "PgschedLateSlow"}
    too_many = 100 * 2 * _CONCURRENCY * 10
    incident(watch, "more is due than workers can run", behind, lambda: house.schedule("python:work", too_many), None)


def main() -> None:
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pgsched-incident-")))
        house = House(stack, place)
        api, workers, port = house.ports
        found = stack.enter_context(
            watch(
                place / "prometheus", port=port, api=f"127.0.0.1:{api}", workers=f"127.0.0.1:{workers}", key=house.key,
                shorter=_SHORTER,
            )
        )  # fmt: skip
        go_through(house, found)


if __name__ == "__main__":
    main()
