"""Faults of PostgreSQL: its processes, sessions, locks and transactions."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from random import Random

import psycopg

from pgsched.embedded import EmbeddedPostgres
from tests.adversary.house import as_login
from tests.faults.fault import OLD_TRANSACTIONS, fault
from tests.faults.site import Connection, Site, descendants, signalled
from tests.replication.pair import until

_OURS = "application_name like 'pgsched%%' and pid <> pg_backend_pid()"
HOT = (
    "pgsched.executions", "pgsched.history", "pgsched.attempts", "pgsched.workers", "pgsched.jobs", "pgsched.clients",
    "pgsched_internal.gates", "pgsched_internal.locks", "pgsched_internal.orderings",
)  # fmt: skip


def _restarted(site: Site, number: signal.Signals) -> None:
    server = site.server
    assert isinstance(server, EmbeddedPostgres)
    os.kill(server.pid, number)
    while server.exit_status is None:
        time.sleep(0.01)
    server.restart()


@fault(seconds=0, within=3)
def postgresql_stopped_fast(site: Site) -> Iterator[None]:
    _restarted(site, signal.SIGINT)
    yield


@fault(seconds=0, within=3)
def postgresql_stopped_immediately(site: Site) -> Iterator[None]:
    _restarted(site, signal.SIGQUIT)
    yield


@fault(seconds=0, within=3)
def postgresql_killed(site: Site) -> Iterator[None]:
    _restarted(site, signal.SIGKILL)
    yield


@fault(seconds=0, within=3)
def backend_killed(site: Site) -> Iterator[None]:
    """The server ends all sessions and recovers, since a backend may have corrupted shared memory."""
    with site.owner() as db:
        [(pid,)] = db.execute(f"select pid from pg_stat_activity where {_OURS} limit 1".encode(), []).fetchall()
    os.kill(pid, signal.SIGKILL)
    site.owner_patiently().close()
    yield


@fault(seconds=0, within=1)
def sessions_terminated(site: Site) -> Iterator[None]:
    with site.owner() as db:
        db.execute(f"select pg_terminate_backend(pid) from pg_stat_activity where {_OURS}".encode(), [])
    yield


@fault(seconds=20)
def postgresql_frozen(site: Site) -> Iterator[None]:
    with signalled([site.server.pid, *descendants(site.server.pid)], signal.SIGSTOP, signal.SIGCONT):
        yield


@fault()
def connections_exhausted(site: Site) -> Iterator[None]:
    """Terminates all our sessions; others then take all connections."""
    with ExitStack() as stack:
        with site.owner() as db:
            db.execute(f"select pg_terminate_backend(pid) from pg_stat_activity where {_OURS}".encode(), [])
        with suppress(psycopg.OperationalError):
            while True:
                stack.enter_context(psycopg.connect(as_login(site.url, "faults_first"), connect_timeout=5))
        yield


@contextmanager
def _transaction(site: Site, *statements: str) -> Iterator[None]:
    """Opens a transaction that executes these statements and stays open."""
    with psycopg.connect(site.url, application_name="the faults") as db:
        for statement in statements:
            db.execute(statement.encode())
        yield
        db.rollback()


@fault(seconds=18)
def each_hot_table_locked(site: Site) -> Iterator[None]:
    """Locks one table after another, each for two seconds, while the fault lasts."""
    ended = threading.Event()

    def lock() -> None:
        for table in HOT:
            if not ended.is_set():
                with suppress(psycopg.Error), _transaction(site, f"lock table {table} in access exclusive mode"):
                    ended.wait(2)

    with _beside(lock, ended):
        yield


@contextmanager
def _beside(work: Callable[[], None], ended: threading.Event) -> Iterator[None]:
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@fault(seconds=10)
def tables_rewritten(site: Site) -> Iterator[None]:
    """VACUUM FULL and CREATE INDEX, as run by hand."""
    ended = threading.Event()

    def rewrite() -> None:
        with site.owner() as db:
            while not ended.is_set():
                for table in HOT[:4]:
                    with suppress(psycopg.errors.DeadlockDetected):
                        db.execute(f"vacuum full {table}".encode())
                db.execute("create index of_the_faults on pgsched.executions (created_at)")
                db.execute("drop index pgsched.of_the_faults")
                ended.wait(1)

    with _beside(rewrite, ended):
        yield


@fault(seconds=20)
def old_snapshot(site: Site) -> Iterator[None]:
    with _transaction(site, "set transaction isolation level repeatable read", "select 1 from pgsched.executions"):
        yield


_LATE = """
insert into pgsched.executions (client_id, target, fire_at)
values ('limited', 'python:mallory', now() + interval '80 ms')"""


@fault(seconds=30)
def writer_commits_late(site: Site) -> Iterator[None]:
    """By the time it commits, the execution that it scheduled is long overdue."""
    with psycopg.connect(site.url, application_name="the faults") as db:
        [(id,)] = db.execute((_LATE + " returning id").encode()).fetchall()
        yield
        db.commit()
    deadline = time.monotonic() + 20
    with site.owner() as db:
        while not db.execute("select from pgsched.history where id = %s", [id]).rowcount:
            assert time.monotonic() < deadline, "the execution committed late has not run"
            time.sleep(0.05)


@fault(seconds=8)
def many_due_at_once(site: Site) -> Iterator[None]:
    with site.owner() as db:
        db.execute("insert into pgsched.clients (client_id) values ('crowd') on conflict do nothing")
        db.execute(
            "insert into pgsched.executions (client_id, target, fire_at) select 'crowd', 'python:mallory',"
            " now() + interval '2 seconds' from generate_series(1, 200000)"
        )
    yield
    _until_none_waits(site, "crowd")


def _until_none_waits(site: Site, client: str) -> None:
    deadline = time.monotonic() + 240
    with site.owner() as db:
        while db.execute("select from pgsched.executions where client_id = %s limit 1", [client]).rowcount:
            assert time.monotonic() < deadline, f"executions of {client} are left"
            time.sleep(0.2)


@fault()
def deadlocks(site: Site) -> Iterator[None]:
    """Other sessions lock due rows in a different order, hold them for half a second, and lock more."""
    ended = threading.Event()

    def lock() -> None:
        random = Random(1)
        while not ended.is_set():
            with suppress(psycopg.Error), psycopg.connect(site.url, application_name="the faults") as db:
                db.execute("set deadlock_timeout = '100ms'")
                for _ in range(4):
                    order = random.choice(["asc", "desc"])
                    query = f"select from pgsched.executions order by fire_at {order} limit 20 for update"
                    db.execute(query.encode())
                    ended.wait(0.1)
                db.rollback()

    with _beside(lock, ended), _beside(lock, ended):
        yield


@fault(seconds=10)
def notification_queue_full(site: Site) -> Iterator[None]:
    """A listening session stays in a transaction, so that the queue cannot be emptied; then the queue is filled."""
    with psycopg.connect(site.url, autocommit=True, application_name="the faults") as listening, site.owner() as db:
        listening.execute("listen faults")
        listening.execute("begin")
        listening.execute("select 1")
        with suppress(psycopg.OperationalError):
            while True:
                db.execute("select pg_notify('faults', repeat('x', 7900) || n) from generate_series(1, 1000) n")
        yield
        listening.execute("rollback")


_BURN = "do $$ begin for n in 1..120000 loop perform pg_current_xact_id(); commit; end loop; end $$"
_AGE = """
select max(age(relfrozenxid)) from pg_class
 where relkind = 'r' and relnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace)"""


@fault(seconds=15, needs=OLD_TRANSACTIONS)
def wraparound_near(site: Site) -> Iterator[None]:
    """Tables are older than ``autovacuum_freeze_max_age``, so their vacuum does not yield to other sessions."""
    with site.owner() as db:
        db.execute(_BURN)
        assert _age(db) > 100_000
        yield
        until(lambda: _age(db) < 100_000)


def _age(db: Connection) -> int:
    [(age,)] = db.execute(_AGE).fetchall()
    return int(age)
