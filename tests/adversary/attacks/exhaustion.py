"""What a server has only so much of, and any login may take all of: room for locks, connections, transactions that are
prepared and left."""

from contextlib import suppress
from functools import partial

import psycopg

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
    """Until there is room for no more. They are the session's: the error does not take them away again."""
    with suppress(psycopg.errors.OutOfMemory, psycopg.errors.QueryCanceled):
        session.execute("do 'begin loop perform pg_advisory_lock(nextval(''pg_temp.taken'')); end loop; end'")


@attack(seconds=7.0, recovers_within=5.0)
def the_lock_table_is_full(means: Means) -> None:
    """What others give back is taken at once, so that no transaction that writes has room for its lock."""
    session = means.nobody()
    session.autocommit = True
    session.execute("create temp sequence taken cache 1000")
    _take_locks(session)

    def again() -> None:
        _take_locks(session)
        means.wait(0.02)

    means.keep(again)


@attack(seconds=3.0, recovers_within=5.0)
def the_lock_table_is_full_of_readers(means: Means) -> None:
    """Each asks the view once and stays in its transaction, which holds the locks of all tables that the view names."""
    with_pulled_queue(means, "pulled", "pulled-2", "pulled-3", "pulled-4")
    readers: list[Connection] = []
    while not readers or _has_read(readers[-1]):
        assert len(readers) < _MOST_READERS, "there was room for all of them"
        readers.append(means.mallory())

    def again() -> None:
        _has_read(readers[-1])
        means.wait(0.05)

    means.keep(again)


def _has_read(session: Connection) -> bool:
    try:
        session.execute(_READ)
    except psycopg.errors.OutOfMemory:
        session.rollback()
        return False
    return True


def _take_connections(means: Means) -> None:
    """Until there are no more for anybody who is no superuser; and those that others give back."""

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
    """Whoever has one goes on."""
    _take_connections(means)


@attack(seconds=3.0, recovers_within=5.0)
def all_connections_are_taken_and_everybody_is_cut_off(means: Means) -> None:
    """What workers, API and the first client had is the attacker's before they have reconnected."""
    _take_connections(means)

    def cut() -> None:
        means.house.owner.execute(_CUT)
        means.wait(0.2)

    means.keep(cut)


@attack(seconds=2.0)
def transactions_are_prepared_and_left(means: Means) -> None:
    """They keep their locks without a session, also when the server is restarted. What notifies cannot be prepared."""
    ids = [means.schedule(delay="0.8 seconds", key=f"waits {number}") for number in range(4)]
    running(means, 4)
    verbs: list[tuple[str, list[object]]] = [("select pgsched.cancel(%s::uuid)", [id]) for id in ids]
    verbs += [("select pgsched.pause(%s::uuid)", [id]) for id in jobs(means, 4)]
    verbs += [("select pgsched.edit(%s, '{\"payload\": 1}')", [id]) for id in jobs(means, 4)]
    verbs += [("select pgsched.replay(%s)", [id]) for id in dead_letters(means, 4, ordering_key="turn {0}")]
    verbs += [(_AGAIN, [f"key {number}"]) for number in range(4)]
    verbs += [("select pgsched.cancel_all(client => 'mallory')", [])]
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
