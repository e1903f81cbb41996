"""Decides when to claim from a gate that holds executions, and how far ahead. Also visits partitions in turn."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from pgsched.domain.gate import Gate
from pgsched.domain.gate_appointments import AHEAD, JUST_IN_TIME

_MOST_BESIDE = 8
_SPARE = 3
_MOST_SPARE = 100


@dataclass(slots=True, kw_only=True)
class GateTimer:
    """When to claim next from a gate (monotonic), and what earlier turns have learned about the gate's rows."""

    due: float = 0.0
    moves_on: bool = False
    """Whether the gate's rows move on to a wider gate."""
    spare: int = 1
    """A turn claims the number of rows for which there is room, multiplied by this factor, because some rows also wait
    for other gates."""
    beside: set[str] = field(default_factory=set)
    """Wider gates that would be idle if rows were claimed far ahead."""

    def note_idle(self, gate: Gate) -> None:
        """Records a wider gate that would have been idle."""
        if len(self.beside) < _MOST_BESIDE:
            self.beside.add(gate.name)

    def record_feed_result(self, *, passed: int, moved: int, elsewhere: int) -> None:
        """Learns from a turn: how many rows passed, how many moved to a wider gate that lets rows pass soon, and how
        many wait at other gates."""
        self.moves_on = bool(moved)
        if elsewhere and not passed and not moved:
            self.spare = min(self.spare * _SPARE, _MOST_SPARE)
        elif elsewhere or self.spare > 1:
            self.spare = _SPARE

    def doubt(self) -> None:
        """Forgets what was learned about the rows, because gates may have changed."""
        self.spare = 1
        self.beside.clear()

    def ahead(self, beside: Iterable[Gate], now: int) -> int:
        """Returns how many microseconds ahead to claim. ``beside`` is the state of the gates in ``self.beside``."""
        if self.moves_on:  # the wider gate handles the rows at its next turn
            return AHEAD + AHEAD // 2
        idle_from = min((gate.earliest(now) for gate in beside), default=now + AHEAD)
        return min(max(idle_from - now, JUST_IN_TIME), AHEAD)

    def look_at(self, start: int, ahead: int) -> int:
        """Returns when to claim from a gate that lets the next row pass at ``start``. Rows are claimed up to ``ahead``
        microseconds before they pass."""
        if JUST_IN_TIME < ahead < AHEAD:  # a wider gate limits ``ahead``, so claim as early as possible
            return start - ahead
        return start - ahead // 2  # later, to claim several rows at once


class Round:
    """Visits partitions in turn. Each call continues after the partition at which the last call stopped."""

    def __init__(self) -> None:
        self._at = 0

    async def work_off(self, partitions: Sequence[int], most: int, work: Callable[[int, int], Awaitable[int]]) -> int:
        """Processes up to ``most`` rows and returns their number. ``work`` takes a partition and a maximum number of
        rows, and returns how many rows it processed."""
        done = 0
        for _ in partitions:
            self._at = (self._at + 1) % len(partitions)
            done += await work(partitions[self._at], most - done)
            if done >= most:
                break
        return done
