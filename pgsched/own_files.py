"""Files that nobody else leads astray: in directories that nobody else may change, and never through a link."""

import os
from pathlib import Path

from pgsched.errors import InvalidInput


def check_directory(directory: Path, otherwise: str) -> None:
    """Raises InvalidInput where another user, who is not root, could put a link where a file is to be written.

    For root this is so below any directory of another user, who can move what is in it.
    """
    path = directory.absolute()
    there = [one for one in (path, *path.parents) if one.exists()]
    is_root = os.geteuid() == 0
    parts = [*there, *there[0].resolve().parents] if is_root else there[: 2 if path.exists() else 1]
    for part in parts:
        for owner in (part.lstat().st_uid, part.stat().st_uid):  # of a link, and of where it leads
            if owner not in (0, os.geteuid()):
                raise InvalidInput(
                    f"{part} belongs to user {owner}, who could put links there: run as that user, or "
                    f"choose {otherwise}"
                )


def make_directory(directory: Path, otherwise: str, *, mode: int = 0o777) -> None:
    """Makes such a directory where there is none. Raises what ``check_directory`` does, and OSError."""
    check_directory(directory, otherwise)
    directory.mkdir(mode=mode, parents=True, exist_ok=True)
    check_directory(directory, otherwise)


def open_own(file: Path, *, append: bool = False, empty: bool = False) -> int:
    """The descriptor of a file to read and write, which this user alone may read; it is made where there is none.

    Raises OSError for a link, and InvalidInput for a file of somebody else.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_APPEND if append else 0)
    descriptor = os.open(file, flags, 0o600)
    try:
        if (owner := os.fstat(descriptor).st_uid) != os.geteuid():
            raise InvalidInput(f"{file} belongs to user {owner}: move it away, or run as that user")
        os.fchmod(descriptor, 0o600)
        if empty:
            os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def write_own(file: Path, text: str) -> None:
    """Writes such a file anew, as a whole; it is on the disk when this ends. Raises what ``open_own`` does."""
    with os.fdopen(open_own(file, empty=True), "w", encoding="utf-8") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
