"""Stops the server if the process that started it is killed.

A shell waits on a pipe whose other end only the parent has. The kernel closes that end with the parent, however the
parent ended. The shell then asks the server to stop once its sessions are over, so that workers can still record what
they finish, and later to end those sessions. It runs as the server's account and can signal nothing else. If it is
killed too, the next start finds the server and stops it.
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
    """Watches over the server with this process id until it is cut. ``options`` are those of the server's process."""

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
        """Ends the watch, because the server has ended or is being stopped otherwise."""
        self._watcher.communicate(b"over\n")  # does not fail if it has already ended
