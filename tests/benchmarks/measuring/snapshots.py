"""Sessions that hold a snapshot open and so keep PostgreSQL from cleaning up after claims."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg

_SNAPSHOT = "select pg_current_snapshot()"


@contextmanager
def snapshots_held(url: str, *, readers: int, hold: float) -> Iterator[None]:
    """Holds one snapshot throughout; each reader takes a new one every ``hold`` seconds.

    The readers start evenly spread over ``hold``, so that one is always about to release its snapshot. None of them
    reads a table.
    """
    stop = threading.Event()
    with ExitStack() as stack:
        pin = stack.enter_context(_session(url))
        pin.execute(_SNAPSHOT)
        stack.callback(pin.rollback)
        started = [
            threading.Thread(target=_roll, args=(url, hold * number / readers, hold, stop)) for number in range(readers)
        ]
        for thread in started:
            thread.start()
            stack.callback(thread.join)
        stack.callback(stop.set)
        yield


def _roll(url: str, delay: float, hold: float, stop: threading.Event) -> None:
    with _session(url) as connection:
        stop.wait(delay)
        while not stop.is_set():
            connection.execute(_SNAPSHOT)
            stop.wait(hold)
            connection.rollback()


def _session(url: str) -> psycopg.Connection[Any]:
    connection = psycopg.connect(url, application_name="pgsched bench snapshot")
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.execute("set idle_in_transaction_session_timeout = 0")
    connection.commit()
    return connection
