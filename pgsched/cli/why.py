"""The sentences of ``pgsched executions why``: what an execution is waiting for, or what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from pgsched.store.admin.clients import ClientRow
from pgsched.store.lookup.row_types import Attempt, Execution


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What an explanation needs besides the execution: the time, whether the queue is pulled, and the client's hold."""

    now: datetime
    is_pulled: bool = False
    hold: ClientRow | None = None


_STALLS = {
    "waits: the queue is paused": "Its queue {queue} is paused; resume it with pgsched queues resume {queue}.",
    "waits: no worker serves the queue": "No running worker serves its queue {queue}; start one with pgsched worker "
    "--queues {queue}.",
}
_HOLDERS = {
    "client": "Its client {name} has reached its limit, or was on hold until a moment ago: see pgsched limits list "
    "--kind client.",
    "host": "Its host {name} has reached its limit, or was sidelined by hand: see pgsched limits list "
    "--kind host and pgsched targets list.",
    "queue": "Its queue {name} has reached its limit: see pgsched limits list --kind queue.",
    "key": "Its key {name} has reached its limit: see pgsched limits list --kind key.",
    "circuit": "The target host {name} is failing, so it is not called until it recovers: see pgsched targets list "
    "for the reason.",
    "order": "Another execution with its ordering key {ordering_key} comes first, or blocks the key: see pgsched "
    "executions blocked --client {client}.",
    "worker": "No worker can deliver it: none has {name}. See pgsched status.",
    "alone": "Worker processes ended while {name} ran, so this execution waits to run separately from all others.",
    "error": "It is parked ({reason}). Fix the cause, then reschedule or cancel it.",
}
_WITHDRAWN = {
    "paused": "Its job was paused before this execution started. The execution runs if the job is resumed before its "
    "instant.",
    "edited": "Its job was edited after its instant. The execution runs if the new schedule contains that instant.",
    "replaced": "Its job was replaced after its instant. The execution runs if the new schedule contains that instant.",
}
_HOLD = "Its client {client} is held ({note}); release it with pgsched clients release {client}."
_ENDS = {
    "succeeded": "It succeeded at {finished_at}.",
    "failed": "It failed for good at {finished_at} ({reason}): see pgsched dead-letters show {id}.",
    "expired": "It expired at {finished_at} before it could start ({reason}).",
    "skipped": "It was skipped at {finished_at} ({reason}).",
    "cancelled": "It was cancelled at {finished_at} ({reason}).",
}


def reasons(
    row: Execution, around: Around, *, attempts: Sequence[Attempt] = (), waits_for: Sequence[UUID] = ()
) -> list[str]:
    """Explains, in a list of sentences, why the execution has not run or what became of it."""
    if row.status in _ENDS:
        return [_of(row, _ENDS[row.status])]
    last = [f"Attempt {one.attempt} failed at {_at(one.finished_at)}: {one.error}" for one in attempts[-1:]]
    if row.status == "running":
        return [*last, _who_has_it(row)]
    if row.status == "held":
        if around.hold is not None and row.held_by == f"client:{row.client}":
            return [*last, _of(row, _HOLD, note=around.hold.reason or "no reason is recorded")]
        return [*last, _what_holds_it(row, waits_for)]
    return [*last, *_when_it_comes(row, around.now, {one.error for one in attempts}, around.is_pulled)]


def _who_has_it(row: Execution) -> str:
    if row.worker is None:
        who = "A consumer has it, or its target responded with 202 and will complete it"
    else:
        who = f"Worker {row.worker} has it"
    return f"{who}; the lease expires at {_at(row.lease_expires_at)} unless it is renewed."


def _what_holds_it(row: Execution, waits_for: Sequence[UUID]) -> str:
    if row.held_by is not None:
        kind, _, name = row.held_by.partition(":")
        if kind == "circuit":
            name = " for the client ".join(name.split(" ", 1))
        return _of(row, _HOLDERS.get(kind, "It is held back by {held_by}."), name=name)
    if waits_for:
        return f"It waits for {', '.join(map(str, waits_for))} to end."
    if row.job_id is None:
        return "It has no instant: it was scheduled for infinity."
    return _WITHDRAWN.get(row.reason or "", "It waits for its job's previous run to end.")


def _when_it_comes(row: Execution, now: datetime, known: set[str], is_pulled: bool) -> list[str]:
    """The reasons why an execution is waiting for its instant or for a claim."""
    said = []
    if row.fire_at is not None and row.fire_at > now:
        left = timedelta(seconds=round((row.fire_at - now).total_seconds()))
        said.append(f"It is due at {_at(row.fire_at)}, in {left}.")
    if row.reason in _STALLS:
        said.append(_of(row, _STALLS[row.reason]))
    elif row.reason is not None and row.reason not in known:
        said.append(f"It is postponed ({row.reason.removeprefix('waits: ')}).")
    if not said and is_pulled:
        said.append(_of(row, "It is due, but no consumer has yet claimed it from its queue {queue}."))
    return said or [
        "It is due, and nothing on record holds it back: workers are behind (pgsched status shows how late "
        "the oldest execution is), or an open transaction has locked it."
    ]


def _of(row: Execution, sentence: str, **more: str) -> str:
    fields = {name: getattr(row, name) for name in ("id", "client", "queue", "ordering_key", "held_by", "reason")}
    filled = {name: "no reason is recorded" if value is None else value for name, value in fields.items()}
    return sentence.format(**filled, finished_at=_at(row.finished_at), **more)


def _at(moment: datetime | None) -> str:
    return moment.isoformat(sep=" ", timespec="seconds") if moment else "an unknown instant"
