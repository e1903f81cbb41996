"""What benchmarks put into the database, and how they sum up their rounds."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import psycopg

DUE = """
insert into pgsched.executions (target, payload, fire_at)
select 'python:noop', '{"order": 42, "merchant": "abcdefghij"}',
       now() - interval '1 hour' + n * interval '1 millisecond'
  from generate_series(1, %s) as n"""
WAITING = """
insert into pgsched.executions (target, payload, fire_at)
select 'https://shop.example/callback', '{"order": 42, "merchant": "abcdefghij"}',
       now() + interval '1 day' + random() * interval '364 days'
  from generate_series(1, %s)"""
Progress = Callable[[str], None]


def load(connection: psycopg.Connection[Any], query: str, count: int, progress: Progress) -> float:
    """Inserts count rows and brings the statistics up to date; returns the seconds that the inserts took."""
    if not count:
        return 1.0
    progress(f"scheduling {count} executions")
    started = time.monotonic()
    for first in range(0, count, 1_000_000):
        connection.execute(query.encode(), [min(1_000_000, count - first)])
    seconds = time.monotonic() - started
    connection.execute("vacuum (analyze) pgsched.executions")
    return seconds


def medians(rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The median of each figure over the rounds, and the rounds themselves where there were several."""
    summed = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    return summed | ({"rounds": list(rounds)} if len(rounds) > 1 else {})
