"""Measures a target that answers 503 for a while and then recovers, beside a healthy one.

Calls of both are due at a steady rate throughout. The failing target must receive only probes while it is down, and all
of its calls in the end, at a rate that rises no faster than the ramp. The calls of the healthy target must be
unaffected.
"""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click
import psycopg

from pgsched.bench.database import fresh_database
from pgsched.bench.medians import medians
from pgsched.bench.receiver import receiving
from pgsched.bench.seed_rows import Progress
from pgsched.bench.workers import benchmark_workers
from pgsched.cli.bench import COUNT, ROUNDS, on_server, progress, tell, worker_processes
from pgsched.settings import Settings

_DOWN = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"
_WELL = b"HTTP/1.1 204 No Content\r\n\r\n"
_CALLS = """
insert into pgsched.executions (client_id, target, fire_at, options)
select 'shop', target, now() + interval '3 seconds' + n * interval '1 second' / %(rate)s,
       '{"backoff": {"initial": "1s", "maximum": "10s"}, "max_attempts": 100}'
  from generate_series(0, %(count)s - 1) as n, unnest(%(targets)s::text[]) as target"""
_LONGEST = 120
_RAMP = 10


def run_outage(
    url: str | None,
    *,
    rate: int,
    down: int,
    after: int,
    processes: int = 2,
    rounds: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Makes ``rate`` calls a second to each target. One is down for ``down`` seconds; calls continue for ``after``
    seconds."""
    with fresh_database(url) as own, psycopg.connect(own, autocommit=True) as connection:
        connection.execute("set pgsched.notify = off")
        settings = Settings(database_url=own, allow_private_targets=True, recovery_rate=_RAMP)
        measured = [_round(connection, settings, rate, down, after, processes, progress) for _ in range(rounds)]
    return {"rate": rate, "down_seconds": down, "ramp": _RAMP, "processes": processes} | medians(measured)


def _round(
    connection: psycopg.Connection[Any],
    settings: Settings,
    rate: int,
    down: int,
    after: int,
    processes: int,
    progress: Progress,
) -> dict[str, Any]:
    count = rate * (down + after)
    with receiving() as sick, receiving() as well, benchmark_workers(settings, processes=processes) as workers:
        sick.answer(_DOWN)
        targets = [sick.url, well.url]
        connection.execute(_CALLS.encode(), {"rate": rate, "count": count, "targets": targets})
        began = time.monotonic() + 3
        workers.go.set()
        time.sleep(max(0.0, began + down - time.monotonic()))
        back = sick.answer(_WELL)
        progress(f"the target recovered after {back - began:.1f} s")
        _await_all(connection, 2 * count)
        workers.finish()
        arrived, beside = sick.take().moments, well.take().moments
    connection.execute("truncate pgsched.history, pgsched.attempts, pgsched.executions, pgsched_internal.gates cascade")
    return _told(arrived, beside, began=began, back=back, due=rate * down, count=count, progress=progress)


def _await_all(connection: psycopg.Connection[Any], count: int) -> None:
    deadline = time.monotonic() + _LONGEST
    succeeded = "select count(*) from pgsched.history where status = 'succeeded'"
    while connection.execute(succeeded).fetchone() != (count,):
        if time.monotonic() > deadline:
            raise AssertionError(f"not all of {count} calls had arrived {_LONGEST} s after the target recovered")
        time.sleep(0.2)


def _told(
    arrived: Sequence[float],
    beside: Sequence[float],
    *,
    began: float,
    back: float,
    due: int,
    count: int,
    progress: Progress,
) -> dict[str, Any]:
    while_down = sum(moment < back for moment in arrived)
    returning = [moment for moment in arrived if moment >= back]
    first = min(returning)
    seconds = Counter(int(moment - first) for moment in returning)
    # The first to arrive is the probe. In the second after it, the ramp doubles from its first rate to twice that.
    excess = max(seconds[second] / (_RAMP * 2 ** (second + 1)) for second in range(5))
    steady = Counter(int(moment - began) for moment in beside)
    slowest = min(steady[second] for second in range(1, int(back - began)))
    progress(f"{while_down} calls while it was down; then {[seconds[second] for second in range(8)]} a second")
    return {
        "calls_while_down": while_down,
        "percent_of_due": round(100 * while_down / due, 2),
        "back_to_first_call_s": round(first - back, 2),
        "most_of_the_ramp": round(excess, 2),
        "back_to_last_call_s": round(max(returning) - back, 1),
        "lost": count - (len(arrived) - while_down),
        "other_slowest_second": slowest,
    }


@click.command()
@click.option("--rate", default=500, show_default=True, type=COUNT, help="Calls per second to each of the two targets.")
@click.option(
    "--down", default=30, show_default=True, type=click.IntRange(3), help="Seconds for which one target answers 503."
)
@click.option("--after", default=10, show_default=True, type=COUNT, help="Seconds of calls after the outage.")
@worker_processes()
@ROUNDS
@on_server
def outage(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Call a target that is down for a while, beside a healthy one, and report how often and when each was called."""
    tell(run_outage(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    outage()
