"""The texts of look-ups that are kept are those that would be written anew for the same values."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import combinations
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from pgsched.store.lookup import query_texts
from pgsched.store.lookup.clauses import SortOrder
from pgsched.store.lookup.dead_letter_pages import one_dead_letter, page_of_dead_letters
from pgsched.store.lookup.execution_pages import page_of_executions
from pgsched.store.lookup.job_pages import one_job, page_of_jobs
from pgsched.store.lookup.page_reach import reach_of_dead_letters, reach_of_executions, reach_of_jobs
from pgsched.store.lookup.query_texts import Query, query_of
from pgsched.store.lookup.row_types import DeadLetterFilter, ExecutionFilter, JobFilter
from tests.store.lookup.lookup_arrange import DEAD_LETTER_STATES

ID = UUID("0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b47")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
VALUES: dict[str, Any] = {
    "client": "a", "queue": "orders", "key": "k", "job": ID, "start": NOON, "end": NOON, "target": "https://h/",
    "host": "H.example", "reason": "No", "status_code": 500, "labels": {"team": "a"},
}  # fmt: skip


def shapes(*names: str) -> Iterator[dict[str, Any]]:
    """Each name in a filter, and each two of them, and all; a condition knows of no more than one other."""
    for count in (0, 1, 2, len(names)):
        for chosen in combinations(names, count):
            yield {name: VALUES[name] for name in chosen}


def with_values(query: Query | None) -> str | None:
    """The text with each value in its place, whatever the place is called and its type is said to be."""
    if query is None:
        return None
    text = re.sub(r"::[A-Z]+( WITH TIME ZONE)?", "", query.text.decode())
    return re.sub(r"%\((\w+)\)s", lambda place: repr(query.parameters[place[1]]), text)


def same(query: Query | None, anew: sa.Select[Any] | None) -> bool:
    if anew is None:
        return query is None
    compiled = anew.compile(dialect=query_texts._dialect)
    return with_values(query) == with_values(Query(compiled.string.encode(), dict(compiled.params)))


@pytest.mark.parametrize("statuses", [(), ("running",), ("failed",), ("held", "succeeded", "failed")])
def test_each_filter_of_executions_has_its_text(statuses: tuple[str, ...]) -> None:
    for given in shapes("client", "queue", "host", "key", "job", "start", "labels"):
        wanted = ExecutionFilter(statuses=statuses, **given)
        for after, order in ((None, SortOrder.NEWEST), (ID, SortOrder.NEWEST), (ID, SortOrder.OLDEST)):
            more: dict[str, Any] = {"limit": 51, "after": after, "reach": after, "order": order}
            text = query_of(page_of_executions, wanted, **more)
            assert same(text, page_of_executions(wanted, **more))
            further: dict[str, Any] = {"after": after, "share": 50, "order": order}
            found = query_of(reach_of_executions, wanted, **further)
            assert same(found, reach_of_executions(wanted, **further))


@pytest.mark.parametrize("state", DEAD_LETTER_STATES)
def test_each_filter_of_dead_letters_has_its_text(state: str) -> None:
    for given in shapes("client", "target", "host", "job", "key", "start", "reason", "status_code", "labels"):
        wanted = DeadLetterFilter(**given)
        more: dict[str, Any] = {"state": state, "limit": 51, "after": ID, "reach": ID}
        assert same(query_of(page_of_dead_letters, wanted, **more), page_of_dead_letters(wanted, **more))
        further: dict[str, Any] = {"state": state, "after": ID, "share": 50}
        found = query_of(reach_of_dead_letters, wanted, **further)
        assert same(found, reach_of_dead_letters(wanted, **further))


@pytest.mark.parametrize("state", [None, "paused"])
def test_each_filter_of_jobs_has_its_text(state: str | None) -> None:
    for given in shapes("client", "key", "labels"):
        wanted = JobFilter(state=state, **given)
        more: dict[str, Any] = {"limit": 51, "after": ID, "reach": None}
        assert same(query_of(page_of_jobs, wanted, **more), page_of_jobs(wanted, **more))
        found = query_of(reach_of_jobs, wanted, after=ID, share=50)
        assert same(found, reach_of_jobs(wanted, after=ID, share=50))


@pytest.mark.parametrize("select", [one_dead_letter, one_job])
def test_what_selects_one_is_written_once(select: Callable[..., sa.Select[Any]]) -> None:
    assert same(query_of(select, id=ID), select(id=ID))
    known = query_texts._text.cache_info().misses
    query_of(select, id=UUID(int=1))
    assert query_texts._text.cache_info().misses == known


def test_a_text_is_written_once_for_all_values() -> None:
    query_texts._text.cache_clear()
    for n in range(100):
        wanted = ExecutionFilter(client=f"client-{n}")
        query_of(page_of_executions, wanted, limit=n, after=UUID(int=n), reach=None)
    assert query_texts._text.cache_info().misses == 1
