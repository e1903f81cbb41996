"""How many rows a claim asks for where they cost it much."""

import math

_LONG = 0.03
_FEWEST = 64


class Stride:
    """Whose turn it is under an ordering key, and what a gate lets pass, is decided in the claim, row by row. Claims
    of the others wait for it, and settles in the same partitions. So a claim that took long is followed by smaller
    ones, until they are quick."""

    def __init__(self, *, long: float = _LONG) -> None:
        self._long = long
        self.most: float = math.inf

    def bound(self, room: int) -> int:
        """So much of the room one claim may fill."""
        return int(min(room, self.most))

    def took(self, seconds: float, admitted: int, *, of: int) -> None:
        """A claim took so long, and so many of its rows had to be admitted. These have their part in the time: what
        the others cost, as runs of jobs do, is less for each the more there are."""
        theirs = seconds * admitted / of if admitted else 0.0
        if theirs > self._long:
            self.most = max(min(self.most, admitted) // 2, _FEWEST)
        elif theirs < self._long / 2:
            self.most = self.most * 2 if self.most < 1 << 16 else math.inf
