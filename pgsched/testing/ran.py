"""What a stepped worker did: each attempt with its outcome, and what became of the execution."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pgsched.domain.encoding import decode_json
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.options import Options
from pgsched.domain.outcome import Failed, Late, Outcome, Released, Succeeded, Undeliverable
from pgsched.worker.settle.settler import Settler


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One attempt. ``status`` is what the execution is now: ``succeeded``, ``failed``, ``retrying`` and so on;
    ``error`` is why the attempt failed, with the handler's ``traceback``, and ``result`` what the target answered."""

    id: UUID
    target: str
    payload: Any
    client: str
    key: str | None
    scheduled_for: datetime
    attempt: int
    status: str
    result: Any = None
    error: str | None = None
    traceback: str | None = None

    def __str__(self) -> str:
        key = f" {self.key!r}" if self.key else ""
        return f"{self.target}{key} (attempt {self.attempt}) {self.status}: {self.error}"


class NotingSettler(Settler):
    """A settler that keeps each row with its outcome, in the order in which they come."""

    noted: list[tuple[ClaimedExecution, Outcome]]

    def add(self, row: ClaimedExecution, options: Options, outcome: Outcome, seconds: float) -> None:
        self.noted.append((row, outcome))
        super().add(row, options, outcome, seconds)


def is_attempt(outcome: Outcome) -> bool:
    """Whether the target was called."""
    return not isinstance(outcome, Released | Undeliverable | Late)


def ran(row: ClaimedExecution, outcome: Outcome, *, status: str) -> Ran:
    answered = outcome.result if isinstance(outcome, Succeeded) else None
    return Ran(
        id=UUID(bytes=row.id),
        target=row.target,
        payload=row.decode_payload(),
        client=row.client_id,
        key=row.key,
        scheduled_for=row.nominal,
        attempt=row.attempt,
        status=status,
        result=None if answered is None else decode_json(answered),
        error=outcome.error if isinstance(outcome, Failed) else None,
        traceback=outcome.traceback if isinstance(outcome, Failed) else None,
    )
