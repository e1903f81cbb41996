"""Pages under a selective filter are bounded, and may be short or empty. Together, they contain each row once."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from pgsched.store.core import connect
from pgsched.store.lookup import executions_and_jobs
from pgsched.store.lookup.clauses import SortOrder
from pgsched.store.lookup.filters import DeadLetterFilter, ExecutionFilter, JobFilter
from pgsched.store.lookup.row_types import RowPage
from tests.store.lookup.lookup_arrange import bounds, fill, make_days

Pages = Callable[[UUID | None], Awaitable[RowPage[Any]]]
_ROWS = 2000
_WORD = {SortOrder.NEWEST: "desc", SortOrder.OLDEST: "asc"}


@pytest.fixture(scope="module", autouse=True)
def some_rows(module_url: str) -> None:
    with psycopg.connect(module_url, autocommit=True) as db:
        make_days(db)
        fill(db, behind=0, up_to=_ROWS, all_rows=_ROWS)


@pytest.fixture
def store_url(module_url: str) -> str:
    """The URL of a database that all tests of this file share, since no test writes."""
    return module_url


@pytest.fixture(autouse=True)
def short_pages() -> Iterator[None]:
    with bounds(entries=100, visits=50):
        yield


async def _all(pages: Pages, order: SortOrder = SortOrder.NEWEST) -> tuple[list[UUID], list[int]]:
    """The ids on all pages, and the length of each page."""
    ids: list[UUID] = []
    lengths: list[int] = []
    after: UUID | None = None
    while True:
        page = await pages(after)
        ids += [row.id for row in page.items]
        lengths.append(len(page.items))
        if page.next is None:
            return ids, lengths
        assert after is None or (page.next < after) is (order is SortOrder.NEWEST)
        after = page.next


@pytest.mark.parametrize(
    ("wanted", "condition"),
    [
        ({"client": "rare"}, "client_id = 'rare'"),
        ({"client": "nobody"}, "false"),
        ({"client": "big", "statuses": ("failed",)}, "client_id = 'big' and status = 'failed'"),
        ({"statuses": ("cancelled",)}, "status = 'cancelled'"),
        ({"statuses": ("scheduled", "failed", "cancelled")}, "status in ('scheduled', 'failed', 'cancelled')"),
        ({"statuses": ("held", "running"), "host": "shop.example"}, "false"),
        ({"host": "SHOP.example", "client": "c9"}, "client_id = 'c9'"),
        ({"host": "other.example"}, "false"),
        ({"statuses": ("scheduled",), "client": "c7"}, "status = 'scheduled' and client_id = 'c7'"),
        ({"queue": "default", "client": "c9"}, "client_id = 'c9'"),
        ({"key": "k100"}, "key = 'k100'"),
        ({"labels": {"team": "t3"}}, """labels @> '{"team": "t3"}'"""),
        ({"labels": {"team": "t3"}, "client": "big"}, """client_id = 'big' and labels @> '{"team": "t3"}'"""),
        (
            {"labels": {"team": "t3"}, "client": "big", "queue": "default"},
            "client_id = 'big' and labels ->> 'team' = 't3'",
        ),
        ({}, "true"),
    ],
)
@pytest.mark.parametrize("order", SortOrder)
async def test_execution_pages_contain_each_row_of_the_view_once(
    planning: connect.Connection, wanted: dict[str, Any], condition: str, order: SortOrder
) -> None:
    async def page(after: UUID | None) -> RowPage[Any]:
        return await executions_and_jobs.list_executions(
            planning, ExecutionFilter(**wanted), limit=40, after=after, order=order
        )

    ids, lengths = await _all(page, order)
    query = f"select id from pgsched.status where {condition} order by id {_WORD[order]}"
    assert ids == [row[0] for row in await (await planning.execute(query.encode())).fetchall()]
    assert max(lengths) <= 40


async def test_an_empty_page_that_reaches_its_bound_has_a_next_cursor(planning: connect.Connection) -> None:
    page = await executions_and_jobs.list_executions(planning, ExecutionFilter(client="nobody"), limit=40)
    assert page.items == []
    assert page.next is not None


@pytest.mark.parametrize("order", SortOrder)
async def test_dead_letter_and_job_pages_contain_each_row_once(planning: connect.Connection, order: SortOrder) -> None:
    async def letters(after: UUID | None) -> RowPage[Any]:
        wanted = DeadLetterFilter(reason="503")
        return await executions_and_jobs.list_dead_letters(
            planning, wanted, state="open", limit=7, after=after, order=order
        )

    async def jobs(after: UUID | None) -> RowPage[Any]:
        return await executions_and_jobs.list_jobs(
            planning, JobFilter(labels={"team": "t3"}), limit=7, after=after, order=order
        )

    for pages, query in (
        (letters, f"select id from pgsched.dead_letters order by id {_WORD[order]}"),
        (jobs, f"""select id from pgsched.jobs where labels @> '{{"team": "t3"}}' order by id {_WORD[order]}"""),
    ):
        ids, _ = await _all(pages, order)
        assert ids == [row[0] for row in await (await planning.execute(query.encode())).fetchall()]
        assert ids
