"""Workers started while the database is unreachable."""

import signal
import time
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from pgsched.embedded import EmbeddedPostgres
from tests.cli.conftest import Start, answer

_ALLOW = "alter database {} with allow_connections {}"


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_worker_logs_that_it_waits_for_the_database(
    processes: str, server: EmbeddedPostgres, database_url: str, start: Start, tmp_path: Path
) -> None:
    name = sql.Identifier(str(conninfo_to_dict(database_url)["dbname"]))
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(sql.SQL(_ALLOW).format(name, sql.SQL("false")))
        worker = start("worker", "--processes", processes, "--json", PGSCHED_DATABASE_URL=database_url)
        log = tmp_path / "stderr-0"
        while "database.lost" not in log.read_text():
            assert worker.poll() is None, log.read_text()
            time.sleep(0.05)
        admin.execute(sql.SQL(_ALLOW).format(name, sql.SQL("true")))
    assert answer(worker)["processes"] == int(processes)
    assert "not currently accepting connections" in log.read_text()
    assert "database.back" in log.read_text()
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_worker_that_waits_for_the_database_stops_on_sigterm(processes: str, start: Start, tmp_path: Path) -> None:
    worker = start("worker", "--processes", processes, PGSCHED_DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    log = tmp_path / "stderr-0"
    while "database.lost" not in log.read_text():
        assert worker.poll() is None, log.read_text()
        time.sleep(0.05)
    worker.send_signal(signal.SIGTERM)  # as pid 1 of a container, it must handle the signal itself
    assert worker.wait(10) == 0
