"""The timeline of an execution: when it was scheduled, what it waited for, each attempt, and how it ended.

Waits for busy workers, a paused queue or a lock are not recorded, so the timeline shows such a wait without its cause.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from pgsched.api.pages.gate_descriptions import words_of
from pgsched.store.admin.audit import AuditEntry
from pgsched.store.ends.dependencies import Dependency
from pgsched.store.lookup.row_types import Attempt, Execution

_NOTICED = timedelta(seconds=1)
"""Shorter waits are not shown as steps."""
_STALLS = {
    "waits: the queue is paused": "Its queue is paused",
    "waits: no worker serves the queue": "No running worker serves its queue",
}
_ENDED_WITHIN = "No gate held the execution: workers were busy or absent, its queue was paused, or a lock blocked it."
_BACKED_OFF = "The back-off after a failure, and any other delay while no gate held the execution."


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineStep:
    """One step. ``at`` is its start, or None for the current step; ``kind`` is good, bad, wait, did or plain; ``took``
    is its duration."""

    at: datetime | None
    kind: str
    title: str
    text: str | None = None
    took: timedelta | None = None
    traceback: str | None = None
    links: Sequence[UUID] = ()


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """A period in which a gate held the execution; ``until`` is None while the gate still holds it."""

    held_by: str
    since: datetime
    until: datetime | None = None


def timeline_of(
    row: Execution,
    now: datetime,
    *,
    attempts: Sequence[Attempt] = (),
    dependencies: Sequence[Dependency] = (),
    changes: Sequence[AuditEntry] = (),
) -> list[TimelineStep]:
    """Returns the steps in chronological order, with future steps last."""
    steps = [TimelineStep(at=row.created_at, kind="plain", title="Scheduled", text=_for_when(row))]
    steps += [_did(one) for one in changes]
    steps += [_waited_for(one) for one in dependencies if one.finished_at is not None]
    if row.scheduled_for is not None and row.scheduled_for <= now and row.scheduled_for > row.created_at:
        steps.append(TimelineStep(at=row.scheduled_for, kind="plain", title="Due"))
    waits = _waits(row)
    steps += [_waited(one, one.until) for one in waits if one.until is not None]
    steps += _attempts(row, attempts, waits)
    steps.sort(key=lambda step: step.at or now)
    if row.finished_at is not None:
        return [*steps, _end(row)]
    return [*steps, *_now(row, attempts, dependencies, now)]


def _for_when(row: Execution) -> str:
    if row.scheduled_for is None:
        return "without an instant, so it is held"
    is_later = row.scheduled_for - row.created_at >= _NOTICED
    return f"for {row.scheduled_for:%Y-%m-%d %H:%M:%S} UTC" if is_later else "to run immediately"


def _waits(row: Execution) -> list[Wait]:
    return msgspec.json.decode(row.waits, type=list[Wait]) if row.waits is not None else []


def _waited(one: Wait, until: datetime) -> TimelineStep:
    took = max(until - one.since, timedelta(0))
    return TimelineStep(at=one.since, kind="wait", title=words_of(one.held_by).held, took=took)


def _held_between(waits: Sequence[Wait], begin: datetime, end: datetime) -> timedelta:
    """Returns how long gates held the execution between ``begin`` and ``end``."""
    within = ((max(one.since, begin), min(one.until or end, end)) for one in waits)
    return sum((until - since for since, until in within if until > since), timedelta(0))


def _attempts(row: Execution, attempts: Sequence[Attempt], waits: Sequence[Wait]) -> list[TimelineStep]:
    steps: list[TimelineStep] = []
    free = max(row.scheduled_for or row.created_at, row.created_at)
    for one in attempts:
        began = one.finished_at - (one.duration or timedelta(0))
        steps += _waited_to_start(one.attempt, free, began, waits, again=bool(steps))
        steps.append(_tried(one, began))
        free = one.finished_at
    if row.status == "succeeded" and row.began_at is not None:
        steps += _waited_to_start(row.attempt, free, row.began_at, waits, again=bool(attempts))
        title = f"Attempt {row.attempt}{_on(row.worker)} succeeded"
        steps.append(TimelineStep(at=row.began_at, kind="plain", title=title, took=row.duration))
    return steps


def _waited_to_start(
    attempt: int, free: datetime, began: datetime, waits: Sequence[Wait], *, again: bool
) -> list[TimelineStep]:
    """Returns a step for the time before an attempt during which no gate held the execution, if that was long."""
    unexplained = began - free - _held_between(waits, free, began)
    if unexplained < _NOTICED:
        return []
    title, text = (f"Waited for attempt {attempt}", _BACKED_OFF) if again else ("Waited to start", _ENDED_WITHIN)
    return [TimelineStep(at=free, kind="wait", title=title, text=text, took=unexplained)]


def _on(worker: int | None) -> str:
    return "" if worker is None else f" on worker {worker}"


def _tried(one: Attempt, began: datetime) -> TimelineStep:
    code = f"HTTP {one.status_code}: " if one.status_code else ""
    return TimelineStep(
        at=began,
        kind="bad",
        title=f"Attempt {one.attempt}{_on(one.worker)} failed",
        text=f"{code}{one.error}",
        took=one.duration,
        traceback=one.traceback,
    )


def _did(one: AuditEntry) -> TimelineStep:
    return TimelineStep(
        at=one.at, kind="did", title=one.action.capitalize(), text=f"by {one.authenticated or one.actor}"
    )


def _waited_for(one: Dependency) -> TimelineStep:
    title = f"A dependency ended: {one.status}"
    return TimelineStep(at=one.finished_at, kind="plain", title=title, links=[one.after_id])


def _end(row: Execution) -> TimelineStep:
    kind = {"succeeded": "good", "failed": "bad"}.get(row.status, "plain")
    code = f"HTTP {row.status_code}" if row.status_code else None
    text = ": ".join(part for part in (code, row.reason) if part) or None
    again = f" in attempt {row.attempt}" if row.status == "succeeded" and row.attempt > 1 else ""
    return TimelineStep(at=row.finished_at, kind=kind, title=f"{row.status.capitalize()}{again}", text=text)


def _now(
    row: Execution, attempts: Sequence[Attempt], dependencies: Sequence[Dependency], now: datetime
) -> list[TimelineStep]:
    if row.status == "running":
        until = f"lease until {row.lease_expires_at:%H:%M:%S} UTC" if row.lease_expires_at else None
        who = f"running on worker {row.worker}" if row.worker is not None else "with a consumer or the target"
        return [TimelineStep(at=None, kind="plain", title=f"Attempt {row.attempt} is {who}", text=until)]
    if row.status == "held":
        return _held(row, [one.after_id for one in dependencies if one.finished_at is None], now)
    return _to_come(row, {one.error for one in attempts}, now)


def _held(row: Execution, waits_for: Sequence[UUID], now: datetime) -> list[TimelineStep]:
    if row.held_by is not None:
        since = next((one.since for one in _waits(row) if one.until is None), None)
        took = None if since is None else max(now - since, timedelta(0))
        return [TimelineStep(at=None, kind="wait", title=words_of(row.held_by).holds, text=row.reason, took=took)]
    if waits_for:
        return [TimelineStep(at=None, kind="wait", title="Waits for other executions to end", links=waits_for)]
    title = "Waits for the previous run of its job" if row.job_id else "Held by hand: it has no instant"
    return [TimelineStep(at=None, kind="wait", title=title, text=row.reason)]


def _to_come(row: Execution, known: set[str], now: datetime) -> list[TimelineStep]:
    again = f"attempt {row.attempt + 1} is" if row.attempt else "it is"
    steps = []
    if row.reason in _STALLS:
        steps.append(TimelineStep(at=None, kind="wait", title=_STALLS[row.reason]))
    elif row.reason is not None and row.reason not in known:
        steps.append(TimelineStep(at=None, kind="wait", title=f"Postponed: {row.reason.removeprefix('waits: ')}"))
    if row.fire_at is not None and row.fire_at > now:
        return [*steps, TimelineStep(at=row.fire_at, kind="wait", title=f"Waits until {again} due")]
    title = "Due, and nothing on record holds it back"
    return steps or [TimelineStep(at=None, kind="wait", title=title, text="Workers are behind or busy.")]
