"""Measures what a statement costs the server from all available sources: the clock, the backend's CPU, the log, and
pg_stat_statements if it is loaded."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg

from pgsched.bench.drain import wal_bytes
from pgsched.bench.server_cpu import PROC, SECONDS_A_TICK, is_backend, ticks
from pgsched.store.core.connect import Connection
from tests.benchmarks.measuring.statements import counts_statements, forget_statements

# Includes planning if the server tracks it. Begin and commit are not included: they are statements of their own, or not
# sent at all.
_STATEMENTS = """
select sum(s.total_exec_time + s.total_plan_time) from pg_stat_statements s
 where s.dbid = (select oid from pg_database where datname = current_database()) and s.query !~* '^(begin|commit)'
   and s.query not like '%%pg_stat_statements%%' and s.query not like '%%pg_current_wal_insert_lsn%%'"""

Call = Callable[[int], Awaitable[int]]


class Meter:
    """Measures calls on one connection, observed through a second one. The database must otherwise be idle."""

    def __init__(self, watcher: psycopg.Connection[Any], connection: Connection) -> None:
        self._watcher, self._connection = watcher, connection
        self.has_statements = counts_statements(watcher)

    async def measure(self, calls: int, call: Call) -> dict[str, Any]:
        """Makes ``calls`` calls with the number of each; ``call`` returns its number of rows.

        Milliseconds are per call: by the local clock, with round trip and commit, and by the server alone. All other
        figures are per row.
        """
        if self.has_statements:
            forget_statements(self._watcher)
        log, cpu, started = wal_bytes(self._watcher), backend_seconds(self._connection), time.perf_counter()
        rows = 0
        for number in range(calls):
            rows += await call(number)
        seconds = time.perf_counter() - started
        spent, written = backend_seconds(self._connection), wal_bytes(self._watcher) - log
        executing = self._executing_ms()
        return {
            "calls": calls,
            "rows_per_call": round(rows / calls, 1),
            "ms_per_call": round(seconds / calls * 1000, 4),
            "us_per_row": round(seconds / rows * 1e6, 2),
            "server_ms_per_call": None if executing is None else round(executing / calls, 4),
            "server_us_per_row": None if executing is None else round(executing / rows * 1000, 2),
            "server_cpu_us_per_row": None if spent is None or cpu is None else round((spent - cpu) / rows * 1e6, 2),
            "wal_bytes_per_row": round(written / rows, 1),
        }

    def _executing_ms(self) -> float | None:
        if not self.has_statements:
            return None
        row = self._watcher.execute(_STATEMENTS.encode(), []).fetchone()
        return float(row[0]) if row and row[0] is not None else None


def backend_seconds(connection: Connection) -> float | None:
    """Returns the CPU seconds of the backend of this connection; None if they cannot be read."""
    pid = connection.info.backend_pid
    if not is_backend(pid, connection.info.dbname):
        return None
    try:
        return int((PROC / str(pid) / "schedstat").read_text().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        return ticks(pid) * SECONDS_A_TICK
