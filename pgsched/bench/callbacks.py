"""`pgsched bench callbacks`: measures how fast HTTP callbacks are claimed, delivered to a local receiver and settled.

As a baseline, the delivery client alone sends the same callbacks without a database. Throughput is also given per CPU
second of the workers, because the server and the receiver run on the same machine.
"""

import time
from typing import Any

import psycopg

from pgsched.bench.bare_delivery import CONNECTIONS, PAYLOAD, call_alone
from pgsched.bench.database import loading
from pgsched.bench.medians import medians
from pgsched.bench.receiver import CallbackReceiver, receiving
from pgsched.bench.seed_rows import Progress, load
from pgsched.bench.workers import benchmark_workers
from pgsched.settings import Settings

_BUSY = 0.95  # of a core: above this, the receiver may be the bottleneck
_CALLBACKS = """
insert into pgsched.executions (target, payload, fire_at)
select current_setting('bench.target'), current_setting('bench.payload')::jsonb,
       now() - interval '1 hour' + n * interval '1 millisecond'
  from generate_series(%(first)s::bigint, %(last)s::bigint) as n"""


def run_callbacks(
    url: str | None,
    *,
    count: int,
    processes: int = 2,
    rounds: int = 1,
    seed: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Sends ``count`` callbacks with the delivery client alone, then with workers; each must arrive exactly once.

    ``receiver_was_the_limit`` refers to the workers' run. Even if it is true, the figures per CPU second are valid.
    """
    with loading(url, seed) as (own, connection), receiving() as receiver:
        connection.execute("select set_config('bench.target', %s, false)", [receiver.url])
        connection.execute("select set_config('bench.payload', %s, false)", [PAYLOAD.decode()])
        measured = [_round(connection, own, receiver, count, processes, progress) for _ in range(rounds)]
    return {"count": count, "processes": processes} | medians(measured)


def _round(
    connection: psycopg.Connection[Any],
    url: str,
    receiver: CallbackReceiver,
    count: int,
    processes: int,
    progress: Progress,
) -> dict[str, Any]:
    alone = call_alone(receiver, count=count, processes=processes)
    progress(f"client alone: {alone['rate']}/s, {alone['per_cpu_second']} per CPU second")
    found = {f"client_alone_{figure}": value for figure, value in alone.items()}
    whole = _measure(connection, url, receiver, count, processes)
    progress(f"workers: {whole['rate']}/s, {whole['per_cpu_second']} per CPU second")
    return whole | found | {"ratio_to_client_alone": round(whole["per_cpu_second"] / alone["per_cpu_second"], 3)}


def _measure(
    connection: psycopg.Connection[Any], url: str, receiver: CallbackReceiver, count: int, processes: int
) -> dict[str, Any]:
    settings = Settings(
        database_url=url,
        concurrency=1000,
        connections_per_host=CONNECTIONS,
        allow_private_targets=True,
        lease=60.0,
    )
    with benchmark_workers(settings, processes=processes) as workers:
        load(connection, _CALLBACKS, count, lambda _: None)
        started = time.monotonic()
        workers.go.set()
        workers.await_settled(count, within=600)
        reports = workers.finish()
    seconds = max(report.last for report in reports) - started
    busy = receiver.take_each_once(_succeeded(connection, count)).cpu_seconds / seconds
    connection.execute("truncate pgsched.history")
    return {
        "rate": round(count / seconds),
        "per_cpu_second": round(count / sum(report.cpu_seconds for report in reports)),
        "receiver_busy": round(busy, 2),
        "receiver_was_the_limit": busy > _BUSY,
    }


def _succeeded(connection: psycopg.Connection[Any], count: int) -> set[bytes]:
    """Returns the ids in history. Raises AssertionError unless there are ``count`` distinct ids and no executions
    left."""
    rows = connection.execute("select id::text from pgsched.history where status = 'succeeded'").fetchall()
    ids = {row[0].encode() for row in rows}
    left = connection.execute("select count(*) from pgsched.executions").fetchone()
    if len(rows) != count or len(ids) != count or left != (0,):
        raise AssertionError(f"{len(rows)} succeeded ({len(ids)} distinct ids), {left} left; scheduled {count}")
    return ids
