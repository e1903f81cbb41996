"""Dropped and half-built indexes are rebuilt online."""

from typing import Any

import psycopg
import pytest

from pgsched.errors import Unavailable
from pgsched.store.admin import interface_replacement
from pgsched.store.admin.indexes import rebuild_indexes
from tests.conftest import Connection
from tests.store.doctor.doctor_arrange import seen

pytestmark = pytest.mark.oldest_postgresql

MADE = "select jsonb_object_keys(value::jsonb -> 'indexes') from pgsched_internal.facts where name = 'catalogue'"
OF_CONSUMERS = """
select format('pgsched_internal.executions_%s_client', p)
  from pgsched.queues q, pgsched_internal.partitions_of(q.first_partition) p where q.pulled"""
THERE = """
select i.indrelid::regclass::text, regexp_replace(pg_get_indexdef(i.indexrelid), ' INDEX .* ON ', ' INDEX ON '),
       i.indisvalid and i.indisready, h.inhparent::regclass::text
  from pg_index i join pg_class c on c.oid = i.indrelid left join pg_inherits h on h.inhrelid = i.indexrelid
 where c.relnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace) order by 1, 2, 3, 4"""


def listed(db: Connection, query: str) -> list[Any]:
    return db.execute(query.encode()).fetchall()


async def test_every_dropped_index_is_rebuilt(db: Connection, database_url: str) -> None:
    db.execute("select pgsched.create_queue('orders', '{\"pulled\": true}')")
    names, before = listed(db, MADE) + listed(db, OF_CONSUMERS), listed(db, THERE)
    assert len(names) > 50
    for (name,) in names:
        db.execute(f"drop index {name}".encode())
    assert len(listed(db, THERE)) < len(before) / 2
    assert sorted(rebuild_indexes(database_url)) == sorted(name for (name,) in names)
    assert listed(db, THERE) == before
    assert await seen(database_url, "drift") == []
    assert rebuild_indexes(database_url) == []


async def test_a_dropped_executions_partition_is_reported_and_recreated(db: Connection, database_url: str) -> None:
    before = listed(db, THERE)
    db.execute("drop table pgsched_internal.executions_3")
    [(severity, text)] = await seen(database_url, "drift")
    assert (severity, "table pgsched_internal.executions_3" in text) == ("error", True)
    assert rebuild_indexes(database_url) == ["pgsched_internal.executions_3"]
    assert listed(db, THERE) == before
    assert await seen(database_url, "drift") == []


def test_rebuilding_replaces_an_interrupted_rebuilds_invalid_indexes(db: Connection, database_url: str) -> None:
    before = listed(db, THERE)
    db.execute("drop index pgsched.executions_key")
    for text in (
        "create index executions_key on only pgsched.executions (client_id, key) where key is not null",
        "create index one on pgsched_internal.executions_0 (client_id, key) where key is not null",
        "create index two on pgsched_internal.executions_1 (client_id, key) where key is not null",
        "create index jobs_key_ccnew on pgsched.jobs (client_id, key)",
    ):
        db.execute(text.encode())
    for name in ("pgsched_internal.two", "pgsched.jobs_key_ccnew", "pgsched.jobs_key"):
        db.execute("update pg_index set indisvalid = false where indexrelid = %s::regclass", [name])
    assert rebuild_indexes(database_url) == ["pgsched.executions_key", "pgsched.jobs_key", "pgsched.jobs_key_ccnew"]
    assert listed(db, THERE) == before
    assert listed(
        db, "select to_regclass('pgsched_internal.one')::text, to_regclass('pgsched_internal.two')::text"
    ) == [("pgsched_internal.one", None)]


def test_rebuilding_gives_up_on_a_locked_table_and_blocks_no_clients(
    db: Connection, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interface_replacement, "_AT_THE_MOST", 0.3)
    db.execute("drop index pgsched.executions_key")
    with psycopg.connect(database_url) as other:
        other.execute("lock table pgsched.executions in row exclusive mode")
        with pytest.raises(Unavailable, match="other transactions hold locks for too long"):
            rebuild_indexes(database_url)
        db.execute("select pgsched.schedule('python:x')")
    assert rebuild_indexes(database_url) == ["pgsched.executions_key"]
