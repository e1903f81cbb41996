"""Data for screenshots of the dashboard: a day of rollups, and executions that keep running."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tests.conftest import Connection
from tests.store.store_arrange import call

_DAY = """
insert into pgsched.rollups (minute, client_id, queue, attempts, failed_attempts, succeeded, failed, lateness, duration)
select minute, client, queue, many, many / 90, many - many / 150, many / 150,
       array[many * 5 / 10, many * 3 / 10, many / 10, many / 20, many / 30] || array_fill(many / 200, array[3]) || array_fill(0, array[10]),
       array[0, 0, many / 10, many * 4 / 10, many * 3 / 10, many / 10, many / 20] || array_fill(many / 300, array[3]) || array_fill(0, array[8])
  from (values ('', 'default', 1.0), ('', 'emails', 0.4), ('', 'reports', 0.1), ('shop', 'default', 0.6), ('bank', 'default', 0.3),
               ('travel', 'default', 0.1), ('shop', 'emails', 0.4), ('bank', 'reports', 0.1)) of_all(client, queue, share),
       generate_series(1, 1440) ago, lateral (select date_trunc('minute', now()) - ago * interval '1 minute' as minute) m,
       lateral (select (share * (900 + 500 * sin(ago / 90.0) + 120 * sin(ago / 7.0) + 40 * sin(ago * 1.7)))::integer as many) c
    on conflict do nothing
"""  # noqa: E501
_SECOND = """
select pgsched.schedule('notify:shop', client => 'shop', queue => 'default', delay => '500 ms') from generate_series(1, 12);
select pgsched.schedule('notify:mail', client => 'shop', queue => 'emails') from generate_series(1, 5);
select pgsched.schedule('notify:pay', client => 'bank', queue => 'default') from generate_series(1, 6);
select pgsched.schedule('http://127.0.0.1:9/refund', client => 'bank', options => '{"max_attempts": 1}');
select pgsched.schedule('notify:trip', client => 'travel', queue => 'default') from generate_series(1, 4);
select pgsched.schedule('notify:report', client => 'bank', queue => 'reports', delay => '20 minutes') from generate_series(1, 3);
"""  # noqa: E501


@contextmanager
def living(db: Connection, url: str) -> Iterator[None]:
    """Keeps delivering executions of several clients: some fail, a limit holds some, one queue is paused."""
    db.execute(_DAY)
    call(db, "create_queue", name="reports")
    call(db, "create_queue", name="exports")
    call(db, "pause", kind="queue", name="exports", note="the disk is being replaced")
    call(db, "set_limit", kind="client", name="travel", rate=2)
    db.execute(
        "select pgsched.schedule('notify:export', client => 'bank', queue => 'exports') from generate_series(1, 40)"
    )
    with delivered(url, queues="default,emails,reports,exports", every=0.5, statement=_SECOND):
        yield


@contextmanager
def delivered(url: str, *, queues: str, every: float, statement: str) -> Iterator[None]:
    """Runs a worker, and this scheduling statement once per interval (in seconds)."""
    over = threading.Event()

    def feed() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            while not over.wait(every):
                connection.execute(statement.encode())

    worker = subprocess.Popen(
        [sys.executable, "-m", "pgsched.cli.main", "worker", "--queues", queues],
        env=os.environ | {"PGSCHED_DATABASE_URL": url},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    feeding = threading.Thread(target=feed)
    feeding.start()
    try:
        yield
    finally:
        over.set()
        feeding.join()
        worker.terminate()
        worker.wait(30)
