"""Secrets from the command line: they come by standard input, never by an argument."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import psycopg
import pytest

from pgsched import Client
from pgsched.embedded import bundled_bin_dir
from pgsched.sealing import new_key
from tests.cli.conftest import Run, Start, answer, command_lines


def until(condition: Callable[[], bool], *, within: float = 30.0) -> None:
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.02)


def pgsched(*words: str, text: str = "", **environment: str) -> Any:
    command = [sys.executable, "-m", "pgsched.cli.main", *words, "--json"]
    found = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, check=False)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def test_a_secret_is_put_listed_sealed_anew_and_dropped(
    run: Run, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", database_url)
    old, new = (run("secrets", "new-key").output.strip() for _ in range(2))
    there = {"PGSCHED_DATABASE_URL": database_url, "PGSCHED_SECRET_KEYS": old}
    put = [pgsched("secrets", "put", "shop", "token", text="hush-hush\n", **there)["made"] for _ in range(2)]
    assert put == [True, False]
    assert "token" in run("secrets", "list", "shop").output
    monkeypatch.setenv("PGSCHED_SECRET_KEYS", f"{new},{old}")
    assert "1 sealed anew" in run("secrets", "reseal").output
    assert "dropped" in run("secrets", "drop", "shop", "token").output
    with psycopg.connect(database_url) as connection:
        assert connection.execute("select count(*) from pgsched_internal.secrets").fetchone() == (0,)


class _World(BaseHTTPRequestHandler):
    """A target, and a token endpoint."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append((self.path, self.headers.get("Authorization", "")))  # type: ignore[attr-defined]
        body = b'{"access_token": "hush-access", "expires_in": 600}' if self.path == "/token" else b'{"error": "no"}'
        self.send_response(500 if self.path == "/down" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """The test is quiet."""


@pytest.fixture
def world() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    seen: list[tuple[str, str]] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("World", (_World,), {"seen": seen})) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()


def _schedule(client: Client, target: str, options: dict[str, Any]) -> None:
    client.schedule(target, client="shop", options=options | {"max_attempts": 2, "backoff": ["1ms"]})


def _dump(cluster: Path) -> str:
    """All of the database, by its superuser."""
    password, port = ((cluster / name).read_text().strip() for name in ("password", "port"))
    command = [str(bundled_bin_dir() / "pg_dump"), "-h", "127.0.0.1", "-p", port, "-U", "postgres", "pgsched"]
    return subprocess.run(command, env={"PGPASSWORD": password}, check=True, capture_output=True, text=True).stdout


@pytest.mark.usefixtures("made_before")
def test_no_secret_is_in_an_answer_a_log_a_dump_or_a_command_line(
    start: Start, world: tuple[str, list[tuple[str, str]]]
) -> None:
    url, seen = world
    process = start("up", "--port", "0", "--json", PGSCHED_SECRET_KEYS=new_key(), PGSCHED_LOG_LEVEL="debug")
    said = answer(process)
    key = Path(".pgsched/authorization").read_text().split()[-1]
    auth = {"oauth2": {"token_url": f"{url}/token", "client_id": "us", "client_secret": "oauth"}}
    with Client(said["url"], api_key=key) as client, psycopg.connect(said["database_url"], autocommit=True) as db:
        client.put_secret("shop", "token", "hush-token")
        client.put_secret("shop", "oauth", "hush-oauth")
        client.put_secret("shop", "bad", "hush\nbad")
        for path in ("/up", "/down"):
            _schedule(client, url + path, {"headers": {"authorization": {"secret": "token", "prefix": "Bearer "}}})
            _schedule(client, url + path, {"auth": auth})
        _schedule(client, f"{url}/up", {"headers": {"x": {"secret": "bad"}}})
        lines = command_lines()
        ended = "select count(*) from pgsched.history"
        until(lambda: db.execute(ended).fetchone() == (5,))
        ids = [row[0] for row in db.execute("select id from pgsched.history")]
        rooms = ["executions", "jobs", "audit", "clients/shop", "clients/shop/secrets", "dead-letters", "clients"]
        headers = {"Authorization": f"Bearer {key}"}
        pages = [*rooms, *(f"executions/{id}" for id in ids)]
        answers = "\n".join(httpx.get(f"{said['url']}/v1/{page}", headers=headers).text for page in pages)
    dumped = _dump(Path(".pgsched/postgres"))
    process.terminate()
    process.wait()
    logged = Path("stderr-0").read_text()
    assert {given for path, given in seen if path == "/up"} == {"Bearer hush-token", "Bearer hush-access"}
    assert "token" in answers
    assert "shop\ttoken" in dumped
    assert "worker.joined" in logged
    places = {"answers": answers, "log": logged, "dump": dumped, "command lines": lines + command_lines()}
    assert [place for place, text in places.items() if "hush" in text or b"hush".hex() in text] == []
