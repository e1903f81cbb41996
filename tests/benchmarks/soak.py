"""Measures the rate and the workers' memory over a long time.

A feeder keeps a backlog filled, at a rate or as fast as it is drained. History is not kept, so that the disk does not
fill up; each handler appends the number of its execution to a file, and in the end each number must be there once.
"""

import time
from typing import Any

import click
import psycopg

from pgsched.bench.database import fresh_database
from pgsched.bench.drain import keep_of_client, settings_of
from pgsched.bench.processes import CONTEXT, collect
from pgsched.bench.seed_rows import Progress, seeded
from pgsched.bench.worker_report import WorkerReport
from pgsched.bench.workers import BenchmarkWorkers, benchmark_workers
from pgsched.cli.bench import COUNT, NONE_OR_MORE, SEED, on_server, progress, tell, worker_processes
from tests.benchmarks.measuring.memory import Sample, growth_per_hour, sample

_SCHEDULE = """
insert into pgsched.executions (target, payload, fire_at)
select 'python:trace', jsonb_build_object('order', n, 'merchant', 'abcdefghij'),
       now() + (n - %(last)s::bigint) * interval '1 microsecond'
  from generate_series(%(first)s::bigint, %(last)s::bigint) as n"""
_CHUNK = 10_000
_FULL = 0.01  # seconds until the backlog is checked again
_CATCH_UP = 120


def run_soak(
    url: str | None,
    *,
    seconds: int,
    rate: int = 0,
    backlog: int = 100_000,
    processes: int = 2,
    every: float = 10.0,
    warm_up: float = 120.0,
    seed: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Drains for ``seconds`` at the rate (0: as fast as possible), and samples each worker's memory every ``every``
    seconds.

    Growth is measured after ``warm_up``. ``feeder_was_the_limit`` is True if the backlog ran out although no rate was
    set. Raises AssertionError if an execution is lost or delivered twice.
    """
    with fresh_database(url) as own, psycopg.connect(own, autocommit=True) as connection:
        keep_of_client(connection, "nothing")
        settings = settings_of(own)
        with benchmark_workers(settings, processes=processes) as workers:
            fed, stop = CONTEXT.Value("q", 0), CONTEXT.Event()
            answers = CONTEXT.Queue()
            in_hand = processes * settings.concurrency
            arguments = (own, rate, backlog, in_hand, seed, fed, workers.signals.counts, stop, answers)
            feeder = CONTEXT.Process(target=_feed, args=arguments, daemon=True)
            feeder.start()
            try:
                _await_backlog(fed, min(backlog, rate or backlog), feeder)
                workers.go.set()
                samples, rates = _watch(workers, seconds, every, progress)
                stop.set()
                ((count, dry),) = collect(answers, [feeder], within=_CATCH_UP)
            finally:
                feeder.kill()
            workers.await_settled(count, within=_CATCH_UP)
            reports = workers.finish()
            _assert_all(connection, count, reports)
            progress(f"accounting for {count} deliveries")
            workers.account(count)
    asked = {"seconds": seconds, "rate_asked": rate, "processes": processes, "keep": "nothing", "count": count}
    return asked | _told(rates, samples, warm_up) | {"feeder_was_the_limit": not rate and dry}


def _await_backlog(fed: Any, wanted: int, feeder: Any) -> None:
    while fed.value < wanted and feeder.is_alive():
        time.sleep(0.05)


def _watch(
    workers: BenchmarkWorkers, seconds: float, every: float, progress: Progress
) -> tuple[dict[int, list[Sample]], list[float]]:
    """Returns the samples by worker, and the rates between samples."""
    samples: dict[int, list[Sample]] = {pid: [] for pid in workers.pids}
    rates: list[float] = []
    started = last = time.monotonic()
    settled = 0
    while last - started < seconds and workers.alive():
        time.sleep(min(every, max(seconds - (last - started), 0.01)))
        now, done = time.monotonic(), workers.settled()
        rates.append((done - settled) / (now - last))
        last, settled = now, done
        for pid, found in samples.items():
            found.append(sample(pid, now - started))
        told = ", ".join(f"{found[-1].rss_mb} MB" for found in samples.values())
        progress(f"{now - started:7.0f} s: {round(rates[-1])}/s, {told}")
    return samples, rates


def _told(rates: list[float], samples: dict[int, list[Sample]], warm_up: float) -> dict[str, Any]:
    warm = [[one for one in found if one.seconds >= warm_up] or found for found in samples.values()]
    growth = [growth_per_hour(found) for found in warm]
    resident = [one.rss_mb for found in warm for one in found if one.rss_mb is not None]
    shared = [one.pss_mb for found in warm for one in found if one.pss_mb is not None]
    return {
        "rate": round(sum(rates) / len(rates)),
        "rate_min": round(min(rates)),
        "rss_max_mb": max(resident, default=None),
        "pss_max_mb": max(shared, default=None),
        "growth_mb_per_hour": growth,
        "samples": [[list(one) for one in found] for found in samples.values()],
    }


def _assert_all(connection: psycopg.Connection[Any], count: int, reports: list[WorkerReport]) -> None:
    left = connection.execute("select count(*) from pgsched.executions").fetchone()
    delivered = sum(report.delivered for report in reports)
    if left != (0,) or delivered != count:
        raise AssertionError(f"{left} left, delivered {delivered} of {count}")


def _feed(
    url: str, rate: int, backlog: int, in_hand: int, seed: int, fed: Any, settled: Any, stop: Any, answers: Any
) -> None:
    """Schedules numbered chunks: at the rate, regardless of how fast workers are, or up to the backlog.

    Sends back how many it scheduled, and whether the backlog ever fell to about what the workers can hold.
    """
    chunk = min(_CHUNK, max(rate // 10, 1) if rate else max(backlog // 4, 1))
    dry = False
    with psycopg.connect(url, autocommit=True, prepare_threshold=0) as connection:
        seeded(connection, seed)
        started, count = time.monotonic(), 0
        while not stop.is_set():
            standing = count - sum(settled)
            dry = dry or (count >= backlog and standing < in_hand + chunk // 4)
            early = _FULL if standing + chunk > backlog else 0.0
            if rate:
                early = started + count / rate - time.monotonic()
            if early > 0:
                stop.wait(early)
                continue
            connection.execute(_SCHEDULE.encode(), {"first": count, "last": count + chunk - 1})
            count += chunk
            fed.value = count
    answers.put((count, dry))


@click.command()
@click.option("--seconds", default=3600, show_default=True, type=COUNT, help="Seconds to run.")
@click.option(
    "--rate", default=0, show_default=True, type=NONE_OR_MORE, help="Executions per second; 0: as fast as possible."
)
@click.option("--backlog", default=100_000, show_default=True, type=COUNT, help="Size of the backlog to maintain.")
@click.option("--every", default=10.0, show_default=True, type=click.FloatRange(0.1), help="Seconds between samples.")
@click.option(
    "--warm-up",
    default=120.0,
    show_default=True,
    type=click.FloatRange(0),
    help="Seconds before the first sample that counts.",
)
@worker_processes()
@SEED
@on_server
def soak(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Drain for a long time without history, and report the rate and whether the workers' memory grows."""
    tell(run_soak(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    soak()
