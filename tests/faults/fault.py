"""A fault: how it is caused, how it is undone, and what pgsched promises for it."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from tests.faults.load import Promise
from tests.faults.site import Site
from tests.faults.verdict import Verdict, judge

Make = Callable[[Site], Iterator[None]]
CLOCK, EVENING, WATCHES, OLD_TRANSACTIONS = "clock", "evening", "watches", "old transactions"
PAIR, LAGGING_PAIR, PROXY, SMALL_DISK, SMALL_LOG = "pair", "lagging pair", "proxy", "small disk", "small log"
"""What a fault needs besides a plain server: a clock that can be set, a clock near midnight, settable clocks of the
workers, tables that are frozen early, a standby for which commits do or do not wait, a network proxy, or a small disk
for the whole server or for its log."""


@dataclass(frozen=True, slots=True)
class Fault:
    """``within`` is the time in seconds until everything is back to normal after the fault; ``repeats`` is the reason
    for which executions may be delivered again, if any; ``needs`` is the kind of server it requires."""

    name: str
    make: Callable[[Site], AbstractContextManager[None]]
    promised: str
    seconds: float
    within: float
    repeats: str | None
    keeps_order: bool
    needs: str | None


FAULTS: dict[str, Fault] = {}


def fault(
    *,
    promised: str = "no repeats",
    seconds: float = 5.0,
    within: float = 5.0,
    repeats: str | None = None,
    keeps_order: bool = True,
    needs: str | None = None,
) -> Callable[[Make], Make]:
    """Registers a fault: a generator that causes it, yields while it lasts, and undoes it."""

    def listed(make: Make) -> Make:
        name = make.__name__.replace("_", "-")
        FAULTS[name] = Fault(name, contextmanager(make), promised, seconds, within, repeats, keeps_order, needs)
        return make

    return listed


def endure(
    site: Site,
    fault: Fault,
    *,
    seconds: float | None = None,
    before: float = 2.0,
    after: float = 6.0,
    judged: dict[str, Promise] | None = None,
) -> Verdict:
    """Causes a fault under load, undoes it, and judges everything acknowledged from just before it until some time
    after; given ``judged``, everything acknowledged that is not yet in it, which is then added."""
    known, lines = site.load.book.known() if judged is None else judged, site.programs.lines()
    time.sleep(before)
    broken = time.time()
    with fault.make(site):
        time.sleep(fault.seconds if seconds is None else seconds)
    repaired = time.time()
    time.sleep(after)
    promises = {id: promise for id, promise in site.load.book.known().items() if id not in known}
    verdict = judge(site, promises, broken=broken, repaired=repaired, keeps_order=fault.keeps_order)
    verdict.explained = fault.repeats
    verdict.log_lines = site.programs.lines() - lines
    if judged is not None:
        judged |= promises
    return verdict


def close(site: Site, last: Fault, *, judged: dict[str, Promise]) -> Verdict:
    """Stops scheduling, and judges what was acknowledged and not ``judged``, as after the ``last`` fault."""
    site.load.end()
    promises = {id: promise for id, promise in site.load.book.known().items() if id not in judged}
    now = time.time()
    verdict = judge(site, promises, broken=now, repaired=now, keeps_order=last.keeps_order)
    verdict.explained = last.repeats
    return verdict
