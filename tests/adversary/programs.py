"""Commands of pgsched as separate processes: start, wait until ready, stop."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]


class Programs:
    """The started processes. Their logs go into files of this directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._running: list[subprocess.Popen[str]] = []

    def run(self, *words: str, environment: dict[str, str]) -> subprocess.Popen[str]:
        """Starts a command with only these pgsched settings."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PGSCHED_")}
        with (self._directory / f"stderr-{len(self._files()):04}").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "pgsched.cli.main", *words, "--json"],
                stdout=subprocess.PIPE,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=kept | environment,
                cwd=_ROOT,
                text=True,
                process_group=0,
            )
        self._running.append(process)
        return process

    def ready(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        """Returns the JSON object that a process prints when it is ready."""
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"the process ended before it was ready: {self.log()}"
        found: dict[str, Any] = json.loads(line)
        return found

    def stop(self) -> None:
        """Stops all processes, and kills those that still run after ten seconds."""
        for process in self._running:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._running:
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        self._running = []

    def log(self, *, characters: int = 6_000) -> str:
        """Returns the end of the last two logs."""
        return "\n".join(path.read_text()[-characters:] for path in self._files()[-2:])

    def lines(self) -> int:
        """Returns the number of log lines above level info."""
        written = (line for path in self._files() for line in path.read_bytes().splitlines())
        return sum(b'"level": "info"' not in line for line in written)

    def _files(self) -> list[Path]:
        return sorted(self._directory.glob("stderr-*"))
