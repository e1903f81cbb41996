"""Workers whose handler records each call, and the check of what they should have run."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

import psycopg

from pgsched.bench.processes import CONTEXT
from pgsched.delivery.app import App
from pgsched.delivery.handler_call import Context
from pgsched.settings import Settings
from pgsched.telemetry import Events, Field
from pgsched.worker.claim.listener import Hints
from pgsched.worker_process import run_worker

NOW: LiteralString = (
    """select pgsched.schedule('python:witness', '{"order": 42, "merchant": "abcdefghij"}', fire_at => now())"""
)


@dataclass(slots=True)
class Testimony:
    """What the workers saw: the monotonic time of each start by execution, and the notifications that each received."""

    starts: dict[UUID, float]
    notifications: int


class Witnesses:
    """Worker processes with one handler, which records when and for which execution it is called."""

    def __init__(self, settings: Settings, processes: int) -> None:
        self._joined, self._told = CONTEXT.Semaphore(0), CONTEXT.Queue()
        self._processes = [
            CONTEXT.Process(target=_witness, args=(settings, self._joined, self._told), daemon=True)
            for _ in range(processes)
        ]

    def start(self) -> None:
        """Returns once every worker has joined and listens."""
        for process in self._processes:
            process.start()
        for _ in self._processes:
            if not self._joined.acquire(timeout=60):
                raise AssertionError("a worker did not join within a minute")

    def finish(self) -> Testimony:
        """Drains the workers. Raises AssertionError if an execution was started twice."""
        self._terminate()
        told: list[tuple[list[tuple[str, float]], int]] = [self._told.get(timeout=60) for _ in self._processes]
        starts = [start for one, _ in told for start in one]
        by_id = {UUID(id): moment for id, moment in starts}
        if len(by_id) != len(starts):
            raise AssertionError(f"{len(starts)} starts of {len(by_id)} executions: some were started twice")
        return Testimony(by_id, max(heard for _, heard in told))

    def stop(self) -> None:
        """Ends all processes that still run."""
        self._terminate()
        for process in self._processes:
            if process.pid is None:
                continue
            process.join(30)
            if process.is_alive():
                process.kill()

    def _terminate(self) -> None:
        for process in self._processes:
            if process.is_alive():
                process.terminate()


@contextmanager
def witnesses(settings: Settings, *, processes: int) -> Iterator[Witnesses]:
    """Starts the worker processes and waits until they have joined. Ends those still running at the end."""
    made = Witnesses(settings, processes)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def _witness(settings: Settings, joined: Any, told: Any) -> None:
    app, starts, heard = App(), list[tuple[str, float]](), _count_notifications()

    @app.handler("witness")
    async def witness(*, context: Context) -> None:
        starts.append((context.execution_id, time.monotonic()))

    def listen(event: str, fields: dict[str, Field]) -> None:
        if event == "worker.joined":
            joined.release()

    run_worker(settings, app=app, events=Events(listen))
    told.put((starts, heard[0]))


def _count_notifications() -> list[int]:
    """Counts notifications of new rows in the worker's own session: another session for that would slow the sender."""
    heard, take = [0], Hints.take

    def counted(self: Hints, payload: str) -> None:
        heard[0] += "@" in payload
        take(self, payload)

    Hints.take = counted  # type: ignore[method-assign]
    return heard


def await_empty(connection: psycopg.Connection[Any], *, seconds: float = 60) -> None:
    """Returns once no execution waits or runs. Raises AssertionError on timeout."""
    deadline = time.monotonic() + seconds
    while (row := connection.execute("select count(*) from pgsched.executions").fetchone()) != (0,):
        if time.monotonic() > deadline:
            raise AssertionError(f"{row} executions are left after {seconds:g} s")
        time.sleep(0.05)


def account(connection: psycopg.Connection[Any], scheduled: list[UUID], starts: Mapping[UUID, float]) -> None:
    """Raises AssertionError unless the executions scheduled, started and recorded as succeeded are the same. Empties
    history."""
    kept = [row[0] for row in connection.execute("select id from pgsched.history where status = 'succeeded'")]
    if not (sorted(scheduled) == sorted(kept) == sorted(starts)):
        raise AssertionError(
            f"{len(scheduled)} scheduled ({len(set(scheduled))} distinct), {len(starts)} started, {len(kept)} kept; "
            f"lost: {len(set(scheduled) - set(kept))}, kept twice: {len(kept) - len(set(kept))}"
        )
    connection.execute("truncate pgsched.history")
