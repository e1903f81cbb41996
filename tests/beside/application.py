"""A plain application that migrates, schedules in its transactions, and runs its handlers by a kit and by a worker.

Run ``python application.py`` in an environment with pgsched and none of its extras, with the URL of an empty database
in ``PGSCHED_DATABASE_URL``.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import psycopg
import sqlalchemy
from sqlalchemy.orm import Session

import pgsched
from pgsched.cli.main import cli
from pgsched.testing import Kit

app = pgsched.App()
_SHIPPED: list[str] = []


@app.handler("ship")
async def ship(payload: Any) -> None:
    _SHIPPED.append(payload["by"])


def main(url: str) -> None:
    assert "migrate" in _told("--help")
    _told("migrate")
    _schedule(url)
    with Kit(url, app) as kit:
        kit.run_due()
    assert sorted(_SHIPPED) == ["psycopg", "session"]
    _schedule_over_http()
    with _receiving() as (address, arrived):
        _told("schedule", address, "--payload", '{"order": 42}')
        command = Path(sys.executable).with_name("pgsched")
        worker = subprocess.Popen([command, "worker", "--allow-private-targets"])
        try:
            assert arrived.wait(60), "no callback arrived within 60 s"
            examined = json.loads(_told("doctor", "--json", status=None))["findings"]
            wrong = [one for one in examined if one["severity"] == "error"]
            assert not wrong, wrong  # such as a driver that loses notifications
        finally:
            worker.terminate()
            worker.wait()
    assert worker.returncode == 0
    assert json.loads(_told("jobs", "list", "--json"))["items"] == []
    ended = json.loads(_told("executions", "list", "--json"))["items"]
    assert [one["status"] for one in ended] == ["succeeded"] * 3, ended


def _told(*words: str, status: int | None = 0) -> str:
    """The output of a command, run in this process, which has imported most of it already."""
    answer, code = StringIO(), None
    try:
        with redirect_stdout(answer):
            cli.main(words)
    except SystemExit as end:
        code = end.code
    assert code == status or status is None, f"{words}: {answer.getvalue()}"
    return answer.getvalue()


def _schedule(url: str) -> None:
    with psycopg.connect(url) as connection:
        pgsched.schedule(connection, "python:ship", payload={"by": "psycopg"})
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url))
    with Session(engine) as session, session.begin():
        pgsched.schedule(session, "python:ship", payload={"by": "session"}, key="by-session")


def _schedule_over_http() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        id = "0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b47"
        return httpx.Response(201, json={"id": id, "kind": "job", "outcome": "created", "fire_at": None})

    with pgsched.Client("http://pgsched.test", transport=httpx.MockTransport(answer)) as client:
        assert client.schedule("https://shop.example/report", payload={"for": "all"}, cron="@daily").kind == "job"


@contextmanager
def _receiving() -> Iterator[tuple[str, threading.Event]]:
    """The URL of a receiver of callbacks, and an event that is set when one arrives."""
    arrived = threading.Event()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()
            arrived.set()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/orders", arrived
        server.shutdown()


if __name__ == "__main__":
    main(os.environ["PGSCHED_DATABASE_URL"])
