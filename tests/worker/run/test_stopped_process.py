"""A frozen worker process: its unbegun rows start on other workers once it is lost, and not when it continues."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.handler_call import Context
from tests.worker.apart import until_true
from tests.worker.conftest import Connection, Running, until, until_history, value

LEASE = 3.0
_ROOT = Path(__file__).parents[3]
IN_HAND = (
    "insert into pgsched.executions (target, fire_at, partition, options)"
    " select case n when 0 then %s else 'python:note' end,"
    " now() + interval '500 ms' + (n > 0)::int * interval '600 ms' + n * interval '2 ms', 3,"
    " case n when 0 then %s::jsonb else %s::jsonb end"
    " from generate_series(0, 20) n"
)


class Process:
    """``pgsched worker`` with the handlers of ``ledger_app``."""

    def __init__(self, url: str, ledger: Path) -> None:
        self._ledger = ledger
        options = ["--lease", str(LEASE), "--look-ahead", "0.9", "--json"]
        words = ["worker", "--app", "tests.worker.ledger_app:app", *options]
        plain = {name: value for name, value in os.environ.items() if not name.startswith("PGSCHED_")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pgsched.cli.main", *words],
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=plain | {"PGSCHED_DATABASE_URL": url, "LEDGER": str(ledger)},
            cwd=_ROOT,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline()

    def called(self, name: str) -> list[str]:
        """The executions that this handler was called for in the process."""
        lines = self._ledger.read_text().splitlines() if self._ledger.exists() else []
        return [id for kind, _, id in (line.partition(" ") for line in lines) if kind == name]

    def go_on(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        with suppress(ProcessLookupError):
            self.go_on()
            self._process.terminate()
        try:
            self._process.wait(timeout=20)
        finally:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()


class Others:
    """The same handlers in the test's worker, where they neither stop nor end anything."""

    def __init__(self) -> None:
        self.app, self.calls = App(), dict[str, list[str]](note=[], stop=[], exit=[])
        for name in self.calls:
            self._add(name)

    def _add(self, name: str) -> None:
        @self.app.handler(name)
        async def noted(context: Context) -> None:
            self.calls[name].append(context.execution_id)


@pytest.fixture
def process(database_url: str, tmp_path: Path) -> Iterator[Process]:
    started = Process(database_url, tmp_path / "ledger")
    yield started
    started.end()


ONCE = '{"max_attempts": 1}'


async def _in_hand(db: Connection, process: Process, target: str, options: str | None = None) -> None:
    """Let the process take 21 rows in hand, the first of which stops or ends the process."""
    await until(lambda: value(db, "select count(*) = 1 from pgsched.workers"))
    await db.execute(IN_HAND, [f"python:{target}", options, options])
    await until_true(lambda: len(process.called(target)) == 1)


async def test_unbegun_rows_of_a_frozen_process_start_once_elsewhere(
    db: Connection, running: Running, process: Process
) -> None:
    others = Others()
    await _in_hand(db, process, "stop")
    async with running(others.app, lease=LEASE):
        await until_history(db, 21, seconds=40)
        process.go_on()
        await until(lambda: value(db, "select count(*) = 2 from pgsched.workers where lost_since is null"), seconds=30)
        await db.execute("select pgsched.schedule('python:note') from generate_series(1, 10)")
        await until_history(db, 31)
    noted = [*others.calls["note"], *process.called("note")]
    assert len(noted) == len(set(noted)) == 30
    assert len(others.calls["stop"]) == 1
    assert len(process.called("stop")) == 1


async def test_unbegun_rows_of_a_dead_process_start_once_elsewhere(
    db: Connection, running: Running, process: Process
) -> None:
    others = Others()
    await _in_hand(db, process, "exit")
    async with running(others.app, lease=LEASE):
        await until_history(db, 21, seconds=40)
    noted = [*others.calls["note"], *process.called("note")]
    assert len(noted) == len(set(noted)) == 20


@pytest.mark.parametrize("end", ["stop", "exit"])
async def test_a_begun_only_attempt_is_not_repeated_but_unbegun_rows_run(
    db: Connection, running: Running, process: Process, end: str
) -> None:
    others = Others()
    await _in_hand(db, process, end, ONCE)
    async with running(others.app, lease=LEASE):
        await until(lambda: value(db, "select count(*) = 21 from pgsched.history"), seconds=40)
        process.go_on()
    assert others.calls[end] == []
    assert len(process.called(end)) == 1
    noted = [*others.calls["note"], *process.called("note")]
    assert len(noted) == len(set(noted))
    ends = await (await db.execute("select target, id::text, status::text, reason from pgsched.history")).fetchall()
    assert {(status, reason) for target, _, status, reason in ends if target == f"python:{end}"} == {
        ("failed", "the worker was lost on the last attempt")
    }
    # The process may have stopped between the record of a start and the call.
    assert {id for target, id, status, _ in ends if target == "python:note" and status == "succeeded"} == set(noted)
    assert others.calls["note"]
