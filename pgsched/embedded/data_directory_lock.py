"""The lock of a data directory. The lock file contains the holder's process id and the database's address."""

import fcntl
import os
from pathlib import Path

from pgsched.errors import Conflict
from pgsched.own_files import open_own


def hold_lock(directory: Path) -> int:
    """Takes the lock of a data directory, and returns the lock file's descriptor.

    Raises Conflict, with the holder's process id, if another process holds the lock.
    """
    descriptor = open_own(directory / "lock")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(descriptor, 32, 0).decode().partition("\n")[0]
        os.close(descriptor)
        raise Conflict(
            f"{directory} is in use by process {holder}, which runs its PostgreSQL: stop that process, or use "
            "another data directory"
        ) from error
    announce(descriptor, "")
    return descriptor


def announce(descriptor: int, url: str) -> None:
    """Writes this process's id and the database's address into the lock file, for other processes."""
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n{url}".encode(), 0)


def running_url(directory: Path) -> str | None:
    """Returns the address announced by the process that holds this data directory's lock, or None if no process holds
    it. The content of the lock file alone does not prove that the process is alive."""
    try:
        descriptor = os.open(directory / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, 4096, 0).decode().partition("\n")[2] or None
    finally:
        os.close(descriptor)
    return None


def drop_lock(descriptor: int) -> None:
    """Releases the lock, even if a forked child still has a copy of the descriptor."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
