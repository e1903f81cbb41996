"""Which ``pgsched up`` owns a data directory, so that a second one is refused and other commands find its database.

The owner holds a lock on ``up.lock`` for as long as it lives, and writes the database's address into it. The lock, not
the file, says that it lives: after a crash the file is there and the lock is not.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pgsched.errors import Conflict
from pgsched.own_files import check_directory, open_own

_NAME = "up.lock"
_OTHERWISE = "another --data-dir"


class Ownership:
    """A data directory held by this process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def announce(self, url: str) -> None:
        """Tells other commands the database's address."""
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, url.encode(), 0)


@contextmanager
def owned(data_dir: Path) -> Iterator[Ownership]:
    """Holds the data directory. Raises Conflict when another process does, InvalidInput where somebody else may change
    what is in it, OSError when it cannot be written."""
    check_directory(data_dir, _OTHERWISE)
    data_dir.mkdir(parents=True, exist_ok=True)
    check_directory(data_dir, _OTHERWISE)
    descriptor = open_own(data_dir / _NAME)
    try:
        _lock(descriptor, data_dir)
        ownership = Ownership(descriptor)
        ownership.announce("")
        yield ownership
        ownership.announce("")
    finally:
        os.close(descriptor)


def _lock(descriptor: int, data_dir: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Conflict(f"another pgsched up is using {data_dir}: stop it, or choose another --data-dir") from None


def running_url(data_dir: Path) -> str | None:
    """The database of the ``pgsched up`` that holds this data directory; None where none does."""
    try:
        descriptor = os.open(data_dir / _NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, 4096, 0).decode() or None
    finally:
        os.close(descriptor)
    return None
