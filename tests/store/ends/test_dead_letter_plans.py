"""Queries for open dead letters use the index, however much other history there is."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.store.store_arrange import TARGET, Connection

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]

FAILED = """
insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, status, partition, attempt, client_id,
                             target, status_code, reason, dealt_with_at)
select now() - interval '1 hour', now(), now(), now(), pgsched_internal.new_id(),
       case when n %% 2 = 0 then 'failed' else 'succeeded' end::pgsched.execution_status, 0, 5,
       case when n %% 10 = 0 then 'payments' else 'default' end, %s, 503, '503',
       case when n > 1000 then now() end
  from generate_series(1, 20000) n
"""


@pytest.fixture(scope="module", autouse=True)
def many_rows(module_url: str) -> Iterator[None]:
    with psycopg.connect(module_url, autocommit=True) as db:
        db.execute(FAILED, [TARGET])
        db.execute("analyze pgsched.history")
        yield


@pytest.fixture
def store_url(module_url: str) -> str:
    """The URL of a database that all tests of this file share, since no test writes."""
    return module_url


def scans(db: Connection, query: str) -> list[dict[str, Any]]:
    """Return the nodes of a plan that read a table of history."""
    found = db.execute(f"explain (analyze, format json) {query}".encode()).fetchone()
    assert found is not None
    return [node for node in _nodes(found[0][0]["Plan"]) if "history" in node.get("Relation Name", "")]


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _nodes(child)


def _read(nodes: list[dict[str, Any]]) -> int:
    return int(sum(node["Actual Rows"] + node.get("Rows Removed by Filter", 0) for node in nodes))


@pytest.mark.parametrize(("client", "most"), [("", 50), ("and client_id = 'payments'", 100)])
def test_a_dead_letter_page_reads_only_open_dead_letters_by_index(db: Connection, client: str, most: int) -> None:
    query = f"select * from pgsched.dead_letters where dealt_with_at is null {client} order by id desc limit 50"
    nodes = scans(db, query)
    assert {node["Node Type"] for node in nodes} == {"Index Scan"}
    assert all("dealt_with_at" in node["Index Name"] for node in nodes)
    assert _read(nodes) <= most


def test_a_bulk_replay_chunk_reads_no_more_rows_than_its_limit(db: Connection) -> None:
    db.execute("set enable_sort = off; set enable_hashjoin = off; set plan_cache_mode = force_generic_plan")
    nodes = scans(
        db,
        'select * from pgsched_internal.look_through_dead_letters(\'{"host": "shop.example"}\', null,'
        " '00000000-0000-0000-0000-000000000001', now(), 100)",
    )
    assert "Seq Scan" not in {node["Node Type"] for node in nodes}
    assert _read(nodes) <= 100
