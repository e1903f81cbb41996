"""Measures what one call of schedule costs its caller, from the call to the end of its commit."""

import time
from collections.abc import Callable
from typing import Any, LiteralString
from uuid import UUID

import click
import psycopg

import pgsched
from pgsched.bench.database import fresh_database
from pgsched.bench.medians import medians
from pgsched.bench.seed_rows import Progress
from pgsched.cli.bench import COUNT, ROUNDS, on_server, progress, tell
from tests.benchmarks.measuring.spread import spread

_LATER: LiteralString = (
    "select pgsched.schedule('https://shop.example/callback', %s::jsonb, delay => interval '1 hour')"
)
_NOW: LiteralString = "select pgsched.schedule('https://shop.example/callback', %s::jsonb, fire_at => now())"
_BARE: LiteralString = "insert into bare (payload) values (%s::jsonb) returning id"
_PAYLOAD = {"order": 42, "merchant": "abcdefghij"}
_TEXT = '{"order": 42, "merchant": "abcdefghij"}'
_WARMING_UP = 20  # PostgreSQL plans each of the first executions of a prepared statement
Way = Callable[[psycopg.Connection[Any]], Any]


def run_schedule(
    url: str | None, *, count: int, rounds: int = 1, progress: Progress = lambda _: None
) -> dict[str, Any]:
    """Returns milliseconds per call, including commit, one after another on one connection. No worker runs.

    The variants alternate call by call, so that whatever slows the machine affects them alike: SQL in autocommit, due
    in an hour (``later``) and now, which notifies (``now``); ``pgsched.schedule`` in its own transaction (``sdk``);
    and, as the lower bound, one row into a table without constraints (``bare``).
    """
    with fresh_database(url) as own, psycopg.connect(own, autocommit=True) as connection:
        connection.prepare_threshold = 0
        connection.execute("create table bare (id uuid primary key default pgsched_internal.new_id(), payload jsonb)")
        return {"count": count} | medians([_measure(connection, count, progress) for _ in range(rounds)])


def _by_sql(query: LiteralString) -> Way:
    def call(connection: psycopg.Connection[Any]) -> Any:
        return (connection.execute(query, [_TEXT]).fetchone() or [None])[0]

    return call


def _by_sdk(connection: psycopg.Connection[Any]) -> UUID:
    with connection.transaction():
        return pgsched.schedule(connection, "https://shop.example/callback", payload=_PAYLOAD, delay="1h")


_WAYS: dict[str, Way] = {"later": _by_sql(_LATER), "now": _by_sql(_NOW), "sdk": _by_sdk, "bare": _by_sql(_BARE)}


def _measure(connection: psycopg.Connection[Any], count: int, progress: Progress) -> dict[str, Any]:
    took: dict[str, list[float]] = {name: [] for name in _WAYS}
    ids: dict[str, list[UUID]] = {name: [] for name in _WAYS}
    for _ in range(_WARMING_UP + count):
        for name, way in _WAYS.items():
            started = time.perf_counter()
            id = way(connection)
            took[name].append(time.perf_counter() - started)
            ids[name].append(id)
    _assert_all(connection, [id for name in _WAYS if name != "bare" for id in ids[name]])
    connection.execute("truncate pgsched.executions, bare")
    measured = {f"{name}_{figure}": value for name in _WAYS for figure, value in _figures(took[name]).items()}
    progress(", ".join(f"{name} p50 {measured[f'{name}_p50_ms']:.3f} ms" for name in _WAYS))
    return measured


def _figures(took: list[float]) -> dict[str, float]:
    return spread(took[_WARMING_UP:], 0.5, 0.99)


def _assert_all(connection: psycopg.Connection[Any], answered: list[UUID]) -> None:
    kept = [row[0] for row in connection.execute("select id from pgsched.executions")]
    if len(set(answered)) != len(answered) or sorted(kept) != sorted(answered):
        raise AssertionError(
            f"{len(answered)} answered, {len(set(answered))} distinct; {len(kept)} kept, "
            f"{len(set(answered) - set(kept))} of the answered missing"
        )


@click.command()
@click.option("--count", default=5_000, show_default=True, type=COUNT, help="Calls of each variant.")
@ROUNDS
@on_server
def schedule(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Schedule one by one on one connection, and report how long a call takes with its commit."""
    tell(run_schedule(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    schedule()
