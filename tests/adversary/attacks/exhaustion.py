"""Limited resources of a server that any login can use up: the lock table, connections, prepared transactions."""

from contextlib import suppress
from functools import partial

import psycopg

from pgsched.api.connection_pool import WAIT as _REQUESTS_WAIT
from pgsched.store.core.lock_capacity import public_revokes
from tests.adversary.attack import Means, attack
from tests.adversary.attacks.locks import dead_letters, jobs, running
from tests.adversary.attacks.rows import with_pulled_queue
from tests.adversary.house import Connection

_READ = "select id, status from pgsched.status where client_id = 'mallory' and key = 'nothing has it'"
_MOST_READERS = 80
_AGAIN = "select pgsched.schedule('python:mallory', client => 'mallory', key => %s, delay => '1 hour')"
_CUT = (
    "select pg_terminate_backend(pid) from pg_stat_activity"
    " where application_name like 'pgsched%' or application_name = 'the first client'"
)


def _take_locks(session: Connection) -> None:
    """Takes session locks until the lock table is full. The final error does not release them."""
    with suppress(psycopg.errors.OutOfMemory, psycopg.errors.QueryCanceled):
        session.execute("do 'begin loop perform pg_advisory_lock(nextval(''pg_temp.taken'')); end loop; end'")


@attack(seconds=7.0, recovers_within=5.0)
def the_lock_table_is_full(means: Means) -> None:
    """Released places are taken at once, so that no writing transaction finds room for its locks."""
    session = means.nobody()
    session.autocommit = True
    session.execute("create temp sequence taken cache 1000")
    _take_locks(session)

    def again() -> None:
        _take_locks(session)
        means.wait(0.02)

    means.keep(again)


_DROPPED = """
do $$ begin
  for _ in 1 .. 3000 loop
    begin
      perform lo_unlink(lo_create(0));
    exception when out_of_memory then
      exit;
    end;
  end loop;
end $$"""


@attack(seconds=3.0, recovers_within=5.0)
def the_lock_table_is_full_of_large_objects(means: Means) -> None:
    """Each dropped large object stays locked until the transaction ends."""
    session = means.nobody()
    while _is_room(session) and means.attempt(session, _DROPPED) is not None:
        pass

    def again() -> None:
        _is_room(session)
        means.wait(0.02)

    means.keep(again)


def _is_room(session: Connection) -> bool:
    """Takes one more place in the lock table, and returns whether there was room."""
    try:
        session.execute("savepoint here; select lo_unlink(lo_create(0)); release here")
    except psycopg.errors.OutOfMemory:
        session.execute("rollback to here")
        return False
    return True


_TAKING = (
    "select pg_advisory_lock(n) from generate_series(1, 100000) n",
    "select pg_try_advisory_lock_shared(n) from generate_series(1, 100000) n",
    "select pg_try_advisory_xact_lock(1, n) from generate_series(1, 100000) n",
    "do 'begin loop perform pg_advisory_lock((random() * 1e9)::int); end loop; exception when others then null; end'",
    _DROPPED,
    "create temp table taken ()",
    "create temp sequence taken cache 1000",
    "select pg_partition_tree('pgsched.executions'::regclass)",
    "select pg_logical_emit_message(false, 'x', repeat('x', 1000000))",
    "select pg_export_snapshot()",
)
_FREE_AGAIN = """
do $$ declare takes regprocedure; begin
  for takes in select p.oid from pg_proc p where p.pronamespace = 'pg_catalog'::regnamespace
      and p.proname ~ '^(pg_(try_)?advisory_(xact_)?lock(_shared)?|lo_create|lo_creat|lo_from_bytea'
        '|pg_logical_emit_message|pg_export_snapshot|pg_partition_tree|table_to_xml(_and_xml)?schema)$' loop
    execute format('grant execute on function %s to public', takes);
  end loop;
  execute format('grant temporary on database %I to public', current_database());
end $$;
grant connect on database postgres, template1 to public"""


