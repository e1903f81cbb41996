"""Verdict on an attack: lateness, lost and repeated executions of the first client, and recovery."""

import time
from dataclasses import dataclass, field

from tests.adversary.account import Promise, percentile
from tests.adversary.attack import Attack, Means
from tests.adversary.house import House
from tests.adversary.trickle import RATE

FLOOR = 0.3
"""Seconds of lateness that prove nothing: two thousand runs due at once keep two cores busy for that long at 40,000
executions a second, and for half as long at 74,000. Defects delay by seconds or forever."""
_STEPS = 5
"""Processes between a call and its handler. The machine may delay each of them."""
_RECORDED_WITHIN = 2.0
_ARRIVED_WITHIN = 1.0
_AFTERWARDS = 0.7
_LOST_AFTER = 30.0
_ALONE = False, False, True, True
"""Tries of an attack. Real damage is repeatable, so mere lateness is tried again, the last two times alone on the
machine and with fresh processes."""
_ALWAYS_LATE = 0.5
"""The most lateness in seconds that the first client may have without an attack, even on a busy machine."""
_LEAST = 0.5
"""The share of its rate that the first client must be able to schedule."""

_FOR_NOW = "OutOfMemory", "AdminShutdown", "OperationalError", "Unavailable"
"""Prefixes of refusals that can be retried."""
_TOO_LATE = "QueryCanceled", "Unavailable", "ReadTimeout", "ConnectTimeout", "WriteTimeout", "PoolTimeout"
"""Prefixes of refusals after too long a wait. They count as lateness."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Measurements of the first client in a period."""

    count: int
    late: float
    took: float
    ticks: float
    machine: float


@dataclass(slots=True)
class Verdict:
    """The problems found. Those in ``slow`` can be caused by a busy machine."""

    broken: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    under_attack: Figures | None = None

    @property
    def problems(self) -> list[str]:
        return self.broken + self.slow


def measure(house: House, start: float, end: float) -> Figures:
    """Returns the figures of a past period."""
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
    """Returns the figures of the first client without an attack."""
    start = time.time()
    time.sleep(seconds)
    end = time.time() - 0.1
    return measure(house, start, end)


def calm(house: House) -> Figures:
    """Returns figures without an attack, measured up to three times until the machine is calm."""
    for _ in range(3):
        figures = alone(house)
        if figures.late < FLOOR:
            break
    return figures


def judge(house: House, attack: Attack, usual: Figures) -> Verdict:
    """Mounts an attack, returns the verdict, and cleans up. A repeated attack measures the usual figures again, since
    the machine may be busier then."""
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
    """Returns the worse of each figure, up to what a busy machine can explain."""
    late, took, ticks = (
        max(before, min(now, _ALWAYS_LATE))
        for before, now in ((one.late, other.late), (one.took, other.took), (one.ticks, other.ticks))
    )
    return Figures(one.count, late, took, ticks, one.machine)


def attempt(house: House, attack: Attack, usual: Figures) -> Verdict:
    """Mounts an attack once and returns the verdict."""
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
        verdict.broken.append(f"{len(lost)} executions were lost")
    return verdict


def _recover(house: House, verdict: Verdict, start: float, within: float, usual: Figures) -> None:
    """Waits until everything due since then has begun and new executions begin on time."""
    began = time.monotonic()
    while not (house.account.is_served(start) and _is_on_time(house, usual)):
        if time.monotonic() - began > within:
            missing = len(house.account.missing(house.account.within(start, time.time() - 0.3)))
            verdict.slow.append(f"{missing} executions had not begun {within} s after the attack, or others were late")
            return
        time.sleep(0.05)
    verdict.figures.append(f"recovered {time.monotonic() - began:.2f} s after the attack")


def _is_on_time(house: House, usual: Figures) -> bool:
    """Whether the latest executions were as punctual as without an attack."""
    now = time.time()
    figures = measure(house, now - 0.6, now - 0.2)
    return figures.count > 0 and figures.late <= bound_of(figures, usual)


def _ask_for_advice(house: House, verdict: Verdict, start: float) -> None:
    """Checks that refusals during the attack were temporary ones."""
    refused = [reason for at, reason in house.account.refusals if at >= start]
    verdict.figures.append(f"{len(refused)} were refused temporarily" + f", such as: {refused[0]}" if refused else "")
    wrong = [reason for reason in refused if not reason.startswith(_FOR_NOW)]
    _tell_refusals(verdict, wrong, "after the attack", "as if permanently")


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
        f"{when}: {figures.count} in {end - start:.1f} s, p99 {figures.late:.3f} s, answers {figures.took:.3f} s,"
        f" job {figures.ticks:.3f} s, machine {figures.machine:.3f} s"
    )
    if missing := account.missing(due):
        verdict.slow.append(f"{when} {len(missing)} of {len(due)} had not begun after {_ARRIVED_WITHIN} s")
    if unrecorded:
        verdict.slow.append(f"{when} the ends of {unrecorded} of {len(due)} were not recorded in {_RECORDED_WITHIN} s")
    if twice := account.twice():
        verdict.broken.append(f"{when} {len(twice)} executions ran twice")
        account.ledger.arrivals = {id: found[:1] for id, found in account.ledger.arrivals.items()}
        account.ledger.ticks.clear()
    _tell_refusals(verdict, [reason for at, reason in account.refusals if at >= start], when, "")
    if figures.count < _LEAST * RATE * (end - start):
        verdict.slow.append(f"{when} the first client could schedule only {figures.count} in {end - start:.1f} s")
    _compare(verdict, figures, usual, when)
    return figures


def _until_recorded(house: House, due: dict[str, Promise]) -> int:
    """Waits until all have begun and are recorded, and returns how many are not."""
    deadline, ids = time.monotonic() + _RECORDED_WITHIN, list(due)
    arrived = time.monotonic() + _ARRIVED_WITHIN
    while unrecorded := house.unrecorded(ids):
        over = time.monotonic()
        if over > deadline or (over > arrived and house.account.missing(due)):
            break
        time.sleep(0.02)
    return unrecorded


def bound_of(figures: Figures, usual: Figures) -> float:
    """Returns how late the first client may be, in seconds."""
    return max(2 * usual.late, FLOOR + _STEPS * figures.machine)


def _compare(verdict: Verdict, figures: Figures, usual: Figures, when: str) -> None:
    floor = FLOOR + _STEPS * figures.machine
    for what, found, bound in (
        ("the first client's p99 was", figures.late, bound_of(figures, usual)),
        ("it was answered after", figures.took, max(2 * usual.took, floor)),
        ("a run of its job came after", figures.ticks, max(2 * usual.ticks, 2 * floor)),
    ):
        if found > bound:
            verdict.slow.append(f"{when} {what} {found:.2f} s, over the bound of {bound:.2f} s")


def steady(house: House, start: float, usual: Figures) -> None:
    """Asserts that the first client has been served well since then. Mere lateness is measured again, since a blocked
    claim stays blocked."""
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
