"""Go from the development dependencies. Its compiled standard library is cached beside them.

A test program runs briefly, but needs two hundred compiled packages. So they are compiled without optimization and
debugging information and with rare garbage collection, which halves the time.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.programs.debian import held

_GO = Path(sys.executable).with_name("go")
_SETTINGS = {
    "GOCACHE": str(Path(sys.prefix, ".go")),
    "GO111MODULE": "off",
    "GOFLAGS": "'-gcflags=all=-N -l -dwarf=false' '-ldflags=-s -w'",
    "GOGC": "400",
    "CGO_ENABLED": "0",
    "GOTOOLCHAIN": "local",
    "GOTELEMETRY": "off",
}


def go(*arguments: str, cwd: Path, **environment: str) -> str:
    """Runs Go and returns its output."""
    given = os.environ | _SETTINGS | environment
    with held("go"):  # otherwise two at once would both compile the standard library
        done = subprocess.run(
            [_GO, *arguments], cwd=cwd, env=given, capture_output=True, text=True, timeout=240, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