@attack(seconds=2.0)
def the_lock_table_cannot_be_filled_after_the_revokes(means: Means) -> None:
    """After the documented revokes, as in pgsched's own database, every statement is refused."""
    means.at_end(partial(means.house.owner.execute, _FREE_AGAIN))
    means.house.owner.execute(public_revokes().encode())
    for session in (means.nobody(), means.mallory()):
        for taking in _TAKING:
            means.attempt(session, taking)
    kept = (
        "select count(*) from pg_locks l join pg_stat_activity a using (pid) where a.application_name = 'the adversary'"
    )
    [(taken,)] = means.house.owner.execute(kept).fetchall()
    assert taken < 100, means.refusals


@attack(seconds=3.0, recovers_within=5.0)
def the_lock_table_is_full_of_readers(means: Means) -> None:
    """Each reader queries the view and stays in its transaction, which locks all tables of the view."""
    with_pulled_queue(means, "pulled", "pulled-2", "pulled-3", "pulled-4")
    readers: list[Connection] = []
    while not readers or _has_read(readers[-1]):
        assert len(readers) < _MOST_READERS, "the lock table had room for all readers"
        readers.append(means.mallory())

    def again() -> None:
        _has_read(readers[-1])
        means.wait(0.05)

    means.keep(again)


def _has_read(session: Connection) -> bool:
    """Reads the view and returns whether there was room for its locks. A timeout on a busy machine counts as room."""
    try:
        session.execute(_READ)
    except psycopg.errors.OutOfMemory:
        session.rollback()
        return False
    except psycopg.errors.QueryCanceled:
        session.rollback()
    return True


def _take_connections(means: Means) -> None:
    """Takes all connections that are not reserved for superusers, and those that others release."""

    def take() -> None:
        with suppress(psycopg.OperationalError):
            while True:
                means.nobody()

    take()

    def again() -> None:
        take()
        means.wait(0.02)

    means.keep(again)


@attack(seconds=3.0)
def all_connections_are_taken(means: Means) -> None:
    """Existing connections keep working."""
    _take_connections(means)


@attack(seconds=3.0, recovers_within=5.0 + 3 * _REQUESTS_WAIT)
def all_connections_are_taken_and_everybody_is_cut_off(means: Means) -> None:
    """The attacker takes the connections of workers, API and first client before they can reconnect. A request of the
    first client then waits for a connection as long as the API allows."""
    _take_connections(means)

    def cut() -> None:
        means.house.owner.execute(_CUT)
        means.wait(0.2)

    means.keep(cut)


@attack(seconds=2.0)
def prepared_transactions_are_left_open(means: Means) -> None:
    """Prepared transactions keep their locks without a session, even over a restart. Those that notify are refused."""
    ids = [means.schedule(delay="0.8 seconds", key=f"waits {number}") for number in range(4)]
    running(means, 4)
    verbs: list[tuple[str, list[object]]] = [("select pgsched.cancel(%s::uuid)", [id]) for id in ids]
    verbs += [("select pgsched.pause('job', %s::text)", [id]) for id in jobs(means, 4)]
    verbs += [("select pgsched.edit(%s, '{\"payload\": 1}')", [id]) for id in jobs(means, 4)]
    verbs += [("select pgsched.replay(%s)", [id]) for id in dead_letters(means, 4, ordering_key="turn {0}")]
    verbs += [(_AGAIN, [f"key {number}"]) for number in range(4)]
    verbs += [("select pgsched.bulk('cancel_jobs', '{\"client\": \"mallory\"}')", [])]
    means.at_end(partial(_roll_back_prepared, means))
    for number, (verb, given) in enumerate(verbs):
        session = means.mallory()
        means.attempt(session, verb, given)
        means.attempt(session, f"prepare transaction 'mallory {number}'")
        session.close()
    [(left,)] = means.house.owner.execute("select count(*) from pg_prepared_xacts").fetchall()
    assert left > 1, means.refusals


def _roll_back_prepared(means: Means) -> None:
    for (name,) in means.house.owner.execute("select gid from pg_prepared_xacts").fetchall():
        means.house.owner.execute(f"rollback prepared '{name}'".encode())
