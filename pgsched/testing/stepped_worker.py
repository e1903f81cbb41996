"""A worker that runs what is due now, and then stops.

It is a normal worker, but has no services that wait for the next instant, and claims nothing that is due later.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from pgsched.delivery.app import App
from pgsched.domain.attempt_outcome import Failed, Late, Outcome, Released, Succeeded, Undeliverable
from pgsched.domain.duration import NO_TIME
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options
from pgsched.domain.json_values import decode_json
from pgsched.scheduler.assembly import Assembly
from pgsched.settings import Settings
from pgsched.store import internal_verbs, verbs
from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.ends import dependencies
from pgsched.store.live.executions import PartitionShare
from pgsched.telemetry import Events, Field
from pgsched.worker.settle.settler import Settler

_MOST = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One attempt. ``status`` is the current status of its execution: ``succeeded``, ``failed``, ``retrying`` and so
    on. ``error`` says why the attempt failed, ``traceback`` is the handler's, and ``result`` is the target's result.
    """

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
    """A settler that also records each row and its outcome, in order of arrival."""

    noted: list[tuple[ClaimedExecution, Outcome]]

    def add(self, row: ClaimedExecution, options: Options, outcome: Outcome, seconds: float) -> None:
        self.noted.append((row, outcome))
        super().add(row, options, outcome, seconds)


class SteppedWorker:
    """A worker that runs only when told: call ``open``, then ``run_due`` as often as needed, then ``close``."""

    def __init__(self, database_url: str, app: App, *, patience: float, **settings: Any) -> None:
        given: dict[str, Any] = {"allow_private_targets": True, "concurrency": 20, "kept_traceback": 6_000} | settings
        self._patience = patience
        self._refused: list[str] = []
        self._parts = Assembly(
            Settings(database_url=database_url, lease=3_600.0, look_ahead=0.0, blocked_timeout=0.0, **given),
            app=app,
            events=Events(self._hear),
            settler_type=NotingSettler,
            warms=False,  # it claims so rarely that planning every statement in advance would take longer
        )
        settler = self._parts.settler
        assert isinstance(settler, NotingSettler)
        self._noted = settler.noted = []
        self._settling: asyncio.Task[None] | None = None
        self._idle = asyncio.Event()
        self._parts.in_hand.eased.connect(self._idle.set)

    def _hear(self, event: str, fields: dict[str, Field]) -> None:
        if event == "job.invalid":
            self._refused.append(f"the job {fields['job']} cannot be planned: {fields['reason']}")

    async def open(self) -> None:
        """Registers the worker, starts its dispatcher and settler, and looks for executions that are held for it."""
        parts, capabilities = self._parts, self._parts.capabilities
        await parts.join(await parts.chores.get())
        parts.dispatcher.start()
        self._settling = asyncio.create_task(parts.settler.run())
        capabilities.note_others([], parts.assignment.number)
        await capabilities.turn()

    async def close(self) -> None:
        """Hands back the executions that the worker holds, and deregisters."""
        await self._parts.dispatcher.drain(timedelta(0))
        self._parts.settler.stop()
        if self._settling is not None:
            await asyncio.wait([self._settling], timeout=self._patience)
        await self._parts.leave()

    async def run_due(self, *, most: int) -> list[Ran]:
        """Runs everything due, then everything that becomes due as a result, and so on. Raises AssertionError if
        an execution is still due after ``most`` attempts, if a job cannot be planned, or if a target has no handler.
        Raises TimeoutError if an execution does not end.
        """
        self._noted.clear()
        await self._parts.known_settings.turn()
        connection = await self._parts.chores.get()
        while await self._step(connection):
            if len(self._noted) > most:
                raise AssertionError(f"after {most} attempts, an execution is still due: {self._noted[-1][0].target}")
        return await self._report(connection)

    async def _step(self, connection: Connection) -> bool:
        """Runs what is due now. Returns False if nothing was due."""
        await self._read_clock(connection)
        await self._plan()
        released = await self._release(connection)
        before = len(self._noted)
        parts = self._parts
        parts.gate_claimer.look()
        await parts.gate_claimer.turn()
        shares = [PartitionShare(partition, LONG_AGO, _MOST) for partition in self._parts.assignment.open]
        rows, admit = parts.selection.row_filter, parts.admission.admit
        claimed = await parts.claimer.leases.claim(shares, NO_TIME, row_filter=rows, admit=admit)
        self._parts.dispatcher.submit(claimed.rows, claimed.sure_until)
        await self._all_settled()
        return bool(claimed.taken) or released or len(self._noted) > before

    async def _read_clock(self, connection: Connection) -> None:
        """Synchronises the worker's clock with the database's, which the test may have changed."""
        loop = asyncio.get_running_loop()
        sent = loop.time()
        cursor = await connection.execute(verbs.now.text(), binary=True)
        [now] = await cursor.fetchone() or (0,)
        self._parts.clock.observe(now, sent, loop.time())

    async def _plan(self) -> None:
        while await self._parts.upkeep.planner.turn() == 0.0:
            pass

    async def _release(self, connection: Connection) -> bool:
        """Ends executions that gates have held too long, and releases those whose predecessors have ended. Returns
        whether there were any.
        """
        pending = await dependencies.pending(connection)
        is_overdue = pending.overdue_in is not None and pending.overdue_in <= 0
        ended = await internal_verbs.end_overdue(connection, most=_MOST) if is_overdue else 0
        if not pending.dependents:
            return bool(ended)
        noted, decided, _ = await dependencies.release(connection, most=_MOST)
        return bool(ended or noted or decided)

    async def _all_settled(self) -> None:
        try:
            async with asyncio.timeout(self._patience):
                while self._parts.in_hand.rows:
                    self._idle.clear()
                    await self._idle.wait()
        except TimeoutError:
            left = ", ".join(sorted({row.target for row in self._parts.in_hand.rows.values()}))
            raise TimeoutError(f"still not done after {self._patience:g} s: {left}") from None

    async def _report(self, connection: Connection) -> list[Ran]:
        missed = sorted({row.target for row, outcome in self._noted if isinstance(outcome, Undeliverable)})
        if missed:
            known = ", ".join(sorted(self._parts.app.handlers)) or "none"
            self._refused.append(f"no handler for {', '.join(missed)}; the application's handlers are {known}")
        if self._refused:
            raise AssertionError("\n".join(self._refused))
        attempts = [(row, outcome) for row, outcome in self._noted if _is_attempt(outcome)]
        cursor = await connection.execute(statement("testing/ended"), {"ids": [row.uuid for row, _ in attempts]})
        became = {str(id): status for id, status in await cursor.fetchall()}
        return [_ran(row, outcome, status=became.get(row.uuid, "forgotten")) for row, outcome in attempts]


def _is_attempt(outcome: Outcome) -> bool:
    """Whether the target was called."""
    return not isinstance(outcome, Released | Undeliverable | Late)


def _ran(row: ClaimedExecution, outcome: Outcome, *, status: str) -> Ran:
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
