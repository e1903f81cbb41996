"""The child's side of the three rules of ``pgsched.cli.supervisor``."""

import ctypes
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pgsched.cli.settings_flags import as_environment, as_variables, without_settings
from pgsched.cli.supervisor import HAND_BACK, Program
from pgsched.settings import Settings

_PR_SET_PDEATHSIG = 1


def program(name: str, command: Sequence[str], settings: Settings) -> Program:
    """A pgsched command as a supervised program with exactly these settings.

    ``-P`` keeps the directory it runs in from shadowing installed modules, and the empty file of settings keeps a
    ``pgsched.toml`` there from adding to what was merged already.
    """
    stop = longest_stop(settings) if command[0] == "worker" else None
    return Program(name=name, command=_words(command), environment=as_environment(settings), longest_stop=stop)


def api_program(settings: Settings | None = None) -> Program:
    """The API as a supervised program. To import it takes longer than all else at a start, so it can be begun before
    its settings are known: it reads them from its standard input."""
    said = b"" if settings is None else json.dumps(as_variables(settings)).encode() + b"\n"
    return Program(name="api", command=_words(["api", "--told"]), environment=without_settings(), said=said)


def hear_settings() -> None:
    """Takes over what ``api_program`` says, as if the environment had said it. Where nobody says anything any more it
    ends the process."""
    with os.fdopen(os.dup(0), "rb", buffering=0) as heard:  # unbuffered: what comes next is for others
        line = heard.readline()
    if not line:
        os._exit(0)
    os.environ |= json.loads(line)


def _words(command: Sequence[str]) -> list[str]:
    return [sys.executable, "-P", "-m", "pgsched.cli.main", *command, "--supervised", "--config", os.devnull]


def counting_words(directory: Path | None) -> list[str]:
    """What is added to the command of a worker process that counts for another."""
    return [] if directory is None else [f"--count-into={directory}"]


def longest_stop(settings: Settings) -> float | None:
    """How many seconds a worker process may stay stopped by a signal."""
    return settings.blocked_timeout + settings.lease if settings.blocked_timeout else None


def stop_when_orphaned(settings: Settings) -> None:
    """Sends this process SIGTERM when its standard input ends, and ends it the hard way if it does not drain then."""
    _follow(0, settings, told=lambda: None, orphaned=lambda: os.kill(os.getpid(), signal.SIGTERM))


class Orders:
    """The orders that a process with handlers gets from its supervisor, by its standard input, which is moved to where
    handlers neither read nor close it. Until somebody listens nothing is in hand, and an order ends the process."""

    def __init__(self, settings: Settings) -> None:
        self._stop: Callable[[], None] = lambda: os._exit(0)
        lifeline = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        _follow(lifeline, settings, told=self._obey, orphaned=self._obey)

    def __call__(self, stop: Callable[[], None]) -> None:
        """Has ``stop`` called, in a thread, when the supervisor says so or is gone."""
        self._stop = stop

    def _obey(self) -> None:
        self._stop()


def _follow(lifeline: int, settings: Settings, *, told: Callable[[], None], orphaned: Callable[[], None]) -> None:
    """Reads it in a thread. Ends the process the hard way if it does not drain once it is orphaned.

    On Linux a process that a signal has stopped goes on when its parent ends: nobody else is left to end it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)

    def watch() -> None:
        while os.read(lifeline, 4096):
            told()
        orphaned()
        time.sleep(settings.drain_timeout + HAND_BACK)
        os._exit(1)

    threading.Thread(target=watch, name="pgsched-lifeline", daemon=True).start()
