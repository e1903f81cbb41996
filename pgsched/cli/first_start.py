"""What is done the first time after an installation: installers such as uv leave it to Python to compile what it
imports, and for a start of everything that takes as long as all the rest."""

import functools
import importlib.util
import os
import subprocess
import sys
import threading
from pathlib import Path

_LARGEST = "litestar"
"""Most of what the API imports, so that it tells whether that was compiled before."""


def compile_meanwhile() -> None:
    """Has another process compile what the API will import, while this one imports, and starts a server."""
    spec = importlib.util.find_spec(_LARGEST)
    if spec is None or spec.cached is None or sys.dont_write_bytecode:
        return
    compiled = Path(spec.cached)
    if compiled.exists() or not os.access(compiled.parents[1], os.W_OK):
        return
    words = [sys.executable, "-P", "-c", "import pgsched.api.server"]
    run = functools.partial(subprocess.run, words, check=False, stdin=subprocess.DEVNULL, capture_output=True)
    threading.Thread(target=run, daemon=True).start()
