"""Work of the first client that uses limited resources: a callback, a function in a thread, one with a connection,
one in the database, a notification, and a large payload, repeated and recorded in the same account."""

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psycopg

from tests.adversary.account import Ledger, Promise
from tests.adversary.house import House

_PAUSE = 0.2
_HEARD = "first_heard"
_FUNCTION = f"""
create or replace function public.first_works(payload jsonb) returns void language plpgsql as $$ begin
  perform pg_notify('{_HEARD}', current_setting('pgsched.execution_id')); end $$;
grant execute on function public.first_works to public"""
_SCHEDULE = (
    "select id::text, extract(epoch from pgsched.now() + delay)::float8 from (values (interval '80 ms')) d(delay),"
    " lateral pgsched.schedule(%s, %s::jsonb, delay => d.delay, client => 'first') as id"
)


class Receiver:
    """A host of the first client that others can call, too. Calls of ``/hang`` get no answer."""

    def __init__(self, ledger: Ledger) -> None:
        ended = self._ended = threading.Event()

        class Answer(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.path == "/hang":
                    ended.wait(30)
                    self.close_connection = True
                    return
                arrived(ledger, self.headers["idempotency-key"])
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Logs nothing."""

        ThreadingHTTPServer.request_queue_size = 256
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self._server.daemon_threads, self._server.block_on_close = True, False
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()


def arrived(ledger: Ledger, id: str) -> None:
    """Records that an execution of the first client was delivered."""
    with ledger.path.open("a") as file:
        file.write(f"note {id} 0.0 {time.time()!r} {os.getpid()}\n")


class Ways:
    """Schedules in one thread and receives notifications in another."""

    def __init__(self, house: House) -> None:
        self._account, self._ended = house.account, threading.Event()
        self.receiver = Receiver(house.account.ledger)
        self._names: dict[int, str] = {}
        self._number = 0
        house.owner.execute(_FUNCTION.encode())
        self._listening = psycopg.connect(house.first, autocommit=True, application_name="the first client")
        self._listening.execute(f"listen {_HEARD}".encode())
        self._scheduling = psycopg.connect(
            house.first, autocommit=True, options="-c statement_timeout=5s", application_name="the first client"
        )
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._schedule, self._hear)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(10)
        self._scheduling.close()
        self._listening.close()
        self.receiver.close()

    def _schedule(self) -> None:
        while not self._ended.wait(_PAUSE):
            for target, size in (
                ("python:note_in_a_thread", 0),
                ("python:note_with_a_connection", 0),
                ("sql:public.first_works", 0),
                (f"notify:{_HEARD}", 0),
                (f"{self.receiver.url}/", 0),
                ("python:note", 100_000),
            ):
                self._number += 1
                self._one(target, {"n": self._number, "text": "x" * size})

    def _one(self, target: str, payload: dict[str, Any]) -> None:
        started = time.time()
        try:
            [(id, due)] = self._scheduling.execute(_SCHEDULE.encode(), [target, json.dumps(payload)]).fetchall()
        except psycopg.Error as error:
            self._account.refused(started, f"{type(error).__name__}: {error}")
            return
        now = time.time()
        self._names[payload["n"]] = id
        self._account.promised(id, Promise(due, now, now - started))

    def _hear(self) -> None:
        """Records notifications: a SQL function sends its execution id, a notify: target the payload."""
        with suppress(psycopg.Error):
            while not self._ended.is_set():
                for heard in self._listening.notifies(timeout=0.2):
                    said = heard.payload
                    arrived(self._account.ledger, self._names[json.loads(said)["n"]] if said[0] == "{" else said)


@contextmanager
def all_ways(house: House) -> Iterator[Ways]:
    """Lets the first client do all of this in addition."""
    ways = Ways(house)
    try:
        yield ways
    finally:
        ways.end()
