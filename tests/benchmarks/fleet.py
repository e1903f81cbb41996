"""Measures recurring jobs that are all due in the same second, like a company's nightly jobs.

Half of them recur by a cron expression, half by an interval, with default rules. Their rows wait for one instant; then
each claim runs its rows and plans the next day's.
"""

import time
from typing import Any

import click
import psycopg

from pgsched.bench.database import loading
from pgsched.bench.drain import assert_history, settings_of
from pgsched.bench.medians import medians
from pgsched.bench.seed_rows import Progress
from pgsched.bench.workers import benchmark_workers
from pgsched.cli.bench import COUNT, ROUNDS, SEED, on_server, progress, tell, worker_processes
from pgsched.settings import Settings

_LONGEST = 600
_JOBS = """
insert into pgsched.jobs (target, planned_revision, cron, every, anchor)
select 'python:noop', 1, case when n %% 2 = 0 then to_char(%(at)s at time zone 'UTC', 'FMSS FMMI FMHH24 * * *') end,
       case when n %% 2 = 1 then interval '1 day' end, %(at)s
  from generate_series(1, %(jobs)s::bigint) as n"""
_ROWS = """
insert into pgsched.executions (fire_at, scheduled_for, job_id, plan, partition, client_id, target)
select %(at)s, %(at)s, j.id, j.revision, pgsched_internal.partition_of(j), j.client_id, j.target from pgsched.jobs j"""
_SUCCESSORS = """
select count(*), count(distinct job_id) from pgsched.executions
 where scheduled_for = %(at)s + interval '1 day' and plan = 1 and attempt = 0 and lease_token is null"""
_INSTANT = "select date_trunc('second', now()) + make_interval(secs => %s), extract(epoch from now())"


def run_fleet(
    url: str | None,
    *,
    jobs: int,
    processes: int,
    lead: float = 20.0,
    rounds: int = 1,
    seed: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Returns how many jobs a second are run and replanned, from their instant to the last settle.

    ``lead`` is how many seconds creating them may take. Raises AssertionError if a job has not run exactly once, or
    does not have exactly one next row.
    """
    with loading(url, seed) as (own, connection):
        measured = [_round(connection, settings_of(own), jobs, processes, lead, progress) for _ in range(rounds)]
    return {"jobs": jobs, "processes": processes} | medians(measured)


def _round(
    connection: psycopg.Connection[Any],
    settings: Settings,
    jobs: int,
    processes: int,
    lead: float,
    progress: Progress,
) -> dict[str, Any]:
    with benchmark_workers(settings, processes=processes) as workers:
        row = connection.execute(_INSTANT.encode(), [lead]).fetchone()
        assert row is not None
        at, due = row[0], time.monotonic() + row[0].timestamp() - float(row[1])
        connection.execute(_JOBS.encode(), {"jobs": jobs, "at": at})
        connection.execute(_ROWS.encode(), {"at": at})
        connection.execute("vacuum (analyze) pgsched.jobs, pgsched.executions")
        if time.monotonic() > due - 1:
            raise AssertionError(f"{jobs} jobs were not created within {lead:g} s: increase lead")
        progress(f"{jobs} jobs are due in {due - time.monotonic():.0f} s")
        workers.go.set()
        workers.await_settled(jobs, within=lead + _LONGEST)
        reports = workers.finish()
    assert_history(connection, jobs, reports)
    planned = connection.execute(_SUCCESSORS.encode(), {"at": at}).fetchone()
    if planned != (jobs, jobs):
        raise AssertionError(f"next rows, distinct jobs: {planned}; jobs: {jobs}")
    connection.execute("truncate pgsched.history, pgsched.executions, pgsched.jobs cascade")
    seconds = max(report.last for report in reports) - due
    spent = sum(report.cpu_seconds for report in reports)
    progress(f"run and planned: {round(jobs / seconds)}/s")
    return {
        "rate": round(jobs / seconds),
        "seconds": round(seconds, 2),
        "worker_cpu_us_per_execution": round(spent / jobs * 1e6, 1),
    }


@click.command()
@click.option("--jobs", default=100_000, show_default=True, type=COUNT, help="Number of recurring jobs.")
@worker_processes()
@click.option(
    "--lead",
    default=20.0,
    show_default=True,
    type=click.FloatRange(2, 600),
    help="Seconds before the instant for creating them.",
)
@SEED
@ROUNDS
@on_server
def fleet(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Run recurring jobs that are all due in the same second, and plan the next row of each."""
    tell(run_fleet(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    fleet()
