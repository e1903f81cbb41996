"""What the database tells of the installation as a whole, at a cost that does not grow with its rows."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection

from pgsched.metrics.snapshot import Value
from pgsched.store.core.query import first, rows
from pgsched.store.core.session_settings import DOCTOR_LOCALLY
from pgsched.store.doctor.finding import Report, Severity
from pgsched.store.lookup.now import Now, look

MOST_DEAD_LETTERS = 10_000
_WORTH: Mapping[Severity, int] = {"note": 0, "warning": 1, "error": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A table with all of its partitions, and how many dead rows these have."""

    name: str
    dead: int


async def measured(connection: AsyncConnection[Any]) -> list[Value]:
    """Asks within a transaction."""
    await connection.execute(DOCTOR_LOCALLY)
    found = list(_of(await look(connection)))
    tables = await rows(connection, _Table, "lookup/dead_rows")
    found += [Value("pgsched_dead_rows", (table.name,), table.dead) for table in tables]
    totals = await first(connection, "lookup/wal_and_dead_letters", most=MOST_DEAD_LETTERS)
    written, letters, recent = totals or (0, 0, 0)
    found.append(Value("pgsched_wal_bytes", (), float(written)))
    found.append(Value("pgsched_dead_letters", (), letters))
    found.append(Value("pgsched_new_dead_letters", (), recent))
    return found


def findings(report: Report) -> Iterator[Value]:
    """The worst that each check has found."""
    worst = dict.fromkeys(report.checks, 0)
    for found in report.findings:
        worst[found.check] = max(worst.get(found.check, 0), _WORTH[found.severity])
    for check, worth in worst.items():
        yield Value("pgsched_finding", (check,), worth)


def _of(now: Now) -> Iterator[Value]:
    edges = {edge.queue: edge for edge in now.edges if edge.queue is not None}
    for queue in now.queues:
        edge = edges.get(queue.name)
        serving = sum(queue.name in worker.queues for worker in now.workers)
        yield Value("pgsched_due", (queue.name,), edge.due if edge else 0)
        yield Value("pgsched_leased", (queue.name,), edge.in_hand if edge else 0)
        yield Value("pgsched_oldest_due_seconds", (queue.name,), (edge and edge.oldest_due) or 0.0)
        yield Value("pgsched_queue_paused", (queue.name,), queue.paused)
        yield Value("pgsched_queue_workers", (queue.name,), serving)
    for flow in now.flows.values():
        yield Value("pgsched_scheduled", (flow.queue,), flow.scheduled)
        yield Value("pgsched_ended", (flow.queue,), flow.ended)
    held: Counter[str] = Counter()
    for gate in now.held_back:
        held[gate.gate.partition(":")[0]] += gate.held
    for kind, count in held.items():
        yield Value("pgsched_held", (kind,), count)
    yield Value("pgsched_workers", (), len(now.workers))
    yield Value("pgsched_sidelined_targets", (), len(now.sidelined))
