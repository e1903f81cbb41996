"""The course of an execution: when it was scheduled, what it waited for, each try, and how it ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from pgsched.domain.capability import WORKER
from pgsched.domain.gate import CIRCUIT, CLIENT, HOST, KEY, QUEUE
from pgsched.store.lookup.rows import Attempt, Execution

_GATES = {
    CLIENT: "its client, which is held or has reached a limit",
    HOST: "the limit of its host",
    QUEUE: "its queue, which is paused or has reached a limit",
    KEY: "those before it with the same ordering key, or that key's limit",
    CIRCUIT: "its target, which fails and is left alone",
    WORKER: "a worker that can deliver it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step, at an instant that is None while it has not come. ``kind`` is good, bad, wait or plain."""

    at: datetime | None
    kind: str
    title: str
    text: str | None = None
    took: timedelta | None = None
    traceback: str | None = None
    links: Sequence[UUID] = ()


def course_of(row: Execution, attempts: Sequence[Attempt], waits_for: Sequence[UUID]) -> list[Step]:
    """In the order in which they happened."""
    steps = [Step(at=row.created_at, kind="plain", title="Scheduled", text=f"for {row.target}")]
    steps += [_tried(one) for one in attempts]
    if row.finished_at is None:
        return [*steps, *_waiting(row, waits_for)]
    kind = {"succeeded": "good", "failed": "bad"}.get(row.status, "plain")
    code = f"HTTP {row.status_code}" if row.status_code else None
    text = ": ".join(part for part in (code, row.reason) if part) or None
    return [*steps, Step(at=row.finished_at, kind=kind, title=row.status.capitalize(), text=text)]


def _tried(one: Attempt) -> Step:
    code = f"HTTP {one.status_code}: " if one.status_code else ""
    return Step(
        at=one.finished_at,
        kind="bad",
        title=f"Attempt {one.attempt} failed",
        text=f"{code}{one.error}",
        took=one.duration,
        traceback=one.traceback,
    )


def _waiting(row: Execution, waits_for: Sequence[UUID]) -> list[Step]:
    steps = []
    if waits_for:
        steps.append(Step(at=None, kind="wait", title="Waits for the end of others", links=waits_for))
    if row.held_by:
        steps.append(Step(at=None, kind="wait", title=f"Waits for {_gate(row.held_by)}", text=row.held_by))
    if row.lease_owner is not None:
        text = f"lease until {row.lease_expires_at:%H:%M:%S} UTC" if row.lease_expires_at else None
        title = f"Attempt {row.attempt} runs on worker {row.lease_owner}"
        return [*steps, Step(at=None, kind="plain", title=title, text=text)]
    if not steps:
        again = f"attempt {row.attempt + 1} is" if row.attempt else "it is"
        steps.append(Step(at=row.fire_at, kind="wait", title=f"Waits until {again} due"))
    return steps


def _gate(name: str) -> str:
    return next((text for prefix, text in _GATES.items() if name.startswith(prefix)), "a gate")
