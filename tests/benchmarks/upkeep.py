"""Measures turns of the upkeep's services on empty tables and with many waiting and ended rows."""

import asyncio
import statistics
import time
from typing import Any

import click
import psycopg

from pgsched.bench.database import loading
from pgsched.bench.seed_rows import WAITING, Progress, load
from pgsched.cli.bench import COUNT, SEED, on_server, progress, tell
from pgsched.scheduler import Worker
from pgsched.service import Service
from pgsched.settings import Settings

_ENDED = """
insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, status, partition, attempt, client_id,
                             target, payload)
select f, f, f, f, pgsched_internal.new_id(), 'succeeded', n % 16, 1, 'default',
       'https://shop.example/callback', '{"order": 42}'
  from generate_series(1, %(count)s::bigint) n, lateral (select now() - random() * interval '1 hour') t(f)"""
_AT_ONCE = 1_000_000


def run_upkeep(
    url: str | None, *, rows: int, turns: int, seed: int = 1, progress: Progress = lambda _: None
) -> dict[str, Any]:
    """Returns the first turn of each service, and the median and the longest of the others, ``empty`` and ``full``."""
    with loading(url, seed) as (own, connection):
        empty = asyncio.run(_measure(own, turns))
        _fill(connection, rows, progress)
        full = asyncio.run(_measure(own, turns))
    told: dict[str, Any] = {"rows": rows, "turns": turns}
    for name in empty:
        for table, found in (("empty", empty), ("full", full)):
            told |= {f"{table}_{name}_{which}_ms": took for which, took in found[name].items()}
    return told


def _fill(connection: psycopg.Connection[Any], rows: int, progress: Progress) -> None:
    load(connection, WAITING, rows, progress, tidy=False)
    for done in range(0, rows, _AT_ONCE):
        progress(f"{done} have ended")
        connection.execute(_ENDED.replace("% 16", "%% 16").encode(), {"count": min(_AT_ONCE, rows - done)})
    progress("vacuuming")
    connection.execute("vacuum (analyze)")


async def _measure(url: str, turns: int) -> dict[str, dict[str, float]]:
    """Measures each service. Its first turn plans the statements; a service that rests after a turn does nothing in the
    next."""
    worker = Worker(Settings(database_url=url))
    await worker.parts.assignment.join(await worker.parts.known_settings._link.get())
    found = {}
    for service in worker.parts.upkeep.services:
        first, *others = [await _timed(service) for _ in range(turns + 1)]
        found[service.name] = {"first": first, "median": statistics.median(others), "longest": max(others)}
    await worker.start()
    await worker.drain()
    return found


async def _timed(service: Service) -> float:
    started = time.perf_counter()
    await service.turn()
    return round(1000 * (time.perf_counter() - started), 2)


@click.command()
@click.option(
    "--rows", default=1_000_000, show_default=True, type=COUNT, help="Number of waiting rows, and of ended ones."
)
@click.option("--turns", default=20, show_default=True, type=COUNT, help="Turns of each service to measure.")
@SEED
@on_server
def upkeep(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Measure the turns of the upkeep's services on empty tables and beside many rows."""
    tell(run_upkeep(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    upkeep()
