"""Turns of attacks on one machine: they run side by side, but a repeated attack runs alone."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Turns:
    """The turns of all test processes, which share a directory."""

    def __init__(self, directory: Path) -> None:
        self._door, self._room = directory / "adversary-door", directory / "adversary-room"

    @contextmanager
    def taken(self, *, alone: bool) -> Iterator[None]:
        """Takes a turn, shared or alone. While somebody waits for a turn alone, no new turn starts."""
        with self._door.open("w") as door, self._room.open("w") as room:
            fcntl.flock(door, fcntl.LOCK_EX)
            fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            fcntl.flock(door, fcntl.LOCK_UN)
            yield
