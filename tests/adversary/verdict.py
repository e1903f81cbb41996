"""Whether the first client was hurt: how late, how much lost or done twice, and whether all is as it was afterwards."""

import time
from dataclasses import dataclass, field

from tests.adversary.account import Promise, percentile
from tests.adversary.attack import Attack, Means
from tests.adversary.house import House
from tests.adversary.trickle import RATE

FLOOR = 0.3
"""Seconds of lateness that prove nothing: two thousand runs that are due at one moment keep two cores busy for so long
where they drain 40,000 executions a second, and for half of it where they drain 74,000. Defects delay by seconds, or
for ever."""
_STEPS = 5
"""From the call to the handler so many processes take their turns; each may be as late as the machine makes it."""
_RECORDED_WITHIN = 2.0
_ARRIVED_WITHIN = 1.0
_AFTERWARDS = 0.7
_LOST_AFTER = 30.0
_ALONE = False, False, True, True
"""What an attack does it does every time: what was merely late is tried again, and at last, twice, with the machine to
itself and with processes that no other attack was mounted on."""
_ALWAYS_LATE = 0.5
"""Seconds of lateness beyond which the first client is not well served where it is alone, however busy the machine."""
_LEAST = 0.5
"""Of what it schedules each second, what the first client must get to schedule."""

_FOR_NOW = "OutOfMemory", "AdminShutdown", "OperationalError", "Unavailable"
"""How a refusal begins after which one tries again."""
_TOO_LATE = "QueryCanceled", "Unavailable", "ReadTimeout", "ConnectTimeout", "WriteTimeout", "PoolTimeout"
"""How a refusal begins for which somebody has waited too long: that is lateness, as of an execution."""


@dataclass(frozen=True, slots=True)
class Figures:
    """How the first client fares in a period."""

    count: int
    late: float
    took: float
    ticks: float
    machine: float


@dataclass(slots=True)
class Verdict:
    """What is wrong; ``slow`` is what may be but the machine's own doing, since it takes seconds to say so."""

    broken: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    under_attack: Figures | None = None

    @property
    def problems(self) -> list[str]:
        return self.broken + self.slow


def measure(house: House, start: float, end: float) -> Figures:
    """The figures of a period that is over."""
    now, due = time.time(), house.account.within(start, end)
    house.account.ledger.read()
    return Figures(
        len(due),
        percentile(house.account.lateness(due, now=now), 0.99),
        percentile([promise.took for promise in due.values()], 0.99),
        max(house.account.tick_lateness(start, end, now=now), default=0.0),
        house.metronome.overslept(start, end),
    )


def alone(house: House, seconds: float = 3.0) -> Figures:
    """The figures of the first client where nobody does anything else."""
    start = time.time()
    time.sleep(seconds)
    end = time.time() - 0.1
    return measure(house, start, end)


def calm(house: House) -> Figures:
    """The same once nothing else starts on this machine, or a third time."""
    for _ in range(3):
        figures = alone(house)
        if figures.late < FLOOR:
            break
    return figures


def judge(house: House, attack: Attack, usual: Figures) -> Verdict:
    """Mounts an attack, says what came of it, and takes away what it has left. Where it is tried again, what is usual
    is looked at again too: others than attacks may keep the machine busy by now."""
    for is_alone in _ALONE:
        with house.turns.taken(alone=is_alone):
            if is_alone:
                house.restart()
                usual = _worse(usual, alone(house, 1.5))
            verdict = attempt(house, attack, usual)
        house.clear()
        if verdict.broken or not verdict.slow:
            break
        house.wait_until_served()
    return verdict


def _worse(one: Figures, other: Figures) -> Figures:
    """Of each figure the worse one, as far as it may be the machine's doing."""
    late, took, ticks = (
        max(before, min(now, _ALWAYS_LATE))
        for before, now in ((one.late, other.late), (one.took, other.took), (one.ticks, other.ticks))
    )
    return Figures(one.count, late, took, ticks, one.machine)


def attempt(house: House, attack: Attack, usual: Figures) -> Verdict:
    """Mounts an attack once and says what came of it."""
    verdict, start = Verdict(), time.time()
    with Means(house) as means:
        attack.mount(means)
        measured = time.time() if attack.after_mount else start
        time.sleep(attack.seconds)
        if attack.recovers_within is None:
            verdict.under_attack = _look(house, verdict, measured, time.time() - 0.1, usual, "under attack")
    verdict.refusals = means.refusals
    if attack.recovers_within is not None:
        _recover(house, verdict, start, attack.recovers_within, usual)
        _ask_for_advice(house, verdict, start)
    freed = time.time()
    time.sleep(_AFTERWARDS)
    _look(house, verdict, freed + 0.2, time.time() - 0.1, usual, "afterwards")
    promised, patience = house.account.within(start, time.time() - 0.2), time.monotonic() + _LOST_AFTER
    while (lost := house.account.missing(promised)) and time.monotonic() < patience:
        time.sleep(0.05)
    if lost:
        verdict.broken.append(f"{len(lost)} were lost")
    return verdict


