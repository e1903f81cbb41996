"""Decides which executions pass their gates, and when each of them may start.

An execution starts at the first instant at which all its gates let it pass, and counts at all these gates at that
instant. A gate that could have let the execution pass earlier wastes capacity unless another execution passes in the
meantime. So the executions that can start first are scheduled first, whatever their order in the claim. An execution
that is delayed much longer by a narrow gate than by a wider gate waits at the narrow gate until just before it can
start.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from pgsched.domain.gate import Gate, is_part_of

AHEAD = 500_000
"""Executions are claimed from gates this many microseconds before their start, and wait in memory until then."""
JUST_IN_TIME = 80_000
"""Used instead of ``AHEAD`` where scheduling further ahead would leave a wider gate idle."""
_MOST_IDLE = 2  # a wider gate may be idle for this many events
_FEW_WAYS = 16


@dataclass(frozen=True, slots=True)
class Appointment:
    """When an execution may start, in microseconds since 2000-01-01 UTC. The execution either passes its gates,
    possibly as the probe of the circuits ``probes``, or waits ``behind`` a gate until ``start`` or later. ``idle`` is
    the wider gate that would have been idle if the execution had passed.
    """

    start: int
    behind: Gate | None = None
    idle: Gate | None = None
    probes: tuple[str, ...] = ()


def appoint(waiting: Sequence[tuple[int, Sequence[Gate]]], now: int) -> list[Appointment]:
    """Returns an appointment for each execution. ``waiting`` contains the executions' earliest starts and gates.
    Executions that pass are counted at their gates."""
    found = [Appointment(now)] * len(waiting)
    lines: defaultdict[tuple[str, ...], deque[int]] = defaultdict(deque)
    for place in sorted(range(len(waiting)), key=lambda place: waiting[place][0]):
        lines[tuple(gate.name for gate in waiting[place][1])].append(place)
    # With many combinations of gates, a line is not moved back merely because its start is up to this much later than
    # expected.
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
    """Returns the first instant, not before ``earliest``, at which all these gates let an execution pass. Also returns
    the gate that delays the execution most, or None if no gate does."""
    start, slowest = earliest, None
    for gate in gates:
        instant = gate.earliest(earliest)
        if instant > start:
            start, slowest = instant, gate
    return start, slowest


def _idle(gates: Sequence[Gate], slowest: Gate, start: int, earliest: int) -> Gate | None:
    """Returns a gate that would be idle for more than two events if this execution passed it at ``start``, or None.
    Considers only gates that have a higher rate than the slowest gate, and that other executions can pass without
    passing the slowest gate.
    """
    narrow = slowest.interval_at(earliest)
    for gate in gates:
        interval = gate.interval_at(earliest)
        if interval is None or (narrow is not None and interval >= narrow) or is_part_of(gate.name, slowest.name):
            continue
        if start - gate.earliest(earliest) > _MOST_IDLE * interval:
            return gate
    return None
