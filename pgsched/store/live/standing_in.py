"""What a thread does to the rows of its worker while the event loop stands still.

Each statement is fenced by the rows' tokens, as everywhere: what the loop or others do at the same time counts once.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import psycopg

from pgsched.domain.execution import ClaimedExecution, by_partition
from pgsched.domain.notification import CHANNEL, MOST_ROWS
from pgsched.store.core.sql import statement, statement_in
from pgsched.store.core.wire import LONG_AGO, UNIX_TO_WIRE, Instants, Tokens
from pgsched.store.live.executions import Group

Connection = psycopg.Connection[tuple[Any, ...]]
_DEPTH = 1000  # of the due rows of a partition, in which a claim's rows are looked for


def release(connection: Connection, rows: Iterable[ClaimedExecution]) -> int:
    """Hands rows back as if they had not been claimed, but what somebody has locked; how many."""
    released = 0
    for partition, some in by_partition(rows).items():
        try:
            released += connection.execute(
                statement_in("live/release", partition), Group.of(some).parameters()
            ).rowcount
        except psycopg.errors.LockNotAvailable:
            continue
    return released


def release_claims(connection: Connection, partitions: Sequence[int], tokens: Sequence[int]) -> None:
    """Hands back what claims took whose answers nobody reads."""
    lows = Instants([LONG_AGO] * len(partitions))
    parameters = {"partitions": list(partitions), "lows": lows, "tokens": Tokens(tokens), "depth": _DEPTH}
    connection.execute(statement("live/release_claim"), parameters)


def end_own_transactions(connection: Connection, instance: str) -> None:
    """Ends the sessions of this worker that stand in the middle of a transaction."""
    connection.execute(statement("live/end_own_transactions"), {"instance": instance})


def announce(connection: Connection, rows: Iterable[ClaimedExecution]) -> None:
    """Tells the workers that these wait again."""
    earliest: dict[int, int] = {}
    for row in rows:
        earliest[row.partition] = min(row.fire_at, earliest.get(row.partition, row.fire_at))
    said = ""
    for partition, instant in earliest.items():
        one = f"{partition}@{instant + UNIX_TO_WIRE}"
        if len(said) + len(one) >= MOST_ROWS:
            connection.execute(statement("live/announce"), {"channel": CHANNEL, "said": said})
            said = ""
        said = f"{said},{one}" if said else one
    if said:
        connection.execute(statement("live/announce"), {"channel": CHANNEL, "said": said})


def renew_worker(connection: Connection, worker: int, term: timedelta) -> bool:
    """Says that the worker lives; False when it was declared lost meanwhile."""
    answer = connection.execute(statement("live/renew_worker"), {"worker": worker, "term": term})
    return answer.fetchone() is not None


def renew(connection: Connection, rows: Iterable[ClaimedExecution], lease: timedelta) -> None:
    """Prolongs the leases that are past a third of their life."""
    for partition, some in by_partition(rows).items():
        connection.execute(statement_in("live/renew", partition), {**Group.of(some).parameters(), "lease": lease})


def suspect(connection: Connection, row: ClaimedExecution) -> None:
    """Has it run alone once it is taken back from this worker."""
    connection.execute(statement_in("live/suspect", row.partition), Group.of([row]).parameters())
