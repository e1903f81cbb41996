"""Go comes with the development dependencies; what it has compiled of its standard library is kept beside them."""

import os
import subprocess
import sys
from pathlib import Path

_GO = Path(sys.executable).with_name("go")
_SETTINGS = {
    "GOCACHE": str(Path(sys.prefix, ".go")),
    "GO111MODULE": "off",
    "GOTOOLCHAIN": "local",
    "GOTELEMETRY": "off",
}


def go(*arguments: str, cwd: Path, **environment: str) -> str:
    """What it prints."""
    given = os.environ | _SETTINGS | environment
    done = subprocess.run(
        [_GO, *arguments], cwd=cwd, env=given, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
