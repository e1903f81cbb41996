"""Writes files so that no other user can redirect them: only in directories that no other user can change, and never
through links."""

import os
from pathlib import Path

from pgsched.errors import InvalidInput


def check_directory(directory: Path, otherwise: str) -> None:
    """Raises InvalidInput if another user, except root, could replace a file in this directory with a link.

    Checks who owns the directory and its parent or, if this process runs as root, the directory and all its parents.
    """
    path = directory.absolute()
    there = [one for one in (path, *path.parents) if one.exists()]
    is_root = os.geteuid() == 0
    parts = [*there, *there[0].resolve().parents] if is_root else there[: 2 if path.exists() else 1]
    for part in parts:
        for owner in (part.lstat().st_uid, part.stat().st_uid):  # the owner of a link, and of its target
            if owner not in (0, os.geteuid()):
                raise InvalidInput(
                    f"{part} belongs to user {owner}, who could place links in it: run as that user, or choose "
                    f"{otherwise}"
                )


def make_directory(directory: Path, otherwise: str, *, mode: int = 0o777) -> None:
    """Creates the directory if it does not exist. Raises InvalidInput as ``check_directory`` does, and OSError if the
    directory cannot be created.
    """
    check_directory(directory, otherwise)
    directory.mkdir(mode=mode, parents=True, exist_ok=True)
    check_directory(directory, otherwise)


def open_own(file: Path, *, append: bool = False, empty: bool = False) -> int:
    """Opens or creates a file for reading and writing, and returns its descriptor. Makes the file accessible only to
    this user.

    Raises OSError for a link, and InvalidInput for another user's file.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_APPEND if append else 0)
    descriptor = os.open(file, flags, 0o600)
    try:
        if (owner := os.fstat(descriptor).st_uid) != os.geteuid():
            raise InvalidInput(f"{file} belongs to user {owner}: move the file away, or run as that user")
        os.fchmod(descriptor, 0o600)
        if empty:
            os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def write_own(file: Path, text: str) -> None:
    """Opens a file with ``open_own``, replaces its contents, and syncs it to disk."""
    with os.fdopen(open_own(file, empty=True), "w", encoding="utf-8") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
