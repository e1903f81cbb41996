"""Measures what waking the workers costs clients that schedule near-term executions one by one.

PostgreSQL takes one lock for the whole database while a transaction that notifies commits. So the same writers run with
and without notifications, alternating within one run, while workers process what they schedule.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any
from uuid import UUID

import click
import psycopg

from pgsched.bench.database import fresh_database
from pgsched.bench.medians import medians
from pgsched.bench.processes import CONTEXT
from pgsched.bench.seed_rows import Progress
from pgsched.cli.bench import COUNT, ROUNDS, on_server, progress, tell, worker_processes
from pgsched.settings import Settings
from tests.benchmarks.measuring.spread import spread
from tests.benchmarks.measuring.witnesses import NOW, account, await_empty, witnesses


@dataclass(frozen=True, slots=True)
class Scheduled:
    """One call of a writer, with the monotonic times at which it was sent and its commit was acknowledged."""

    id: UUID
    sent: float
    acknowledged: float


@dataclass(frozen=True, slots=True)
class Crowd:
    """The writers, each with its own process and connection: the ends of the pipes to them."""

    pipes: list[Any]

    def write(self, notify: str, seconds: float) -> list[Scheduled]:
        """Makes all of them schedule at once for ``seconds``. Returns what they scheduled together."""
        for pipe in self.pipes:
            pipe.send((notify, seconds))
        return list(chain.from_iterable(pipe.recv() for pipe in self.pipes))


def run_writers(
    url: str | None,
    *,
    writers: int,
    seconds: float,
    processes: int = 2,
    rounds: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Returns how many executions a second all writers schedule, with notifications (``on``) and without (``off``).

    In autocommit, the commit happens between ``sent`` and its acknowledgement. Pickup is measured from both: from
    before the call was sent, and from its acknowledgement, which the start of the handler may precede.
    """
    with (
        fresh_database(url) as own,
        psycopg.connect(own, autocommit=True) as connection,
        _crowd(own, writers) as crowd,
    ):
        settings = Settings(database_url=own)
        measured = [
            _round(connection, settings, crowd, seconds, processes, number, progress) for number in range(rounds)
        ]
    return {"writers": writers, "seconds": seconds, "processes": processes} | medians(measured)


def _round(
    connection: psycopg.Connection[Any],
    settings: Settings,
    crowd: Crowd,
    seconds: float,
    processes: int,
    number: int,
    progress: Progress,
) -> dict[str, Any]:
    """Measures both once; the order alternates between rounds."""
    found: dict[str, Any] = {}
    for notify in ("on", "off") if number % 2 == 0 else ("off", "on"):
        figures = _measure(connection, settings, crowd, seconds, processes, notify)
        progress(f"notifications {notify}: {figures['rate']}/s, {figures['notifications']} sent")
        found |= {f"{name}_{notify}": value for name, value in figures.items()}
    return found | {"ratio": round(found["rate_on"] / found["rate_off"], 3)}


def _measure(
    connection: psycopg.Connection[Any], settings: Settings, crowd: Crowd, seconds: float, processes: int, notify: str
) -> dict[str, Any]:
    connection.execute("vacuum (analyze) pgsched.executions")
    with witnesses(settings, processes=processes) as workers:
        scheduled = crowd.write(notify, seconds)
        await_empty(connection)
        seen = workers.finish()
    account(connection, [one.id for one in scheduled], seen.starts)
    passed = max(one.acknowledged for one in scheduled) - min(one.sent for one in scheduled)
    from_call = spread([seen.starts[one.id] - one.sent for one in scheduled], 0.5, 0.99)
    from_commit = spread([seen.starts[one.id] - one.acknowledged for one in scheduled], 0.5, 0.99)
    return {
        "rate": round(len(scheduled) / passed),
        "scheduled": len(scheduled),
        "notifications": seen.notifications,
        **{f"pickup_from_call_{name}": value for name, value in from_call.items()},
        **{f"pickup_from_acknowledgement_{name}": value for name, value in from_commit.items()},
    }


@contextmanager
def _crowd(url: str, writers: int) -> Iterator[Crowd]:
    ready, ends, processes = CONTEXT.Barrier(writers), list[Any](), list[Any]()
    for _ in range(writers):
        here, there = CONTEXT.Pipe()
        process = CONTEXT.Process(target=_writer, args=(url, ready, there), daemon=True)
        process.start()
        there.close()  # so that this end notices the death of the writer
        ends.append(here)
        processes.append(process)
    try:
        yield Crowd(ends)
    finally:
        for process in processes:
            process.terminate()
            process.join(30)


def _writer(url: str, ready: Any, orders: Any) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.prepare_threshold = 0
        while True:
            notify, seconds = orders.recv()
            connection.execute("select set_config('pgsched.notify', %s, false)", [notify])
            ready.wait(120)
            orders.send(_write(connection, time.monotonic() + seconds))


def _write(connection: psycopg.Connection[Any], deadline: float) -> list[Scheduled]:
    calls: list[Scheduled] = []
    while (sent := time.monotonic()) < deadline:
        row = connection.execute(NOW).fetchone()
        if row is None:
            raise AssertionError("pgsched.schedule returned nothing")
        calls.append(Scheduled(row[0], sent, time.monotonic()))
    return calls


@click.command()
@click.option(
    "--writers", default=8, show_default=True, type=click.IntRange(1, 64), help="Number of concurrent writers."
)
@click.option(
    "--seconds", default=10, show_default=True, type=COUNT, help="Seconds with and without notifications each."
)
@worker_processes()
@ROUNDS
@on_server
def writers(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Have many writers schedule for now, with and without notifications, and compare their rates."""
    tell(run_writers(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    writers()
