"""Inserts the executions that benchmarks run."""

import time
from collections.abc import Callable
from typing import Any

import psycopg

DUE = """
insert into pgsched.executions (target, payload, fire_at)
select 'python:noop', '{"order": 42, "merchant": "abcdefghij"}',
       now() - interval '1 hour' + mod(n, 3000000) * interval '1 millisecond'
  from generate_series(%(first)s::bigint, %(last)s::bigint) as n"""
TRACED = """
insert into pgsched.executions (target, payload, fire_at)
select 'python:trace', jsonb_build_object('order', n, 'merchant', 'abcdefghij'),
       now() - interval '1 hour' + mod(n, 3000000) * interval '1 millisecond'
  from generate_series(%(first)s::bigint, %(last)s::bigint) as n"""
# Each chunk covers its own part of the year, so that index pages stay in memory while a chunk is inserted.
WAITING = """
insert into pgsched.executions (target, payload, fire_at)
select 'https://shop.example/callback', '{"order": 42, "merchant": "abcdefghij"}',
       now() + interval '1 day'
       + (%(first)s + random() * (%(last)s - %(first)s + 1)) / %(count)s * interval '364 days'
  from generate_series(%(first)s::bigint, %(last)s::bigint)"""
_CHUNK = 1_000_000
Progress = Callable[[str], None]


def load(
    connection: psycopg.Connection[Any], query: str, count: int, progress: Progress, *, tidy: bool = True
) -> float:
    """Inserts ``count`` rows, numbered from 0. Returns how many seconds the inserts took. With ``tidy``, also vacuums
    the table and updates its statistics."""
    if not count:
        return 1.0
    started = time.monotonic()
    for first in range(0, count, _CHUNK):
        last = min(first + _CHUNK, count) - 1
        progress(f"scheduling {count} executions" + (f", from {first} on" if count > _CHUNK else ""))
        connection.execute(query.encode(), {"first": first, "last": last, "count": count})
    seconds = time.monotonic() - started
    if tidy:
        connection.execute("vacuum (analyze) pgsched.executions")
    return seconds


def seeded(connection: psycopg.Connection[Any], seed: int) -> None:
    """Seeds the session's ``random()``, so that it returns the same values in every run with this seed."""
    connection.execute("select setseed(%s)", [(seed % 2_000_001 - 1_000_000) / 1_000_000])
