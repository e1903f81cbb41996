"""What makes a process a good child of ``pgsched.cli.supervisor``: the other end of its three rules."""

import os
import signal
import sys
import threading
import time
from collections.abc import Sequence

from pgsched.cli.configuration import as_environment
from pgsched.cli.supervisor import HAND_BACK, Program
from pgsched.settings import Settings


def program(name: str, command: Sequence[str], settings: Settings) -> Program:
    """A pgsched command as a supervised program with exactly these settings.

    ``-P`` keeps the directory it runs in from shadowing installed modules, and the empty file of settings keeps a
    ``pgsched.toml`` there from adding to what was merged already.
    """
    words = [sys.executable, "-P", "-m", "pgsched.cli.main", *command]
    words += ["--supervised", "--config", os.devnull]
    return Program(name=name, command=words, environment=as_environment(settings))


def stop_when_orphaned(settings: Settings) -> None:
    """Sends this process SIGTERM when its standard input ends, and ends it the hard way if it does not drain then."""
    threading.Thread(target=_watch, args=(settings.drain_timeout + HAND_BACK,), daemon=True).start()


def _watch(patience: float) -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(patience)
    os._exit(1)
