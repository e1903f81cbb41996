"""Decides which executions pass their gates, and when each of them may start.

An execution starts at the first instant at which all its gates let it pass. It draws on all of them at that instant, so
a gate that could have let something pass earlier loses that place unless another execution takes it. Therefore
executions that can start first are scheduled first, whatever their order in the claim. And if a narrow gate delays an
execution much longer than a wider one would, it is not scheduled far ahead, but waits at the narrow gate until just
before it can start.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from pgsched.domain.gate import Gate, is_part_of

AHEAD = 500_000
"""Microseconds ahead of their start at which executions are claimed from gates; they wait in memory."""
JUST_IN_TIME = 80_000
"""Microseconds ahead, if scheduling further ahead would leave a wider gate idle."""
_MOST_IDLE = 2  # events of a wider gate
_FEW_WAYS = 16


@dataclass(frozen=True, slots=True)
class Appointment:
    """The instant (microseconds since 2000-01-01 UTC) at which an execution may start. It either passes, possibly as
    the probe of circuits, or waits behind a gate until then or longer, possibly because a wider gate would be idle.
    """

    start: int
    behind: Gate | None = None
    idle: Gate | None = None
    probes: tuple[str, ...] = ()


def appoint(waiting: Sequence[tuple[int, Sequence[Gate]]], now: int) -> list[Appointment]:
    """Returns one appointment for each execution in ``waiting``, which has the earliest start of each, and its gates.
    Those that pass draw on their gates.
    """
    found = [Appointment(now)] * len(waiting)
    lines: defaultdict[tuple[str, ...], deque[int]] = defaultdict(deque)
    for place in sorted(range(len(waiting)), key=lambda place: waiting[place][0]):
        lines[tuple(gate.name for gate in waiting[place][1])].append(place)
    # With many combinations of gates, an expected start is checked again only once it may be off by this much.
    patience = 0 if len(lines) <= _FEW_WAYS else JUST_IN_TIME
    soonest = [(waiting[line[0]][0], line[0], line) for line in lines.values()]
    heapify(soonest)
    while soonest:
        hoped, place, line = heappop(soonest)
        earliest, gates = max(now, waiting[place][0]), waiting[place][1]
        start, slowest = _start(gates, earliest)
        idle = _idle(gates, slowest, start, earliest) if slowest else None
        others_first = soonest and (start, place) > soonest[0][:2]
        if others_first and (idle or start > hoped + patience):
            heappush(soonest, (start, place, line))
            continue
        if start > earliest + AHEAD or (idle and start > now + JUST_IN_TIME):
            for behind in line:
                found[behind] = Appointment(start, slowest, idle)
            continue
        found[place] = Appointment(start, probes=tuple(gate.name for gate in gates if gate.is_probing))
        for gate in gates:
            gate.draw(start)
        line.popleft()
        if line:
            heappush(soonest, (max(start, waiting[line[0]][0]), line[0], line))
    return found


def _start(gates: Sequence[Gate], earliest: int) -> tuple[int, Gate | None]:
    """Returns the first instant at which all these gates let one pass, and the gate that delays it most."""
    start, slowest = earliest, None
    for gate in gates:
        instant = gate.earliest(earliest)
        if instant > start:
            start, slowest = instant, gate
    return start, slowest


def _idle(gates: Sequence[Gate], slowest: Gate, start: int, earliest: int) -> Gate | None:
    """Returns a gate that has a higher rate than the slowest, also passes executions that the slowest does not affect,
    and would idle for more than an event or two if this execution drew on it this late; None if there is none.
    """
    narrow = slowest.interval_at(earliest)
    for gate in gates:
        interval = gate.interval_at(earliest)
        if interval is None or (narrow is not None and interval >= narrow) or is_part_of(gate.name, slowest.name):
            continue
        if start - gate.earliest(earliest) > _MOST_IDLE * interval:
            return gate
    return None
