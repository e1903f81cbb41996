"""What a worker knows of a gate that holds executions back: when to look at it again, and how far ahead."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pgsched.domain.gate import Gate
from pgsched.domain.passing import AHEAD, JUST_IN_TIME

_MOST_BESIDE = 8
_SPARE = 3


@dataclass(slots=True, kw_only=True)
class Held:
    """When a gate is fed on from (monotonic seconds), and what was found of what it holds."""

    due: float = 0.0
    moves_on: bool = False
    """Whether it queues up at a wider gate."""
    is_mixed: bool = False
    """Whether some of it turned out to wait for other gates."""
    beside: set[str] = field(default_factory=set)
    """Wider gates that would idle if it were appointed far ahead."""

    def note_idle(self, gate: Gate) -> None:
        """A wider gate would have idled."""
        if len(self.beside) < _MOST_BESIDE:
            self.beside.add(gate.name)

    def doubt(self) -> None:
        """Finds out anew."""
        self.is_mixed = False
        self.beside.clear()

    def ahead(self, beside: Iterable[Gate], now: int) -> int:
        """How many microseconds ahead the gate is fed on from; ``beside`` are the gates of that name as they stand."""
        if self.moves_on:  # the wider gate comes to it at its next turn
            return AHEAD + AHEAD // 2
        idle_from = min((gate.earliest(now) for gate in beside), default=now + AHEAD)
        return min(max(idle_from - now, JUST_IN_TIME), AHEAD)

    def batch(self, room: int) -> int:
        """How many to claim where there is room for so many."""
        return room * _SPARE if self.is_mixed else room


def moment_before(start: int, ahead: int) -> int:
    """When to feed on from a gate that lets the next pass at this instant: for several at once, where it is fed on far
    ahead or just in time; in between, as soon as no wider gate idles for it."""
    return start - (ahead if JUST_IN_TIME < ahead < AHEAD else ahead // 2)
