"""Running commands: in this process to test answers, as separate processes to test signals."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pgsched.cli.main import cli
from pgsched.cli.migrate import bring_up
from pgsched.embedded import EmbeddedPostgres
from tests.conftest import forget_settings

Run = Callable[..., Result]
Start = Callable[..., subprocess.Popen[str]]

TAKING_LOCKS = (
    "select pg_advisory_lock(n) from generate_series(1, 10) n",
    "select pg_try_advisory_xact_lock_shared(1, n) from generate_series(1, 10) n",
    "select lo_unlink(lo_create(0)) from generate_series(1, 10)",
    "select lo_unlink(lo_creat(-1))",
    "select lo_unlink(lo_from_bytea(0, 'x'))",
    "create temp table taken ()",
    "create temp sequence taken",
)
"""Statements that fill the server's lock table when repeated."""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs commands in a temporary directory, without settings in the environment."""
    monkeypatch.chdir(tmp_path)
    forget_settings(monkeypatch)


@pytest.fixture(scope="session")
def _migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a stopped PostgreSQL that was created and migrated as `up` does."""
    directory = tmp_path_factory.mktemp("made") / "postgres"
    with EmbeddedPostgres(directory) as server:
        bring_up(server.url)
    (directory / "port").unlink()
    return directory


@pytest.fixture
def made_before(_migrated: Path, tmp_path: Path) -> None:
    """Provides `up` with an existing PostgreSQL, since creating one takes longer than most tests."""
    (tmp_path / ".pgsched").mkdir()
    subprocess.run(["cp", "-a", str(_migrated), str(tmp_path / ".pgsched")], check=True)


@pytest.fixture
def run() -> Run:
    """Runs a command line in this process."""

    def invoke(*words: str, **options: Any) -> Result:
        return CliRunner().invoke(cli, list(words), catch_exceptions=False, **options)

    return invoke


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a command line as a separate process. Processes that still run at the end are killed."""
    started: list[subprocess.Popen[str]] = []

    def begin(*words: str, **environment: str) -> subprocess.Popen[str]:
        with (tmp_path / f"stderr-{len(started)}").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "pgsched.cli.main", *words],
                stdout=subprocess.PIPE,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **environment},
                cwd=tmp_path,
                text=True,
                process_group=0,
                preexec_fn=hear_signals,
            )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def hear_signals() -> None:
    """Restores signals. A shell makes background jobs ignore Ctrl-C, and their children inherit that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Returns the JSON object that a process prints when it is ready."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the process ended before it was ready"
    found: dict[str, Any] = json.loads(line)
    return found


def command_lines() -> str:
    """Returns the arguments of all processes, which everybody on the machine can read."""
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in Path("/proc").glob("[0-9]*/cmdline"))


def children(pid: int) -> dict[int, str]:
    """Returns the direct children of a process, with their command lines."""
    listed = subprocess.run(["pgrep", "-a", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    pairs = [line.partition(" ") for line in listed.splitlines()]
    return {int(number): words for number, _, words in pairs}
