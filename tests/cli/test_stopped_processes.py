"""Handlers that block their process without ending it: the process is replaced, and other executions continue."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.cli import test_poison_pills
from tests.cli.conftest import Start, answer
from tests.conftest import at

APP = """
import asyncio, ctypes, os, signal, sys, threading, time
import pgsched

app = pgsched.App()


@app.handler("waits")
async def waits():
    threading.Event().wait()


@app.handler("keeps")
def keeps():
    code_in_c, lock = ctypes.PyDLL(None), ctypes.create_string_buffer(256)
    code_in_c.pthread_mutex_init(lock, None)
    for _ in range(2):
        code_in_c.pthread_mutex_lock(lock)  # blocks forever, and keeps the GIL


@app.handler("cancels")
async def cancels():
    for task in asyncio.all_tasks():
        task.cancel()


@app.handler("freezes")
async def freezes():
    os.kill(os.getpid(), signal.SIGSTOP)


@app.handler("signals")
async def signals():
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(3600)


@app.handler("reads")
async def reads():
    os.read(0, 4096)
    await asyncio.sleep(3600)


@app.handler("hangs")
async def hangs():
    if "--isolated" in sys.argv:
        await asyncio.sleep(3600)
    os._exit(3)


@app.handler("slow")
async def slow():
    await asyncio.sleep(0.2)


@app.handler("other")
async def other():
    await asyncio.sleep(0.01)


@app.handler("sync")
def sync():
    time.sleep(0.01)
"""
_PATIENCE = 150.0
OTHERS = """
insert into pgsched.executions (target, fire_at)
select case n % 2 when 0 then 'python:other' else 'python:sync' end, now() + n * interval '50 ms'
  from generate_series(1, 100) n"""


def until(db: psycopg.Connection[Any], query: str) -> None:
    test_poison_pills.until(db, query, seconds=_PATIENCE)


@pytest.fixture
def db(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def worker(start: Start, database_url: str, tmp_path: Path) -> Callable[..., Any]:
    """Starts ``pgsched worker`` with two processes and blocking handlers, and waits until it is ready."""

    def begin(*words: str) -> Any:
        (tmp_path / "stopping.py").write_text(APP)
        given = ["--processes", "2", "--lease", "2", "--blocked-timeout", "2", "--drain-timeout", "2", *words]
        process = start("worker", "--json", "--app", "stopping:app", *given, **at(database_url))
        answer(process)
        return process

    return begin


@pytest.mark.parametrize(
    ("handler", "count", "how"),
    [
        ("waits", 3, "no answer within 1 s"),
        ("cancels", 3, "the handler cancelled itself"),
        ("keeps", 1, "no answer within 1 s"),
        ("freezes", 1, "no answer within 1 s"),
    ],
)
def test_a_blocked_process_is_replaced_and_the_blocking_execution_fails(
    worker: Callable[..., Any], db: Any, handler: str, count: int, how: str, tmp_path: Path
) -> None:
    worker()
    db.execute(
        "select pgsched.schedule(%s, options => %s::jsonb) from generate_series(1, %s)",
        [f"python:{handler}", '{"timeout": "1s", "max_attempts": 3, "backoff": {"initial": "100ms"}}', count],
    )
    db.execute(OTHERS)
    until(db, "select count(*) = 100 from pgsched.history where status = 'succeeded'")
    until(db, f"select count(*) = {count} from pgsched.dead_letters")
    assert db.execute("select distinct attempt, reason from pgsched.dead_letters").fetchall() == [(3, how)]
    log = (tmp_path / "stderr-0").read_text()
    assert "ended unexpectedly" in log
    if count == 3:
        assert "worker.gave_up" in log
    if handler == "waits":
        assert '"running": "python:waits ' in log


@pytest.mark.parametrize("handler", ["signals", "reads"])
def test_a_handlers_signals_and_reads_cannot_stop_its_process(
    worker: Callable[..., Any], db: Any, handler: str, tmp_path: Path
) -> None:
    worker()
    db.execute(
        "select pgsched.schedule(%s, options => %s::jsonb) from generate_series(1, 4)",
        [f"python:{handler}", '{"timeout": "3s", "max_attempts": 2, "backoff": {"initial": "1s", "maximum": "1s"}}'],
    )
    db.execute(OTHERS)
    until(db, "select count(*) = 100 from pgsched.history where status = 'succeeded'")
    until(db, "select count(*) = 4 from pgsched.history where status = 'failed'")
    assert db.execute("select distinct attempt, reason from pgsched.history where status = 'failed'").fetchall() == [
        (2, "no answer within 3 s")
    ]
    log = (tmp_path / "stderr-0").read_text()
    assert "ended unexpectedly" not in log
    assert "worker.drained" not in log
    assert ('"event": "signal.ignored"' in log) == (handler == "signals")


def test_supervised_processes_drain_when_the_worker_is_terminated(
    worker: Callable[..., Any], db: Any, tmp_path: Path
) -> None:
    process = worker()
    db.execute(OTHERS)
    until(db, "select count(*) > 10 from pgsched.history where status = 'succeeded'")
    process.terminate()
    assert process.wait(30) == 0
    log = (tmp_path / "stderr-0").read_text()
    assert log.count("worker.drained") == 2
    assert "signal.ignored" not in log
    assert db.execute("select count(*) from pgsched.executions where lease_token is not null").fetchall() == [(0,)]


def test_hanging_handlers_do_not_delay_other_executions(worker: Callable[..., Any], db: Any) -> None:
    db.execute("insert into pgsched.clients (client_id) values ('mallory')")
    db.execute(
        "select pgsched.schedule('python:hangs', client => 'mallory', options => %s::jsonb) from generate_series(1, 3)",
        ['{"timeout": "1h"}'],
    )
    db.execute("select pgsched.schedule('python:slow') from generate_series(1, 30)")
    worker()
    until(db, "select count(*) = 30 from pgsched.history where status = 'succeeded'")
    until(db, "select count(*) = 3 from pgsched.executions where client_id = 'mallory' and lease_token is not null")
