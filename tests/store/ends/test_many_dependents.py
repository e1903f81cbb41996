"""Many dependents of one execution are released in chunks."""

from uuid import UUID

import psycopg

from pgsched.store.core.session_settings import WORKER
from tests.store.ends.dependency_arrange import is_due, schedule_now
from tests.store.store_arrange import Connection, column, finish, row, value


def many_after(db: Connection, before: UUID, count: int) -> list[UUID]:
    """Insert this many dependents of one execution, and return their sorted ids."""
    db.execute("update pgsched.executions set awaited = true where id = %s", [before])
    ids = column(
        db,
        "insert into pgsched.executions (target, fire_at) select 'python:next', 'infinity' from generate_series(1, %s)"
        " returning id",
        [count],
    )
    db.execute("insert into pgsched.dependencies (execution_id, after_id) select unnest(%s::uuid[]), %s", [ids, before])
    return sorted(ids)


TURN = "select noted, decided, read_to, behind_to from pgsched_internal.release_dependents(200, %s, %s)"


def test_many_dependents_of_one_predecessor_are_released_in_chunks(db: Connection) -> None:
    before, small = schedule_now(db), schedule_now(db)
    ids = many_after(db, before, 1_200)
    follower = many_after(db, small, 1)
    finish(db, before)
    finish(db, small)
    assert row(db, TURN, [None, None]) == (0, 500, before, ids[499])
    assert row(db, TURN, [before, ids[499]]) == (0, 500, before, ids[999])
    assert row(db, TURN, [before, ids[999]]) == (2, 201, None, None)
    assert value(db, "select count(*) from pgsched.executions where fire_at <= now()") == 1_201
    assert is_due(db, follower[0])


def test_locked_dependents_do_not_delay_dependents_in_later_chunks(db: Connection, store_url: str) -> None:
    before = schedule_now(db)
    ids = many_after(db, before, 900)
    finish(db, before)
    with psycopg.connect(store_url) as holder:
        holder.execute("select from pgsched.executions where id = any (%s) for update", [ids[:600]])
        assert row(db, TURN, [None, None]) == (0, 0, before, ids[499])
        assert row(db, TURN, [before, ids[499]]) == (0, 300, None, None)
    assert row(db, TURN, [None, None]) == (0, 500, before, ids[499])
    assert row(db, TURN, [before, ids[499]]) == (1, 100, None, None)


def test_a_plan_cached_on_an_empty_table_still_reads_ends_by_index(db: Connection) -> None:
    db.execute(WORKER)
    first, *ends = (schedule_now(db) for _ in range(41))
    many_after(db, first, 1)
    finish(db, first)
    assert row(db, TURN, [None, None])[:2] == (1, 1)
    for end in ends:
        many_after(db, end, 1)
        finish(db, end)
    with db.transaction():
        assert row(db, TURN, [None, None])[:2] == (40, 40)
        assert value(db, READ) < 5 * 40


READ = "select sum(idx_tup_fetch) from pg_stat_xact_all_tables where relname like 'history%%'"


def test_only_missing_predecessors_are_searched_for(db: Connection) -> None:
    alive, gone = schedule_now(db), schedule_now(db)
    new = "pgsched_internal.new_id()"
    made = (
        f"insert into pgsched.executions (id, target, fire_at) values ({new}, 'python:x', now()) returning id".encode()
    )
    for before in (alive, gone, value(db, made)):
        many_after(db, before, 1)
    db.execute("delete from pgsched.executions where id = %s", [gone])
    with db.transaction():
        db.execute("set local track_functions = 'pl'")
        assert value(db, "select decided from pgsched_internal.release_abandoned(200, null)") == 1
        sought = "select calls from pg_stat_xact_user_functions where funcname = 'partition_with'"
        assert value(db, sought) == 1


def test_many_dependents_of_a_missing_predecessor_are_released_in_chunks(db: Connection) -> None:
    before = schedule_now(db)
    ids = many_after(db, before, 700)
    db.execute("delete from pgsched.executions where id = %s", [before])
    db.execute("update pgsched.dependencies set outcome = 'any'")
    sweep = "select decided, read_to from pgsched_internal.release_abandoned(200, %s)"
    decided, read_to = row(db, sweep, [None])
    assert (decided, row(db, sweep, [read_to])) == (500, (200, None))
    assert is_due(db, ids[-1])
