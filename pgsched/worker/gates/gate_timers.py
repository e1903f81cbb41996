"""When a worker looks again at a gate that holds executions back, how far ahead it feeds from there, and how it goes
around its partitions.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from pgsched.domain.gate import Gate
from pgsched.domain.gate_appointments import AHEAD, JUST_IN_TIME

_MOST_BESIDE = 8
_SPARE = 3
_MOST_SPARE = 100


@dataclass(slots=True, kw_only=True)
class GateTimer:
    """When to feed from a gate next (monotonic seconds), and what earlier turns found out about the rows that it
    holds."""

    due: float = 0.0
    moves_on: bool = False
    """Whether its rows queue up at a wider gate."""
    spare: int = 1
    """A turn claims this many times the rows for which there is room, since some of them wait for other gates, too."""
    beside: set[str] = field(default_factory=set)
    """Wider gates that would idle if its rows were appointed far ahead."""

    def note_idle(self, gate: Gate) -> None:
        """Notes a wider gate that would have idled."""
        if len(self.beside) < _MOST_BESIDE:
            self.beside.add(gate.name)

    def record_feed_result(self, *, passed: int, moved: int, elsewhere: int) -> None:
        """Notes how many of the claimed rows passed, moved on to a wider gate that lets rows pass soon, or must wait at
        others."""
        self.moves_on = bool(moved)
        if elsewhere and not passed and not moved:
            self.spare = min(self.spare * _SPARE, _MOST_SPARE)
        elif elsewhere or self.spare > 1:
            self.spare = _SPARE

    def doubt(self) -> None:
        """Forgets what was found out, because gates may have changed."""
        self.spare = 1
        self.beside.clear()

    def ahead(self, beside: Iterable[Gate], now: int) -> int:
        """How many microseconds ahead the gate is fed on from; ``beside`` are the gates of that name as they stand."""
        if self.moves_on:  # the wider gate comes to it at its next turn
            return AHEAD + AHEAD // 2
        idle_from = min((gate.earliest(now) for gate in beside), default=now + AHEAD)
        return min(max(idle_from - now, JUST_IN_TIME), AHEAD)

    def look_at(self, start: int, ahead: int) -> int:
        """When to feed from a gate that lets the next row pass at ``start`` and is fed from ``ahead`` microseconds
        before."""
        if JUST_IN_TIME < ahead < AHEAD:  # as soon as no wider gate idles for it
            return start - ahead
        return start - ahead // 2  # for several at once


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
