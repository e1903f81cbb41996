"""What a fault has cost, judged by the ledger outside the system, by history, and by what was acknowledged."""

import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.adversary.account import percentile
from tests.faults.load import DELAY, JOBS, KINDS, Promise
from tests.faults.site import Connection, Site

LATE = 0.05
"""The lateness (p99) in seconds that counts as normal. Time that the machine itself oversleeps is added."""
_UNTIMED = "limited", "after", "deferred", "pulled", "call"  # held back by a limit, by predecessors, or by their target
_LEFT = "select count(*) from pgsched.executions where job_id is null"
_ENDS = """
select id::text, count(*), min(status::text) from pgsched.history where id = any (%s::uuid[]) group by id"""
_WHY = "select execution_id::text, max(error) from pgsched.attempts where execution_id = any (%s::uuid[]) group by 1"
_INSTANTS = """
select scheduled_for, coalesce(last_scheduled_for, scheduled_for), reason
  from pgsched.history h where client_id = 'first' and job_id = (select id from pgsched.jobs where key = %s)
union all
select coalesce(e.scheduled_for, e.fire_at), coalesce(e.scheduled_for, e.fire_at), 'waits'
  from pgsched.executions e where job_id = (select id from pgsched.jobs where key = %s)
 order by 1"""
_LONGEST = 90.0
NOT_REPLICATED = "its end was not replicated"


@dataclass(slots=True)
class Verdict:
    """``repeated`` counts executions that arrived more than once, by the database's reason; any reason but the
    ``explained`` one is a defect. ``forgotten`` lists executions that no longer exist and were acknowledged while
    nothing was replicated to the promoted server. ``unlike`` lists where the load differs from what it should be.
    ``instants`` lists gaps in the account of a job, and ``accounted`` is how many instants its jobs have had since the
    installation began. ``recovery`` is None if normal service was not seen again."""

    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    settled_twice: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    repeated: Counter[str] = field(default_factory=Counter)
    out_of_order: list[str] = field(default_factory=list)
    instants: list[str] = field(default_factory=list)
    accounted: int = 0
    unlike: list[str] = field(default_factory=list)
    recovery: float | None = None
    memory: float = 0.0
    log_lines: int = 0
    explained: str | None = None

    @property
    def broken(self) -> dict[str, list[str]]:
        """Everything that must not happen, whatever the fault."""
        found = {
            "lost": self.lost, "settled twice": self.settled_twice, "failed": self.failed,
            "out of order": self.out_of_order, "instants": self.instants, "not the load": self.unlike,
            "repeated": [f"{count}: {why}" for why, count in self.repeated.items() if why != self.explained],
        }  # fmt: skip
        return {name: them[:5] for name, them in found.items() if them}


def judge(
    site: Site, promises: dict[str, Promise], *, broken: float, repaired: float, keeps_order: bool = True
) -> Verdict:
    """Waits until all of these have ended, and returns the verdict."""
    verdict = Verdict(acknowledged=len(promises), memory=site.memory)
    with site.owner_patiently() as db:
        _await_ends(db, promises)
        _read_ends(db, site, promises, verdict)
        _read_instants(db, verdict)
    if keeps_order:
        verdict.out_of_order = _out_of_order(site, promises)
    missing = KINDS - {promise.kind for promise in site.load.book.known().values()}
    verdict.unlike = [*site.load.book.mistakes, *(f"none of the kind {kind}" for kind in sorted(missing))]
    verdict.recovery = recovered(site, promises, broken, repaired)
    return verdict


def _await_ends(db: Connection, promises: dict[str, Promise]) -> None:
    deadline = time.monotonic() + _LONGEST
    query = "select count(*) from pgsched.executions where id = any (%s::uuid[])"
    while db.execute(query, [list(promises)]).fetchone() != (0,) and time.monotonic() < deadline:
        time.sleep(0.2)


def _read_ends(db: Connection, site: Site, promises: dict[str, Promise], verdict: Verdict) -> None:
    ends = {id: (count, status) for id, count, status in db.execute(_ENDS, [list(promises)])}
    site.ledger.read()
    arrived = site.ledger.arrivals
    nowhere = [id for id in promises if id not in ends]
    verdict.forgotten = [id for id in nowhere if _is_unreplicated(site, promises[id].noted)]
    verdict.lost = [
        f"{promises[id].kind} {id}"
        for id in promises
        if (id not in ends or id not in arrived) and id not in verdict.forgotten
    ]
    verdict.settled_twice = [id for id, (count, _) in ends.items() if count > 1]
    verdict.failed = [
        f"{promises[id].kind} {id}: {status}" for id, (_, status) in ends.items() if status != "succeeded"
    ]
    twice = [id for id in promises if len(arrived.get(id, [])) > 1]
    why: dict[str, str] = dict(db.execute(_WHY, [twice]).fetchall())
    verdict.repeated = Counter(
        NOT_REPLICATED if _is_unreplicated(site, arrived[id][0].at) else why.get(id, "no reason") for id in twice
    )


def _is_unreplicated(site: Site, moment: float) -> bool:
    return site.unreplicated is not None and site.unreplicated[0] <= moment <= site.unreplicated[1]


def _read_instants(db: Connection, verdict: Verdict) -> None:
    """Each second of each job is accounted for once: by a row, or by a range that includes it."""
    for key in JOBS:
        rows: list[Any] = db.execute(_INSTANTS, [key, key]).fetchall()
        verdict.accounted += round((rows[-1][1] - rows[0][0]).total_seconds()) + 1
        for before, after in pairwise(rows):
            if (gap := (after[0] - before[1]).total_seconds()) != 1:
                verdict.instants.append(f"{key}: {gap:g} s from {before} to {after}")


def _out_of_order(site: Site, promises: dict[str, Promise]) -> list[str]:
    """No attempt may come after an attempt of a later execution."""
    came: dict[str, list[tuple[float, int]]] = {}
    for id, promise in promises.items():
        if promise.order is not None:
            key, number = promise.order
            came.setdefault(key, []).extend((arrival.at, number) for arrival in site.ledger.arrivals.get(id, []))
    return [
        f"{key}: {after[1]} after {before[1]}"
        for key, them in came.items()
        for before, after in pairwise(sorted(them))
        if after[1] < before[1]
    ]


def recovered(site: Site, promises: dict[str, Promise], broken: float, repaired: float) -> float | None:
    """Returns the seconds from the repair until a second in which executions arrive on time, with nothing left from
    before. On a machine busy with other work, "on time" means as before the fault."""
    owed = sorted(
        (promise.owed, min(arrival.at for arrival in site.ledger.arrivals[id]))
        for id, promise in promises.items()
        if promise.kind not in _UNTIMED and id in site.ledger.arrivals
    )
    before = percentile([at - due for due, at in owed if due < broken - DELAY], 0.99)
    end = max((moment for moment, _ in owed), default=repaired)
    tenth = 0
    while (moment := repaired + tenth / 10) + 1 <= end:
        usual = max(LATE, 1.5 * before) + site.metronome.overslept(moment, moment + 1)
        late = [at - due for due, at in owed if moment <= due < moment + 1]
        left = any(at > moment + 1 + usual for due, at in owed if due < moment)
        if late and not left and percentile(late, 0.99) <= usual:
            return tenth / 10
        tenth += 1
    return None
