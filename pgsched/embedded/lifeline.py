"""Stops the server if the process that started it is killed.

A shell reads from a pipe whose other end only the parent holds. When the parent ends for any reason, the kernel closes
that end. The shell then requests a shutdown that waits for open sessions, so that workers can still record finished
work. 15 seconds later, it requests a shutdown that ends the sessions. The shell runs as the server's account, so it can
signal only that account's processes.
"""

import subprocess
from typing import Any

_GRACE = 15
_SCRIPT = f"""
read -r told && exit
kill -TERM "$1" || exit
for _ in $(seq {_GRACE * 5}); do sleep 0.2; kill -0 "$1" || exit; done
kill -INT "$1"
"""


class Lifeline:
    """Watches the server with this process id until ``cut`` is called. ``options`` are the ``subprocess`` options with
    which the shell runs as the server's account."""

    def __init__(self, pid: int, options: dict[str, Any]) -> None:
        self._watcher = subprocess.Popen(
            ["sh", "-c", _SCRIPT, "pgsched-lifeline", str(pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            **options,
        )

    def cut(self) -> None:
        """Stops watching the server, and leaves it running."""
        self._watcher.communicate(b"over\n")  # does not fail if the shell has already ended
