"""Schedules executions while the workers of a benchmark run.

The load is open-loop: all instants are fixed before the first row is inserted, and neither slow workers nor slow
inserts change them. Overdue rows are inserted at once.
"""

import time
from dataclasses import dataclass

import psycopg

from pgsched.bench.seed_rows import seeded

_SPAN = 0.1  # seconds of instants whose rows are inserted together
_INSERTED_A_SECOND = 50_000  # assumed minimum rate when all rows are inserted in advance
_SCHEDULE = """
insert into pgsched.executions (target, payload, fire_at)
select 'python:stamp', to_jsonb(extract(epoch from t.at)::float8), t.at
  from generate_series(%(first)s::bigint, %(last)s::bigint) as n,
       lateral (select %(start)s + n * interval '1 second' / %(rate)s) as t(at)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fed:
    """The timing of the load. ``first`` is the monotonic time of the first instant; ``slack`` is the shortest time, in
    seconds, from a row's commit to its instant."""

    first: float
    slack: float


def schedule_evenly(url: str, *, rate: int, seconds: int, ahead: bool, lead: float, seed: int) -> Fed:
    """Schedules rate x seconds executions of ``python:stamp``, each at its own instant, and returns the timing.

    Schedules each execution ``lead`` seconds before its instant or, with ``ahead``, all before the first is due.
    """
    with psycopg.connect(url, autocommit=True, prepare_threshold=0) as connection:
        seeded(connection, seed)
        count, size = rate * seconds, rate * seconds if ahead else max(round(rate * _SPAN), 1)
        lead += count / _INSERTED_A_SECOND if ahead else 0
        asked = time.monotonic()
        row = connection.execute("select clock_timestamp() + %s * interval '1 second'", [lead]).fetchone()
        start, first_due = row[0] if row else None, asked + lead
        slack = float("inf")
        for first in range(0, count, size):
            due = first_due + first / rate
            time.sleep(max(due - lead - time.monotonic(), 0))
            parameters = {"first": first, "last": min(first + size, count) - 1, "start": start, "rate": rate}
            connection.execute(_SCHEDULE.encode(), parameters)
            slack = min(slack, due - time.monotonic())
    return Fed(first=first_due, slack=slack)
