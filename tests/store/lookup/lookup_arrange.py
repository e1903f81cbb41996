"""Many live and ended executions, of large and small clients.

Two of ten rows are live, in sixteen partitions. Eight have ended, over eight days. Half belong to the client `big`, the
others to fifty clients; `rare` has two of ten thousand. Every second row has a key, one in ten has labels, and one in a
hundred has failed.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from pgsched.store.lookup import page_reach

Db = psycopg.Connection[tuple[object, ...]]
DAYS = 8
DEAD_LETTER_STATES = ("open", "replayed", "discarded", "all")
JOB = "00000000-0000-7000-8000-000000000001"

_HELD_BACK = "set pgsched.notify = off"
_ID_AT = """
create or replace function pg_temp.id_at(at timestamptz, n bigint) returns uuid language sql as $$
  select ('0' || overlay(to_hex((date_part('epoch', at) * 4096000)::bigint) placing '7' from 12 for 0)
          || to_hex(-9223372036854775808 | n))::uuid $$
"""
_DAY = "create table if not exists pgsched_internal.{} partition of pgsched.{} for values from ({}) to ({})"
_CLIENT = "case when n % 1000 = 7 and n % 10000 < 2000 then 'rare' when n % 2 = 0 then 'big' else 'c' || n % 50 end"
_LABELS = "case when n % 10 = 4 then jsonb_build_object('team', 't' || n % 7) end"
_ENDED = f"""
insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, status, partition, attempt, client_id,
                             target, key, status_code, reason, job_id, labels)
select at + interval '1 second', at, at, at, pg_temp.id_at(at, n),
       case when n % 100 = 0 then 'failed' when n % 1000 = 3 then 'cancelled'
            else 'succeeded' end::pgsched.execution_status,
       n % 16, 1, {_CLIENT}, 'https://shop.example/x', case when n % 4 < 2 then 'k' || n end, 200,
       case when n % 100 = 0 then '503' end, case when n % 1000 = 1 then '{JOB}'::uuid end,
       {_LABELS}
  from generate_series(%(first)s::bigint, %(last)s::bigint) n,
       lateral (select now() - interval '7 days' * (1 - n::float8 / %(all)s) as at) x
"""
_LIVE = f"""
insert into pgsched.executions (fire_at, created_at, id, partition, client_id, target, key, labels)
select now() + n * interval '10 ms', at, pg_temp.id_at(at, n),
       case when n % 4 < 2 then pgsched.partition_for('default', {_CLIENT}, 'l' || n, null) else n % 16 end, {_CLIENT},
       'https://shop.example/x', case when n % 4 < 2 then 'l' || n end, {_LABELS}
  from generate_series(%(first)s::bigint, %(last)s::bigint) n,
       lateral (select now() - interval '3 days' * (1 - n::float8 / %(all)s) as at) x
"""
_JOBS = f"""
insert into pgsched.jobs (client_id, key, target, every, state, labels, planned_revision)
select {_CLIENT}, 'j' || n, 'https://shop.example/x', '1 hour',
       case when n % 500 = 0 then 'paused' else 'active' end::pgsched.job_state,
       jsonb_build_object('team', 't' || n % 7), 1
  from generate_series(%(first)s::bigint, %(last)s::bigint) n
"""
_AUDIT = """
insert into pgsched.audit_log (actor, action, subject)
select 'ann', 'pause', pgsched_internal.new_id() from generate_series(%(first)s::bigint, %(last)s::bigint)
"""


_CLIENTS = """
insert into pgsched.clients (client_id)
select 'client-' || n from generate_series(%(first)s::bigint, %(last)s::bigint) n
"""
_GATES = """
insert into pgsched_internal.gates (name, concurrency, shut_until)
select kind || ':' || n || '.example' || case kind when 'circuit' then ' client-' || n % 10 else '' end,
       case kind when 'key' then 5 end, case kind when 'circuit' then now() + interval '1 hour' end
  from generate_series(%(first)s::bigint, %(last)s::bigint) n, unnest(array['circuit', 'key']) kind
"""
_BLOCKED = """
insert into pgsched.blocked_keys (client_id, ordering_key, partition, execution_id)
select 'client-' || n % 10, 'order-' || n, n % 16, pgsched_internal.new_id()
  from generate_series(%(first)s::bigint, %(last)s::bigint) n
"""
_BULK = """
insert into pgsched.bulk_operations (action, clients, filter, state, actor)
select 'backfill', array['big'], jsonb_build_object('job', gen_random_uuid()), 'finished', 'ann'
  from generate_series(%(first)s::bigint, %(last)s::bigint)
"""
# The newest minutes come first: a span up to now has the same rows however many there are before it.
_ROLLUPS = """
insert into pgsched.rollups (minute, client_id, queue, attempts, succeeded, lateness, duration)
select date_trunc('minute', now()) - n * interval '1 minute', client, 'default', 9, 9,
       array_fill(1, array[18]), array_fill(1, array[18])
  from generate_series(%(first)s::bigint, %(last)s::bigint) n, unnest(array['', 'big', 'c' || n % 50]) client
    on conflict do nothing
"""


def make_days(db: Db) -> None:
    """Create history partitions for the last days, as workers do in advance."""
    for back in range(DAYS + 1, -2, -1):
        found = db.execute("select (now() at time zone 'UTC')::date - %s::integer", [back]).fetchone()
        next_day = db.execute("select (now() at time zone 'UTC')::date - %s::integer + 1", [back]).fetchone()
        assert found is not None
        assert next_day is not None
        name = f"history_{found[0]:%Y%m%d}"
        bounds = (sql.Literal(f"{day[0]} 00:00+00") for day in (found, next_day))
        db.execute(sql.SQL(_DAY).format(sql.Identifier(name), sql.Identifier("history"), *bounds))


def act_as_client(db: Db) -> None:
    """Create a role `big` that sees the rows of the client `big`."""
    db.execute("do $$ begin if to_regrole('big') is null then create role big in role pgsched_client; end if; end $$")
    db.execute("insert into pgsched.clients (client_id, database_role) values ('big', 'big')")


_FILLED = (
    (_ENDED, 80),
    (_LIVE, 20),
    (_JOBS, 10),
    (_AUDIT, 10),
    (_CLIENTS, 5),
    (_GATES, 5),
    (_BLOCKED, 5),
    (_BULK, 5),
    (_ROLLUPS, 5),
)
_TABLES = (
    "pgsched.history, pgsched.executions, pgsched.jobs, pgsched.audit_log, pgsched.clients, pgsched_internal.gates,"
    " pgsched.blocked_keys, pgsched.bulk_operations, pgsched.rollups"
)


def fill(db: Db, *, behind: int, up_to: int, all_rows: int) -> None:
    """Insert rows ``behind + 1`` to ``up_to`` of ``all_rows``, and analyze the tables."""
    db.execute(_HELD_BACK)
    db.execute(_ID_AT)
    for query, hundredths in _FILLED:
        first, last, most = (count * hundredths // 100 for count in (behind, up_to, all_rows))
        db.execute(
            query.replace("%", "%%").replace("%%(", "%(").encode(), {"first": first + 1, "last": last, "all": most}
        )
    db.execute(f"vacuum analyze {_TABLES}".encode())


@contextmanager
def bounds(*, entries: int, visits: int) -> Iterator[None]:
    """Set other bounds of a page for the block."""
    before = page_reach.ENTRIES, page_reach.VISITS
    page_reach.ENTRIES, page_reach.VISITS = entries, visits
    try:
        yield
    finally:
        page_reach.ENTRIES, page_reach.VISITS = before
