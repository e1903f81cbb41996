"""Measures the whole installation by queries, whose cost does not grow with the number of rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection

from pgsched.metrics.counts import Counts
from pgsched.store.core.query import first, rows
from pgsched.store.core.session_settings import DOCTOR_LOCALLY
from pgsched.store.doctor.finding import Report, Severity
from pgsched.store.lookup.now import Now, look

MOST_DEAD_LETTERS = 10_000
_WORTH: Mapping[Severity, int] = {"note": 0, "warning": 1, "error": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A table and the number of dead rows in all its partitions."""

    name: str
    dead: int


async def measured(connection: AsyncConnection[Any], found: Counts) -> None:
    """Queries the database, and adds the results to ``found``. Must be called in a transaction."""
    await connection.execute(DOCTOR_LOCALLY)
    _add_now(await look(connection), found)
    for table in await rows(connection, _Table, "lookup/dead_rows"):
        found.count(table.dead, "pgsched_dead_rows", table.name)
    totals = await first(connection, "lookup/wal_and_dead_letters", most=MOST_DEAD_LETTERS)
    written, letters, recent = totals or (0, 0, 0)
    found.count(float(written), "pgsched_wal_bytes")
    found.count(letters, "pgsched_dead_letters")
    found.count(recent, "pgsched_new_dead_letters")


def add_findings(report: Report, found: Counts) -> None:
    """Adds the severity of each check's worst finding to ``found``."""
    worst = dict.fromkeys(report.checks, 0)
    for one in report.findings:
        worst[one.check] = max(worst.get(one.check, 0), _WORTH[one.severity])
    for check, worth in worst.items():
        found.count(worth, "pgsched_finding", check)


def _add_now(now: Now, found: Counts) -> None:
    edges = {edge.queue: edge for edge in now.edges if edge.queue is not None}
    for queue in now.queues:
        edge = edges.get(queue.name)
        serving = sum(queue.name in worker.queues for worker in now.workers)
        found.count(edge.due if edge else 0, "pgsched_due", queue.name)
        found.count(edge.in_hand if edge else 0, "pgsched_leased", queue.name)
        found.count((edge and edge.oldest_due) or 0.0, "pgsched_oldest_due_seconds", queue.name)
        found.count(queue.paused, "pgsched_queue_paused", queue.name)
        found.count(serving, "pgsched_queue_workers", queue.name)
    for flow in now.flows.values():
        found.count(flow.scheduled, "pgsched_scheduled", flow.queue)
        found.count(flow.ended, "pgsched_ended", flow.queue)
    for gate in now.held_back:
        found.count(gate.held, "pgsched_held", gate.gate.partition(":")[0])
    found.count(len(now.workers), "pgsched_workers")
    found.count(len(now.sidelined), "pgsched_sidelined_targets")
