"""A pooler is switched to transaction mode while a worker runs behind it."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import psycopg

from tests.poolers.conftest import Connection
from tests.poolers.pgbouncer import pgbouncer
from tests.replication.pair import until

_HANDLERS = """
from pgsched import App

app = App()


@app.handler("note")
async def note(payload, connection):
    await connection.execute("insert into noted values (%s)", [payload])
"""
_SCHEDULE = "select pgsched.schedule('python:note', to_jsonb(n), key => 'k' || n) from generate_series(%s::int, %s) n"
_NOTED = "select count(*) from noted"


def _count(db: Connection, query: str) -> int:
    found = db.execute(query.encode()).fetchone()
    return int(found[0]) if found else 0


def test_a_worker_stops_without_losses_when_its_pool_switches_mode(
    database_url: str, db: Connection, version: str, tmp_path: Path
) -> None:
    (tmp_path / "noting.py").write_text(_HANDLERS)
    db.execute("create table noted (n int)")
    words = [sys.executable, "-m", "pgsched.cli.main", "worker", "--app", "noting:app", "--lease", "5"]
    with pgbouncer(database_url, "session", version=version, size=40) as pooler:
        environment = os.environ | {"PGSCHED_DATABASE_URL": pooler.through(database_url), "PYTHONPATH": str(tmp_path)}
        with (tmp_path / "said").open("w") as said:
            worker = subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=said, stderr=said)
        try:
            db.execute(_SCHEDULE, [1, 100])
            until(lambda: _count(db, _NOTED) == 100)
            pooler.switch("session", "transaction")
            for first in range(101, 400, 50):
                db.execute(_SCHEDULE, [first, first + 49])
            assert worker.wait(60) == 2
        finally:
            worker.kill()
            worker.wait()
        assert "set it to PostgreSQL's own address, or to a pool in session mode" in (tmp_path / "said").read_text()
        environment["PGSCHED_DATABASE_URL"] = database_url
        with (tmp_path / "said").open("w") as said:
            worker = subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=said, stderr=said)
        try:
            until(lambda: _count(db, "select count(*) from pgsched.history") == 400)
        finally:
            worker.terminate()
            worker.wait()
    _check(database_url)


def _check(database_url: str) -> None:
    """Checks that each execution ran once and is recorded correctly."""
    with psycopg.connect(database_url) as connection:
        noted = Counter(n for (n,) in connection.execute("select n from noted"))
        ended = Counter(connection.execute("select key, status::text, payload from pgsched.history").fetchall())
    assert noted == Counter(range(1, 401))
    assert ended == Counter((f"k{n}", "succeeded", n) for n in range(1, 401))
