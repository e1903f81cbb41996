"""Attacks on several installations of one machine: beside each other at first; one that is tried again has it alone."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Turns:
    """The turns of all test processes that share a directory."""

    def __init__(self, directory: Path) -> None:
        self._door, self._room = directory / "adversary-door", directory / "adversary-room"

    @contextmanager
    def taken(self, *, alone: bool) -> Iterator[None]:
        """Waits until nobody is alone, or until nobody else is there. Whoever waits to be alone lets no other pass."""
        with self._door.open("w") as door, self._room.open("w") as room:
            fcntl.flock(door, fcntl.LOCK_EX)
            fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            fcntl.flock(door, fcntl.LOCK_UN)
            yield
