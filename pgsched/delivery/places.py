"""Places: what only so many attempts can use at once, such as threads, sessions, and the connections to one host.

An attempt that finds no place does not wait for one: it has not begun. Its channel raises NoPlace, and whoever wanted
the delivery keeps the row until ``freed`` says that a place is free. So the time in which a row waits inside the
worker is never taken for the target's, and a lane is never taken by a row that nobody is called for.
"""

from collections.abc import Callable


class Places:
    """So many at once. ``freed``, while somebody waits, is told of each place that becomes free; ``name`` says in logs
    what they are."""

    def __init__(self, name: str, most: int) -> None:
        self.name, self.most, self.taken = name, most, 0
        self.freed: Callable[[Places], None] | None = None

    @property
    def free(self) -> int:
        """How many attempts could begin now."""
        return self.most - self.taken

    def take(self) -> None:
        """Raises NoPlace where all are taken."""
        if self.taken >= self.most:
            raise NoPlace(self)
        self.taken += 1

    def give_back(self) -> None:
        self.taken -= 1
        self.tell()

    def tell(self) -> None:
        """A place is free."""
        if self.freed is not None:
            self.freed(self)


class NoPlace(Exception):
    """The attempt could not begin, for there was no place for it; nobody was called."""

    def __init__(self, places: Places) -> None:
        super().__init__(f"no place: {places.name}")
        self.places = places
