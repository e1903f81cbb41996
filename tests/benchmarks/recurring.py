"""Measures what it costs that each claim of a recurring row plans the next one.

In each round, the same number of due executions is drained twice: as one-shots, and as six missed runs each of a sixth
as many jobs, each of which leaves a row minutes ahead. The order alternates between rounds.
"""

import statistics
import time
from typing import Any

import click
import psycopg

from pgsched.bench.database import loading
from pgsched.bench.drain import assert_history, settings_of
from pgsched.bench.medians import medians
from pgsched.bench.seed_rows import DUE, Progress, load
from pgsched.bench.workers import benchmark_workers
from pgsched.cli.bench import COUNT, ROUNDS, SEED, on_server, progress, tell, worker_processes
from pgsched.settings import Settings

_LONGEST = 600
_RUNS = 6
# A cron job fires at full minutes, as crons do, in a zone with DST; an interval job fires at any instant. Of each, the
# sixth run is due, and the seventh is due no sooner than in a minute.
_JOBS = """
insert into pgsched.jobs (target, payload, rules, planned_revision, timezone, cron, every, anchor)
select 'python:noop', '{"order": 42, "merchant": "abcdefghij"}', '{"on_missed": "all", "on_overlap": "allow"}', 1,
       case when by_cron then 'Europe/Berlin' else 'UTC' end,
       case when by_cron then mod(extract(minute from t.at)::integer, 10) || '-59/10 * * * *' end,
       case when not by_cron then interval '10 minutes' end,
       case when by_cron then date_trunc('minute', t.at) else t.at end
  from (select random() < %(cron)s as by_cron, now() - interval '58 minutes' + n * interval '7 minutes' / %(jobs)s as at
          from generate_series(0, %(jobs)s::bigint - 1) as n) t"""
_ROWS = """
insert into pgsched.executions (fire_at, scheduled_for, job_id, plan, partition, client_id, target, payload)
select j.anchor, j.anchor, j.id, j.revision, pgsched_internal.partition_of(j), j.client_id, j.target, j.payload
  from pgsched.jobs j order by j.anchor"""
_SUCCESSORS = """
select count(*), count(distinct e.job_id) from pgsched.executions e join pgsched.jobs j on j.id = e.job_id
 where j.state = 'active' and e.plan = j.revision and e.attempt = 0 and e.lease_token is null
   and e.fire_at = e.scheduled_for and e.scheduled_for = j.anchor + interval '1 hour'"""


def run_recurring(
    url: str | None,
    *,
    count: int,
    processes: int = 2,
    cron: float = 0.5,
    rounds: int = 1,
    seed: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Returns the rates without and with recurrence, and the cost in percent. ``count`` is rounded up to whole jobs;
    ``cron`` is the share of jobs (0 to 1) that recur by a cron expression; the others recur by an interval."""
    jobs = -(-count // _RUNS)
    count = jobs * _RUNS
    with loading(url, seed) as (own, connection):
        settings = settings_of(own)
        measured = [_round(connection, settings, jobs, processes, cron, one, progress) for one in range(rounds)]
    result = {"count": count, "processes": processes, "cron_share": cron} | medians(measured)
    return result | {"cost_percent": round(statistics.median(one["cost_percent"] for one in measured), 1)}


def _round(
    connection: psycopg.Connection[Any],
    settings: Settings,
    jobs: int,
    processes: int,
    cron: float,
    number: int,
    progress: Progress,
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for recurring in (False, True) if number % 2 == 0 else (True, False):
        name = "recurring" if recurring else "one_shot"
        if recurring:
            connection.execute(_JOBS.encode(), {"jobs": jobs, "cron": cron})
            connection.execute("vacuum (analyze) pgsched.jobs")
        figures = _measure(connection, settings, jobs, processes, recurring)
        progress(f"{name}: {figures['rate']}/s")
        found |= {f"{name}_{figure}": value for figure, value in figures.items()}
        connection.execute("truncate pgsched.history, pgsched.executions, pgsched.jobs cascade")
    return found | {"cost_percent": round(100 * (1 - found["recurring_rate"] / found["one_shot_rate"]), 1)}


def _measure(
    connection: psycopg.Connection[Any], settings: Settings, jobs: int, processes: int, recurring: bool
) -> dict[str, Any]:
    count = jobs * _RUNS
    with benchmark_workers(settings, processes=processes) as workers:
        if recurring:
            connection.execute(_ROWS.encode())
            connection.execute("vacuum (analyze) pgsched.executions")
        else:
            load(connection, DUE, count, lambda _: None)
        started = time.monotonic()
        workers.go.set()
        workers.await_settled(count, within=_LONGEST)
        reports = workers.finish()
    assert_history(connection, count, reports)
    planned = connection.execute(_SUCCESSORS.encode()).fetchone()
    standing = connection.execute("select count(*) from pgsched.executions").fetchone()
    expected = jobs if recurring else 0
    if planned != (expected, expected) or standing != (expected,):
        raise AssertionError(f"planned, distinct jobs: {planned}; standing: {standing}; expected {expected}")
    spent = sum(report.cpu_seconds for report in reports)
    return {
        "rate": round(count / (max(report.last for report in reports) - started)),
        "worker_cpu_us_per_execution": round(spent / count * 1e6, 1),
    }


@click.command()
@click.option("--count", default=50_000, show_default=True, type=COUNT, help="Number of runs, six of each job.")
@worker_processes()
@click.option(
    "--cron",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Share of jobs that recur by a cron expression; the others recur by an interval.",
)
@SEED
@ROUNDS
@on_server
def recurring(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Drain runs of recurring jobs, each of which plans the next, and as many one-shots; report the cost."""
    tell(run_recurring(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    recurring()
