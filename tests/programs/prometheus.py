"""Prometheus and promtool, in the version that Debian has."""

import subprocess
from pathlib import Path

from tests.programs.debian import debian_program

_VERSION = "2.53"


def prometheus() -> Path:
    """Returns the path of the server program."""
    return debian_program("prometheus", _VERSION)


def promtool(*arguments: str | Path, given: bytes = b"") -> None:
    """Runs promtool. Raises AssertionError with its output if it finds an error."""
    words = [debian_program("promtool", _VERSION), *arguments]
    done = subprocess.run(words, input=given, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def check_page(page: bytes) -> None:
    """Asserts that a metrics page has the format of Prometheus and follows its conventions."""
    promtool("check", "metrics", given=page)