def _recover(house: House, verdict: Verdict, start: float, within: float, usual: Figures) -> None:
    """Waits until all that was to begin since then has begun, and what is scheduled begins on time."""
    began = time.monotonic()
    while not (house.account.is_served(start) and _is_on_time(house, usual)):
        if time.monotonic() - began > within:
            missing = len(house.account.missing(house.account.within(start, time.time() - 0.3)))
            verdict.slow.append(f"{missing} had not begun {within} s after the attack, or others came late")
            return
        time.sleep(0.05)
    verdict.figures.append(f"all was as usual {time.monotonic() - began:.2f} s after the attack")


def _is_on_time(house: House, usual: Figures) -> bool:
    """Whether what was scheduled in the last moments came as it does where the client is alone."""
    now = time.time()
    figures = measure(house, now - 0.6, now - 0.2)
    return figures.count > 0 and figures.late <= bound_of(figures, usual)


def _ask_for_advice(house: House, verdict: Verdict, start: float) -> None:
    """Whoever was refused meanwhile was told that it is for now, and nothing that would have him give up."""
    refused = [reason for at, reason in house.account.refusals if at >= start]
    verdict.figures.append(f"{len(refused)} were refused for now" + f", such as: {refused[0]}" if refused else "")
    wrong = [reason for reason in refused if not reason.startswith(_FOR_NOW)]
    _tell_refusals(verdict, wrong, "after the attack", "as if for good")


def _tell_refusals(verdict: Verdict, reasons: list[str], when: str, how: str) -> None:
    late = [reason for reason in reasons if reason.startswith(_TOO_LATE)]
    wrong = [reason for reason in reasons if not reason.startswith(_TOO_LATE)]
    for kind, found in ((verdict.slow, late), (verdict.broken, wrong)):
        if found:
            kind.append(f"{when} {len(found)} were refused {how}, such as: {found[0]}")


def _look(house: House, verdict: Verdict, start: float, end: float, usual: Figures, when: str) -> Figures:
    account = house.account
    due = account.within(start, end)
    unrecorded = _until_recorded(house, due)
    figures = measure(house, start, end)
    verdict.figures.append(
        f"{when}: {figures.count} in {end - start:.1f} s, p99 {figures.late:.3f} s, told after {figures.took:.3f} s,"
        f" job {figures.ticks:.3f} s, machine {figures.machine:.3f} s"
    )
    if missing := account.missing(due):
        verdict.slow.append(f"{when} {len(missing)} of {len(due)} had not begun after {_ARRIVED_WITHIN} s")
    if unrecorded:
        verdict.slow.append(f"{when} the ends of {unrecorded} of {len(due)} were not recorded in {_RECORDED_WITHIN} s")
    if twice := account.twice():
        verdict.broken.append(f"{when} {len(twice)} ran twice")
        account.ledger.arrivals = {id: found[:1] for id, found in account.ledger.arrivals.items()}
        account.ledger.ticks.clear()
    _tell_refusals(verdict, [reason for at, reason in account.refusals if at >= start], when, "")
    if figures.count < _LEAST * RATE * (end - start):
        verdict.slow.append(f"{when} the first client could schedule but {figures.count} in {end - start:.1f} s")
    _compare(verdict, figures, usual, when)
    return figures


def _until_recorded(house: House, due: dict[str, Promise]) -> int:
    """Waits for all to have begun and to be recorded; how many are not in the end."""
    deadline, ids = time.monotonic() + _RECORDED_WITHIN, list(due)
    arrived = time.monotonic() + _ARRIVED_WITHIN
    while unrecorded := house.unrecorded(ids):
        over = time.monotonic()
        if over > deadline or (over > arrived and house.account.missing(due)):
            break
        time.sleep(0.02)
    return unrecorded


def bound_of(figures: Figures, usual: Figures) -> float:
    """How late the first client may be, in seconds."""
    return max(2 * usual.late, FLOOR + _STEPS * figures.machine)


def _compare(verdict: Verdict, figures: Figures, usual: Figures, when: str) -> None:
    floor = FLOOR + _STEPS * figures.machine
    for what, found, bound in (
        ("the first client's p99 was", figures.late, bound_of(figures, usual)),
        ("it was told after", figures.took, max(2 * usual.took, floor)),
        ("a run of its job came after", figures.ticks, max(2 * usual.ticks, 2 * floor)),
    ):
        if found > bound:
            verdict.slow.append(f"{when} {what} {found:.2f} s, and {bound:.2f} s is the bound")


def steady(house: House, start: float, usual: Figures) -> None:
    """Asserts that the first client has been well served since then, and is so now. Where it was merely late it is
    looked at again: what stands in the way of a claim goes on doing so."""
    for is_alone in _ALONE:
        verdict = Verdict()
        with house.turns.taken(alone=is_alone):
            if is_alone:
                start = time.time()
                time.sleep(0.5)
            _look(house, verdict, start, time.time() - 0.1, usual, "beside it")
        if verdict.broken or not verdict.slow:
            break
    assert not verdict.problems, "\n".join([*verdict.problems, *verdict.figures, house.log()])
