"""Measures how a client whose backlog is far over its limit affects the punctuality of another.

One client schedules at a steady rate: alone; beside another that stays within its limit, which shows the cost of
sharing the machine; and beside that client with a very large backlog. What the limit lets pass is counted from history
by the second, over the same time.
"""

from typing import Any

import click
import psycopg

from pgsched.bench.database import fresh_database
from pgsched.bench.feed import schedule_evenly
from pgsched.bench.lateness import settings_on_time
from pgsched.bench.medians import medians
from pgsched.bench.seed_rows import Progress, load, seeded
from pgsched.bench.worker_report import together
from pgsched.bench.workers import benchmark_workers
from pgsched.cli.bench import COUNT, ROUNDS, SEED, on_server, progress, tell, worker_processes
from pgsched.settings import Settings

_LEAD = 1.0
_STARTING = 10
_FLOOD = """
insert into pgsched.executions (client_id, target, payload, fire_at)
select 'flood', 'python:noop', '{"order": 42, "merchant": "abcdefghij"}',
       now() - interval '1 hour' + mod(n, 3000000) * interval '1 millisecond'
  from generate_series(%(first)s::bigint, %(last)s::bigint) as n"""
_CALM = """
insert into pgsched.executions (client_id, target, payload, fire_at)
select 'flood', 'python:noop', '{"order": 42, "merchant": "abcdefghij"}', now() + n * interval '1 second' / %s
  from generate_series(1, %s) as n"""
_LIMIT = """
insert into pgsched_internal.gates (name, events, period) values ('client:flood', %s, interval '1 second')
    on conflict (name) do update set events = excluded.events, next_at = '-infinity'"""
# In the first seconds the workers learn the limit; in the last ones they stop.
_PASSED = """
with seconds as (
  select floor(extract(epoch from h.finished_at)) as second, count(*) as passed
    from pgsched.history h where h.client_id = 'flood' group by 1 order by 1
)
select coalesce(sum(passed), 0)::integer, count(*)::integer, max(passed)::integer from (
  select passed from seconds order by second offset 3 limit %s) whole"""


def run_tenants(
    url: str | None,
    *,
    backlog: int,
    limit: int,
    rate: int,
    seconds: int,
    processes: int = 4,
    rounds: int = 1,
    seed: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Returns the other client's lateness alone, beside one that stays within its limit (calm), and beside the backlog,
    in milliseconds, and how many a second the limit let pass."""
    with fresh_database(url) as own, psycopg.connect(own, autocommit=True) as connection:
        connection.execute("set pgsched.notify = off")
        settings = settings_on_time(own)
        measured = []
        for number in range(rounds):
            seeded(connection, seed + number)
            measured.append(_round(connection, settings, backlog, limit, rate, seconds, processes, seed, progress))
    asked = {"backlog": backlog, "limit": limit, "rate": rate, "seconds": seconds, "processes": processes}
    return asked | medians(measured)


def _round(
    connection: psycopg.Connection[Any],
    settings: Settings,
    backlog: int,
    limit: int,
    rate: int,
    seconds: int,
    processes: int,
    seed: int,
    progress: Progress,
) -> dict[str, Any]:
    alone = _lateness(connection, settings, rate, seconds, processes, seed)
    progress(f"alone: p99 {alone['p99_ms']} ms")
    connection.execute(_CALM.encode(), [limit, limit * (seconds + _STARTING)])
    calm = _lateness(connection, settings, rate, seconds, processes, seed)
    progress(f"beside a client within its limit: p99 {calm['p99_ms']} ms")
    connection.execute("truncate pgsched.history, pgsched.executions cascade")
    connection.execute(_LIMIT.encode(), [limit])
    load(connection, _FLOOD, backlog, progress)
    beside = _lateness(connection, settings, rate, seconds, processes, seed)
    passed, counted, most = connection.execute(_PASSED.encode(), [seconds - 5]).fetchone() or (0, 0, 0)
    progress(f"beside: p99 {beside['p99_ms']} ms; {passed} passed in {counted} s")
    connection.execute("truncate pgsched.history, pgsched.executions, pgsched_internal.gates cascade")
    return {
        "alone_p50_ms": alone["p50_ms"],
        "alone_p99_ms": alone["p99_ms"],
        "calm_p50_ms": calm["p50_ms"],
        "calm_p99_ms": calm["p99_ms"],
        "beside_p50_ms": beside["p50_ms"],
        "beside_p99_ms": beside["p99_ms"],
        "beside_max_ms": beside["max_ms"],
        "p99_ratio": round(beside["p99_ms"] / alone["p99_ms"], 2),
        "p99_ratio_to_calm": round(beside["p99_ms"] / calm["p99_ms"], 2),
        "passed_a_second": round(passed / max(counted, 1), 2),
        "most_passed_in_a_second": most,
    }


def _lateness(
    connection: psycopg.Connection[Any], settings: Settings, rate: int, seconds: int, processes: int, seed: int
) -> dict[str, Any]:
    count = rate * seconds
    mine = "select count(*) from pgsched.history where client_id = 'default'"
    with benchmark_workers(settings, processes=processes) as workers:
        workers.go.set()
        schedule_evenly(str(settings.database_url), rate=rate, seconds=seconds, ahead=False, lead=_LEAD, seed=seed)
        while connection.execute(mine).fetchone() != (count,):
            if not workers.alive():
                raise AssertionError("a worker has died")
        reports = workers.finish()
    connection.execute("delete from pgsched.history where client_id = 'default'")
    late = together(report.lateness for report in reports).whole()
    if late.count != count:
        raise AssertionError(f"lateness of only {late.count} of {count} executions is known")
    return late.summary()


@click.command()
@click.option(
    "--backlog", default=1_000_000, show_default=True, type=COUNT, help="Due executions of the limited client."
)
@click.option(
    "--limit", default=100, show_default=True, type=COUNT, help="Executions of that client that may begin per second."
)
@click.option("--rate", default=50, show_default=True, type=COUNT, help="Executions per second of the other client.")
@click.option("--seconds", default=60, show_default=True, type=click.IntRange(8), help="Seconds to measure.")
@worker_processes(4)
@SEED
@ROUNDS
@on_server
def tenants(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Report how late a client's executions start, alone and beside a client far over its limit."""
    tell(run_tenants(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    tenants()
