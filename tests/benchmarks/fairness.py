"""Measures which share of saturated workers each of several clients gets, by weight.

Each client has more due than can be served in the time, and everything of the first client is due before anything of
the second, and so on. Served executions are counted from history, between two moments at which all had a backlog.
"""

import time
from collections.abc import Sequence
from typing import Any

import click
import psycopg

from pgsched.bench.database import fresh_database
from pgsched.bench.medians import medians
from pgsched.bench.seed_rows import Progress
from pgsched.bench.workers import benchmark_workers
from pgsched.cli.bench import COUNT, ROUNDS, on_server, progress, tell, worker_processes
from pgsched.settings import Settings

_CLIENT = "insert into pgsched.clients (client_id, weight) values (%s, %s)"
_BACKLOG = """
insert into pgsched.executions (client_id, target, payload, fire_at)
select %(client)s, 'python:noop', '{"order": 42, "merchant": "abcdefghij"}',
       now() - interval '1 day' + %(place)s * interval '1 hour' + n * interval '1 millisecond'
  from generate_series(1, %(count)s) as n"""
_SERVED = "select client_id, count(*) from pgsched.history group by client_id"
_FOUND_OUT = 2.0  # seconds after which the workers know which clients have a backlog


def run_fairness(
    url: str | None,
    *,
    backlog: int,
    weights: Sequence[int],
    seconds: float,
    processes: int = 2,
    rounds: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Returns each client's share beside the share for its weight, in percent of all served executions."""
    names = {f"client-{place}": weight for place, weight in enumerate(weights, 1)}
    with fresh_database(url) as own, psycopg.connect(own, autocommit=True) as connection:
        connection.execute("set pgsched.notify = off")
        for name, weight in names.items():
            connection.execute(_CLIENT, [name, weight])
        settings = Settings(database_url=own)
        measured = [_round(connection, settings, names, backlog, seconds, processes, progress) for _ in range(rounds)]
    return {"backlog": backlog, "weights": list(weights), "processes": processes} | medians(measured)


def _round(
    connection: psycopg.Connection[Any],
    settings: Settings,
    names: dict[str, int],
    backlog: int,
    seconds: float,
    processes: int,
    progress: Progress,
) -> dict[str, Any]:
    for place, name in enumerate(names):
        progress(f"scheduling {backlog} executions of {name}")
        connection.execute(_BACKLOG, {"client": name, "place": place, "count": backlog})
    connection.execute("vacuum (analyze) pgsched.executions")
    with benchmark_workers(settings, processes=processes) as workers:
        workers.go.set()
        while len(_served(connection)) < len(names):
            time.sleep(0.1)
        time.sleep(_FOUND_OUT)
        before = _served(connection)
        time.sleep(seconds)
        after = _served(connection)
        workers.finish()
    connection.execute("truncate pgsched.history, pgsched.executions")
    if max(after.values()) >= backlog:
        raise AssertionError(f"a backlog ran out before the end: {after}; use a larger --backlog")
    return _shares(names, {name: after[name] - before[name] for name in names}, seconds, progress)


def _shares(names: dict[str, int], served: dict[str, int], seconds: float, progress: Progress) -> dict[str, Any]:
    whole, weights = sum(served.values()), sum(names.values())
    told: dict[str, Any] = {"rate": round(whole / seconds)}
    worst = 0.0
    for name, weight in names.items():
        share, asked = served[name] / whole, weight / weights
        worst = max(worst, abs(share / asked - 1))
        told[f"{name}_percent"] = round(100 * share, 2)
        progress(f"{name}: {100 * share:.2f} % for {100 * asked:.2f} %")
    return told | {"worst_deviation_percent": round(100 * worst, 2)}


def _served(connection: psycopg.Connection[Any]) -> dict[str, int]:
    return dict(connection.execute(_SERVED).fetchall())


class _Weights(click.ParamType[list[int]]):
    """At least two integers from 1 to 100."""

    name = "weights"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        if isinstance(value, list):
            return value
        try:
            weights = [int(word) for word in value.split(",")]
        except ValueError:
            weights = []
        if len(weights) < 2 or not all(1 <= weight <= 100 for weight in weights):
            self.fail(f"invalid weights {value!r}: write two or more integers from 1 to 100, such as 1,2,5", param, ctx)
        return weights


@click.command()
@click.option("--backlog", default=1_000_000, show_default=True, type=COUNT, help="Due executions of each client.")
@click.option("--weights", default="1,2,5", show_default=True, type=_Weights(), help="The weight of each client.")
@click.option("--seconds", default=5.0, show_default=True, type=click.FloatRange(0.5), help="Seconds to measure.")
@worker_processes()
@ROUNDS
@on_server
def fairness(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Report which share of saturated workers each client gets, beside the share for its weight."""
    tell(run_fairness(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    fairness()
