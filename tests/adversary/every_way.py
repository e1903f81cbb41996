"""More work of the first client: in threads, with a connection, and by callbacks."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg

from tests.adversary.account import ELSEWHERE, Account, Promise

_EVERY = 0.1
_SCHEDULE = (
    "select id::text, extract(epoch from pgsched.now() + delay)::float8 from (values (interval '80 ms')) d(delay),"
    " lateral pgsched.schedule(%s, delay => d.delay, client => 'first') as id"
)


class EveryWay(threading.Thread):
    """Schedules an execution of each kind ten times a second, until `end`."""

    def __init__(self, url: str, account: Account) -> None:
        super().__init__(name="first client, in every way", daemon=True)
        self._url, self._account = url, account
        self._ended = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _receiver(account))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{self._server.server_port}/"
        self._targets = ["python:note_in_a_thread", "python:note_with_a_connection", here]

    def end(self) -> None:
        """Stops scheduling. Callbacks are received until ``close``."""
        self._ended.set()
        self.join(timeout=10)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def run(self) -> None:
        with psycopg.connect(self._url, autocommit=True, options="-c statement_timeout=5s") as connection:
            while not self._ended.wait(_EVERY):
                for target in self._targets:
                    self._schedule(connection, target)

    def _schedule(self, connection: psycopg.Connection, target: str) -> None:
        started = time.time()
        try:
            [(id, due)] = connection.execute(_SCHEDULE, [target]).fetchall()
        except psycopg.Error as error:
            self._account.refused(started, f"{type(error).__name__}: {error}")
            return
        now = time.time()
        self._account.promised(id, Promise(due, now, now - started))


def _receiver(account: Account) -> type[BaseHTTPRequestHandler]:
    """Returns a request handler that answers each callback and records it in the ledger."""

    class Receiver(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            with account.ledger.path.open("ab", buffering=0) as ledger:
                ledger.write(f"note {self.headers['idempotency-key']} 0.0 {time.time()!r} {ELSEWHERE}\n".encode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            """Logs nothing."""

    return Receiver
