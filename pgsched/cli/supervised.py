"""Implements the three rules of ``pgsched.cli.supervisor`` for children."""

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
    """Returns a pgsched command as a supervised program with exactly these settings.

    ``-P`` keeps modules in the current directory from shadowing installed modules. The empty settings file keeps a
    ``pgsched.toml`` in that directory from changing the settings.
    """
    stop = longest_stop(settings) if command[0] == "worker" else None
    return Program(name=name, command=_words(command), environment=as_environment(settings), longest_stop=stop)


def api_program(settings: Settings | None = None) -> Program:
    """Returns the API as a supervised program. The program's imports are slow, so it can be started early, without
    ``settings``; it then reads its settings from standard input."""
    said = b"" if settings is None else json.dumps(as_variables(settings)).encode() + b"\n"
    return Program(name="api", command=_words(["api", "--told"]), environment=without_settings(), said=said)


def hear_settings() -> None:
    """Puts the parent's settings into the environment. Ends the process if the pipe closes before they arrive."""
    with os.fdopen(os.dup(0), "rb", buffering=0) as heard:  # unbuffered, because later lines must not be consumed
        line = heard.readline()
    if not line:
        os._exit(0)
    os.environ |= json.loads(line)


def _words(command: Sequence[str]) -> list[str]:
    return [sys.executable, "-P", "-m", "pgsched.cli.main", *command, "--supervised", "--config", os.devnull]


def counting_words(directory: Path | None) -> list[str]:
    """Returns the arguments that make a worker process write its counts to this directory."""
    return [] if directory is None else [f"--count-into={directory}"]


def longest_stop(settings: Settings) -> float | None:
    """Returns how many seconds a worker process may stay stopped by a signal, or None for no limit."""
    return settings.blocked_timeout + settings.lease if settings.blocked_timeout else None


def stop_when_orphaned(settings: Settings) -> None:
    """Sends this process SIGTERM when its standard input ends, and ends the process if it does not drain in time."""
    _follow(0, settings, told=lambda: None, orphaned=lambda: os.kill(os.getpid(), signal.SIGTERM))


class Orders:
    """Receives the supervisor's orders to stop, in a process with handlers. Moves standard input to another descriptor,
    so that handlers can neither read nor close it. Until a callback is set, an order ends the process at once, because
    nothing is in flight."""

    def __init__(self, settings: Settings) -> None:
        self._stop: Callable[[], None] = lambda: os._exit(0)
        lifeline = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        _follow(lifeline, settings, told=self._obey, orphaned=self._obey)

    def __call__(self, stop: Callable[[], None]) -> None:
        """Sets the callback, which is called in a thread when the supervisor orders a stop or dies."""
        self._stop = stop

    def _obey(self) -> None:
        self._stop()


def _follow(lifeline: int, settings: Settings, *, told: Callable[[], None], orphaned: Callable[[], None]) -> None:
    """Reads the lifeline in a thread. Ends the process if it is orphaned and does not drain in time.

    On Linux, a process that a signal has stopped continues when its parent dies, because nothing else would end it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)

    def watch() -> None:
        while os.read(lifeline, 4096):
            told()
        orphaned()
        time.sleep(settings.drain_timeout + HAND_BACK)
        os._exit(1)

    threading.Thread(target=watch, name="pgsched-lifeline", daemon=True).start()
