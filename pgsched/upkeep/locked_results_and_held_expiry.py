"""Records results that a lock has delayed, and ends executions that a gate has held beyond their time limit."""

from pgsched.store import internal_verbs
from pgsched.store.core.connect import Connection


async def record_and_end(
    connection: Connection, results_in: float | None, overdue_in: float | None, *, most: int
) -> float:
    """Records up to ``most`` results, and ends up to ``most`` executions. Returns the seconds until the next call."""
    if results_in is not None and results_in <= 0:
        await internal_verbs.record_results(connection, most=most)
        results_in = 0.0
    if overdue_in is not None and overdue_in <= 0:
        ended = await internal_verbs.end_overdue(connection, most=most)
        overdue_in = 0.0 if ended else None  # if none ended, the overdue executions are locked
    return min((at for at in (results_in, overdue_in) if at is not None), default=float("inf"))
