"""Each filter of a listing makes a query that PostgreSQL accepts."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import combinations
from typing import Any
from uuid import UUID

import psycopg
import pytest

from pgsched.store.lookup.clauses import Query, SortOrder
from pgsched.store.lookup.filters import DeadLetterFilter, ExecutionFilter, JobFilter
from pgsched.store.lookup.page_queries import page_of_dead_letters, page_of_executions, page_of_jobs
from pgsched.store.lookup.page_reach import reach_of_dead_letters, reach_of_executions, reach_of_jobs
from tests.store.lookup.lookup_arrange import DEAD_LETTER_STATES

Connection = psycopg.Connection[tuple[Any, ...]]
ID = UUID("0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b47")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
VALUES: dict[str, Any] = {
    "client": "a", "queue": "orders", "key": "k", "job": ID, "start": NOON, "end": NOON, "target": "https://h/",
    "host": "H.example", "reason": "No", "status_code": 500, "labels": {"team": "a"},
}  # fmt: skip


def shapes(*names: str) -> Iterator[dict[str, Any]]:
    """No filter, each name alone, and all of them."""
    for count in (0, 1, len(names)):
        for chosen in combinations(names, count):
            yield {name: VALUES[name] for name in chosen}


def ask(db: Connection, query: Query | None) -> None:
    if query is not None:
        assert db.execute(query.text.encode(), query.parameters).fetchall() in ([], [(None,)])


@pytest.mark.parametrize("statuses", [(), ("running",), ("failed",), ("held", "succeeded", "failed")])
def test_each_execution_filter_makes_a_valid_query(db: Connection, statuses: tuple[str, ...]) -> None:
    for given in shapes("client", "queue", "host", "key", "job", "start", "end", "labels"):
        wanted = ExecutionFilter(statuses=statuses, **given)
        for order in SortOrder:
            ask(db, page_of_executions(wanted, limit=51, after=ID, reach=ID, order=order, contents=False))
            ask(db, reach_of_executions(wanted, after=ID, share=50, order=order))


@pytest.mark.parametrize("state", DEAD_LETTER_STATES)
def test_each_dead_letter_filter_makes_a_valid_query(db: Connection, state: str) -> None:
    for given in shapes("client", "target", "host", "job", "key", "start", "end", "reason", "status_code", "labels"):
        wanted = DeadLetterFilter(**given)
        ask(db, page_of_dead_letters(wanted, state=state, limit=51, after=ID, reach=ID))
        ask(db, reach_of_dead_letters(wanted, state=state, after=ID, share=50))


@pytest.mark.parametrize("state", [None, "paused"])
def test_each_job_filter_makes_a_valid_query(db: Connection, state: str | None) -> None:
    for given in shapes("client", "key", "host", "labels"):
        wanted = JobFilter(state=state, **given)
        for order in SortOrder:
            ask(db, page_of_jobs(wanted, limit=51, after=ID, order=order))
            ask(db, reach_of_jobs(wanted, after=ID, share=50, order=order))
