"""Measures how long ``pgsched up`` takes to be ready, for a user who has just installed it.

For each round, a wheel built from this checkout is installed by uv into a new environment. Such an installation has no
bytecode, so the first start also compiles every module it imports.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from pgsched.bench.medians import medians
from pgsched.bench.seed_rows import Progress
from pgsched.cli.bench import JSON, ROUNDS, progress, tell

_ROOT = Path(__file__).parents[2]


def run_start(*, rounds: int = 1, progress: Progress = lambda _: None) -> dict[str, Any]:
    """Returns the seconds until the line that says it is ready: for the ``first`` start after the installation, a start
    with ``new_data``, and a start with existing data (``again``)."""
    with tempfile.TemporaryDirectory(prefix="pgsched-start-") as directory:
        _uv("build", "--wheel", "--out-dir", directory, str(_ROOT))
        [wheel] = Path(directory).glob("*.whl")
        measured = [_round(wheel, Path(directory, str(number)), progress) for number in range(rounds)]
    return medians(measured)


def _round(wheel: Path, place: Path, progress: Progress) -> dict[str, Any]:
    environment = place / "environment"
    _uv("venv", "--python", sys.executable, str(environment))
    _uv("pip", "install", "--python", str(environment), f"{wheel}[server,embedded]")
    program, data = environment / "bin" / "pgsched", place / "data"
    found = {"first": _started(program, data)}
    found |= {"new_data": _started(program, place / "more"), "again": _started(program, data)}
    progress(", ".join(f"{name} {seconds:.2f} s" for name, seconds in found.items()))
    return found


def _started(program: Path, data: Path) -> float:
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("PGSCHED_", "PYTHON"))}
    command = [str(program), "up", "--data-dir", str(data), "--port", "0", "--json"]
    begun = time.monotonic()
    with subprocess.Popen(
        command, env=environment, cwd=data.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        ready = process.stdout.readline()
        seconds = time.monotonic() - begun
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert ready, said.decode()
    return round(seconds, 3)


def _uv(*arguments: str) -> None:
    subprocess.run([Path(sys.executable).with_name("uv"), *arguments], check=True, capture_output=True)


@click.command()
@ROUNDS
@JSON
def start(rounds: int, as_json: bool) -> None:
    """Report how long pgsched up takes to be ready, the first time after installation and later."""
    tell(run_start(rounds=rounds, progress=progress), as_json)


if __name__ == "__main__":
    start()
