"""The sentences of ``pgsched executions why``: what an execution waits for, or what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from pgsched.store.admin.clients import ClientRow
from pgsched.store.lookup.row_types import Attempt, Execution


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What is asked beside an execution: the time, whether consumers pull from its queue, and its client if that is on
    hold."""

    now: datetime
    is_pulled: bool = False
    hold: ClientRow | None = None


_STALLS = {
    "waits: the queue is paused": "Its queue {queue} is paused; pgsched queues resume {queue} ends that.",
    "waits: no worker serves the queue": "No living worker serves its queue {queue}; start one by pgsched worker "
    "--queues {queue}.",
}
_HOLDERS = {
    "client": "Its client {name} has reached its limit, or was on hold a moment ago: see pgsched limits list --kind "
    "client.",
    "host": "The limit of the host {name} is used up, or somebody has sidelined the host: see pgsched limits list "
    "--kind host and pgsched targets list.",
    "queue": "The limit of the queue {name} is used up: see pgsched limits list --kind queue.",
    "key": "The limit of the key {name} is used up: see pgsched limits list --kind key.",
    "circuit": "The target host {name} fails, and is left alone until it recovers: see pgsched "
    "targets list, which says why.",
    "order": "Another execution under its ordering key {ordering_key} comes first, or blocks the key: see pgsched "
    "executions blocked --client {client}.",
    "worker": "No worker can deliver it: none has {name}. See pgsched status.",
    "alone": "Worker processes ended while {name} ran, so it waits to be run apart from all others.",
    "error": "It is set aside ({reason}). Mend that, then reschedule or cancel it.",
}
_WITHDRAWN = {
    "paused": "Its job was paused before its start: it runs if the job is resumed before that.",
    "edited": "Its job was edited after its instant: it runs if the schedule still has that.",
    "replaced": "Its job was replaced after its instant: it runs if the schedule still has that.",
}
_HOLD = "Its client {client} is on hold ({note}); pgsched clients release {client} ends that."
_ENDS = {
    "succeeded": "It has run: it succeeded at {finished_at}.",
    "failed": "It failed for good at {finished_at} ({reason}): see pgsched dead-letters show {id}.",
    "expired": "It came too late, and expired at {finished_at} ({reason}).",
    "skipped": "It was skipped at {finished_at} ({reason}).",
    "cancelled": "It was cancelled at {finished_at} ({reason}).",
}


def reasons(
    row: Execution, around: Around, *, attempts: Sequence[Attempt] = (), waits_for: Sequence[UUID] = ()
) -> list[str]:
    """What there is to say of an execution, one sentence or two each."""
    if row.status in _ENDS:
        return [_of(row, _ENDS[row.status])]
    last = [f"Attempt {one.attempt} failed at {_at(one.finished_at)}: {one.error}" for one in attempts[-1:]]
    if row.status == "running":
        return [*last, _who_has_it(row)]
    if row.status == "held":
        if around.hold is not None and row.held_by == f"client:{row.client}":
            return [*last, _of(row, _HOLD, note=around.hold.reason or "no reason is on record")]
        return [*last, _what_holds_it(row, waits_for)]
    return [*last, *_when_it_comes(row, around.now, {one.error for one in attempts}, around.is_pulled)]


def _who_has_it(row: Execution) -> str:
    if row.lease_owner is None:
        who = "A consumer has it, or its target has answered 202 and is to complete it"
    else:
        who = f"Worker {row.lease_owner} has it"
    return f"{who}; the lease ends at {_at(row.lease_expires_at)} unless it is renewed."


def _what_holds_it(row: Execution, waits_for: Sequence[UUID]) -> str:
    if row.held_by is not None:
        kind, _, name = row.held_by.partition(":")
        if kind == "circuit":
            name = " for the client ".join(name.split(" ", 1))
        return _of(row, _HOLDERS.get(kind, "It is held back by {held_by}."), name=name)
    if waits_for:
        return f"It waits for the end of {', '.join(map(str, waits_for))}."
    if row.job_id is None:
        return "It was scheduled for no instant: infinity."
    return _WITHDRAWN.get(row.reason or "", "It waits for the run of its job before it.")


def _when_it_comes(row: Execution, now: datetime, known: set[str], is_pulled: bool) -> list[str]:
    """Of one that waits for its instant, or for somebody to claim it."""
    said = []
    if row.fire_at is not None and row.fire_at > now:
        left = timedelta(seconds=round((row.fire_at - now).total_seconds()))
        said.append(f"It is due at {_at(row.fire_at)}, in {left}.")
    if row.reason in _STALLS:
        said.append(_of(row, _STALLS[row.reason]))
    elif row.reason is not None and row.reason not in known:
        said.append(f"It is put off for now ({row.reason.removeprefix('waits: ')}).")
    if not said and is_pulled:
        said.append(_of(row, "It is due, and no consumer has claimed it from its queue {queue} yet."))
    return said or [
        "It is due, and nothing on record keeps it back: workers are behind (pgsched status says how late "
        "the oldest is), or a transaction that is still open has locked it."
    ]


def _of(row: Execution, sentence: str, **more: str) -> str:
    fields = {name: getattr(row, name) for name in ("id", "client", "queue", "ordering_key", "held_by", "reason")}
    filled = {name: "no reason is on record" if value is None else value for name, value in fields.items()}
    return sentence.format(**filled, finished_at=_at(row.finished_at), **more)


def _at(moment: datetime | None) -> str:
    return moment.isoformat(sep=" ", timespec="seconds") if moment else "an unknown instant"
