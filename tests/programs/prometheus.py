"""Prometheus and its promtool, of the release that Debian has."""

import subprocess
from pathlib import Path

from tests.programs.debian import debian_program

_VERSION = "2.53"


def prometheus() -> Path:
    """The server's program."""
    return debian_program("prometheus", _VERSION)


def promtool(*arguments: str | Path, given: bytes = b"") -> None:
    """Raises AssertionError with what promtool says where it finds fault."""
    words = [debian_program("promtool", _VERSION), *arguments]
    done = subprocess.run(words, input=given, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def check_page(page: bytes) -> None:
    """A page of metrics has the format, and keeps to the conventions, that Prometheus wants."""
    promtool("check", "metrics", given=page)
