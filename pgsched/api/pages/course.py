"""The course of an execution: when it was scheduled, what it waited for, each attempt, and how it ended.

It is told from what is kept: the row, its failed attempts, what was done to it, and what it waited for. How long each
limit or failing target held it back is not written down, since that would be a write for each time: of a wait that is
over, the course has the length, and of one that lasts also the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from pgsched.domain.capability import WORKER
from pgsched.domain.gate import CIRCUIT, CLIENT, HOST, KEY, ORDER, QUEUE
from pgsched.store.admin.audit import AuditEntry
from pgsched.store.ends.dependencies import Dependency
from pgsched.store.lookup.rows import Attempt, Execution

_NOTICED = timedelta(seconds=1)
"""Shorter waits are no step of their own."""
_GATES = {
    CLIENT: "Client {name} is on hold, or has reached its limit",
    HOST: "The limit of host {name} is used up, or somebody has sidelined it",
    QUEUE: "The limit of queue {name} is used up",
    KEY: "The limit of key {name} is used up",
    CIRCUIT: "Target {name} fails, and is left alone until it recovers",
    WORKER: "No worker can deliver it: none has {name}",
    ORDER: "Another execution of its ordering key comes first",
    "alone:": "Workers ended while {name} ran, so it waits to be run apart from all others",
    "error:": "It is set aside",
}
_STALLS = {
    "waits: the queue is paused": "Its queue is paused",
    "waits: no worker serves the queue": "No living worker serves its queue",
}
_ENDED_WITHIN = "A limit, its ordering key or busy workers: which of them is not kept once it has begun."
_BACKED_OFF = "The pause after a failure, and whatever held it back beyond that: the two are not kept apart."


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step, from an instant that is None while it has not come. ``kind`` is good, bad, wait, did or plain; ``took``
    is how long it lasted."""

    at: datetime | None
    kind: str
    title: str
    text: str | None = None
    took: timedelta | None = None
    traceback: str | None = None
    links: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is kept of an execution beside its row."""

    attempts: Sequence[Attempt] = ()
    dependencies: Sequence[Dependency] = ()
    changes: Sequence[AuditEntry] = ()


def course_of(row: Execution, known: Known, now: datetime) -> list[Step]:
    """In the order in which it happened; what is yet to come is last."""
    steps = [Step(at=row.created_at, kind="plain", title="Scheduled", text=_for_when(row))]
    steps += [_did(one) for one in known.changes]
    steps += [_waited_for(one) for one in known.dependencies if one.finished_at is not None]
    if row.scheduled_for is not None and row.scheduled_for <= now and row.scheduled_for > row.created_at:
        steps.append(Step(at=row.scheduled_for, kind="plain", title="Due"))
    steps += _attempts(row, known.attempts)
    steps.sort(key=lambda step: step.at or now)
    if row.finished_at is not None:
        return [*steps, _end(row)]
    return [*steps, *_now(row, known, now)]


def _for_when(row: Execution) -> str:
    if row.scheduled_for is None:
        return "for no instant: it is held"
    is_later = row.scheduled_for - row.created_at >= _NOTICED
    return f"for {row.scheduled_for:%Y-%m-%d %H:%M:%S} UTC" if is_later else "for at once"


def _attempts(row: Execution, attempts: Sequence[Attempt]) -> list[Step]:
    steps: list[Step] = []
    free = max(row.scheduled_for or row.created_at, row.created_at)
    for one in attempts:
        began = one.finished_at - (one.duration or timedelta(0))
        if began - free >= _NOTICED:
            title = f"Waited for attempt {one.attempt}" if steps else "Waited to begin"
            text = _BACKED_OFF if steps else _ENDED_WITHIN
            steps.append(Step(at=free, kind="wait", title=title, text=text, took=began - free))
        steps.append(_tried(one, began))
        free = one.finished_at
    return steps


def _tried(one: Attempt, began: datetime) -> Step:
    code = f"HTTP {one.status_code}: " if one.status_code else ""
    worker = f" on worker {one.worker}" if one.worker is not None else ""
    return Step(
        at=began,
        kind="bad",
        title=f"Attempt {one.attempt}{worker} failed",
        text=f"{code}{one.error}",
        took=one.duration,
        traceback=one.traceback,
    )


def _did(one: AuditEntry) -> Step:
    return Step(at=one.at, kind="did", title=one.action.capitalize(), text=f"by {one.authenticated or one.actor}")


def _waited_for(one: Dependency) -> Step:
    title = f"One that it waited for ended: {one.status}"
    return Step(at=one.finished_at, kind="plain", title=title, links=[one.after_id])


def _end(row: Execution) -> Step:
    kind = {"succeeded": "good", "failed": "bad"}.get(row.status, "plain")
    code = f"HTTP {row.status_code}" if row.status_code else None
    text = ": ".join(part for part in (code, row.reason) if part) or None
    again = f" in attempt {row.attempt}" if row.status == "succeeded" and row.attempt > 1 else ""
    return Step(at=row.finished_at, kind=kind, title=f"{row.status.capitalize()}{again}", text=text)


def _now(row: Execution, known: Known, now: datetime) -> list[Step]:
    if row.status == "running":
        until = f"lease until {row.lease_expires_at:%H:%M:%S} UTC" if row.lease_expires_at else None
        who = f"on worker {row.lease_owner}" if row.lease_owner is not None else "with a consumer or its target"
        return [Step(at=None, kind="plain", title=f"Attempt {row.attempt} runs {who}", text=until)]
    if row.status == "held":
        return _held(row, [one.after_id for one in known.dependencies if one.finished_at is None])
    return _to_come(row, {one.error for one in known.attempts}, now)


def _held(row: Execution, waits_for: Sequence[UUID]) -> list[Step]:
    if row.held_by is not None:
        kind, colon, name = row.held_by.partition(":")
        title = _GATES.get(kind + colon, "It is held back by {name}").format(name=name or row.held_by)
        return [Step(at=None, kind="wait", title=title, text=row.reason)]
    if waits_for:
        return [Step(at=None, kind="wait", title="Waits for the end of others", links=waits_for)]
    title = "Waits for the run of its job before it" if row.job_id else "Held by hand: it has no instant"
    return [Step(at=None, kind="wait", title=title, text=row.reason)]


def _to_come(row: Execution, known: set[str], now: datetime) -> list[Step]:
    again = f"attempt {row.attempt + 1} is" if row.attempt else "it is"
    steps = []
    if row.reason in _STALLS:
        steps.append(Step(at=None, kind="wait", title=_STALLS[row.reason]))
    elif row.reason is not None and row.reason not in known:
        steps.append(Step(at=None, kind="wait", title=f"Put off: {row.reason.removeprefix('waits: ')}"))
    if row.fire_at is not None and row.fire_at > now:
        return [*steps, Step(at=row.fire_at, kind="wait", title=f"Waits until {again} due")]
    title = "Due, and nothing on record holds it back"
    return steps or [Step(at=None, kind="wait", title=title, text="Workers are behind, or busy.")]
