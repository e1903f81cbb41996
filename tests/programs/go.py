"""Go comes with the development dependencies; what it has compiled of its standard library is kept beside them.

A test's program runs for an instant, and two hundred packages are compiled for it. So they are not optimized, carry no
debugging information, and the compiler collects its garbage seldom: that halves what it takes.
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
    """What it prints."""
    given = os.environ | _SETTINGS | environment
    with held("go"):  # two at once would both compile the standard library
        done = subprocess.run(
            [_GO, *arguments], cwd=cwd, env=given, capture_output=True, text=True, timeout=240, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
