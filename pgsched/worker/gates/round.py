"""Going around a worker's partitions for work that one turn cannot finish."""

from collections.abc import Awaitable, Callable, Sequence


class Round:
    """Visits the partitions one after the other; each turn goes on behind the partition where the last one stopped."""

    def __init__(self) -> None:
        self._at = 0

    async def work_off(self, partitions: Sequence[int], most: int, work: Callable[[int, int], Awaitable[int]]) -> int:
        """Works off up to ``most`` rows; returns how many. ``work`` is given a partition and how many rows of it may be
        taken, and answers how many it took."""
        done = 0
        for _ in partitions:
            self._at = (self._at + 1) % len(partitions)
            done += await work(partitions[self._at], most - done)
            if done >= most:
                break
        return done
