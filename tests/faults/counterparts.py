"""The peers of an installation: a receiver of callbacks that completes some of them later, and a consumer."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psycopg

from pgsched.errors import NotFound, StaleLease
from tests.adversary.account import ELSEWHERE, Ledger

# The lease is longer than any fault keeps a consumer from completing its messages; then other consumers get them.
_CLAIM = "select id::text, token from pgsched.claim('pulled', 'consumer', 50, '1 min')"
_COMPLETE = "select pgsched.complete(%s::uuid, %s::bigint)"
_PAUSE = 0.05


def note(ledger: Ledger, id: str) -> None:
    """Records an arrival in the ledger as a handler does."""
    with ledger.path.open("ab", buffering=0) as file:
        file.write(f"note {id} 0.0 {time.time()!r} {ELSEWHERE}\n".encode())


class Completer(threading.Thread):
    """Completes its messages, retrying until the database reports that each is completed, held by another consumer, or
    unknown."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url, self._tickets, self._ended = url, list[tuple[str, int]](), threading.Event()
        self._connection: psycopg.Connection | None = None

    def take(self, id: str, token: int) -> None:
        self._tickets.append((id, token))

    def move(self, url: str) -> None:
        self._url = url

    def end(self) -> None:
        self._ended.set()
        self.join(10)

    def run(self) -> None:
        while not self._ended.wait(_PAUSE):
            with suppress(psycopg.Error):
                self.turn()
        if self._connection is not None:
            self._connection.close()

    def turn(self) -> None:
        """Does one round of work. Raises psycopg.Error if the database is unavailable."""
        for ticket in list(self._tickets):
            try:
                self.execute(_COMPLETE, list(ticket))
            except psycopg.DatabaseError as error:
                if error.sqlstate not in (StaleLease.sqlstate, NotFound.sqlstate):
                    raise
            self._tickets.remove(ticket)

    def execute(self, statement: str, parameters: list[Any]) -> list[Any]:
        if self._connection is None or self._connection.closed:
            given: Any = {"options": "-c statement_timeout=5s", "connect_timeout": 3}
            self._connection = psycopg.connect(self._url, autocommit=True, **given)
        try:
            return self._connection.execute(statement.encode(), parameters).fetchall()
        except psycopg.OperationalError:
            self._connection.close()
            raise


class Consumer(Completer):
    """Pulls from the queue ``pulled``, records each message and completes it."""

    def __init__(self, url: str, ledger: Ledger) -> None:
        super().__init__(url)
        self._ledger = ledger

    def turn(self) -> None:
        super().turn()
        for id, token in self.execute(_CLAIM, []):
            note(self._ledger, id)
            self.take(id, token)


class Receiver:
    """A host that receives calls. ``behave`` replaces its answer; calls to ``later`` are completed afterwards."""

    def __init__(self, url: str, ledger: Ledger) -> None:
        self.behave: Callable[[socket.socket], None] | None = None
        self._completer = Completer(url)
        self._completer.start()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._answering(ledger))
        self._server.daemon_threads, self._server.block_on_close = True, False
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    def move(self, url: str) -> None:
        self._completer.move(url)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._completer.end()

    def _answering(receiver, ledger: Ledger) -> type[BaseHTTPRequestHandler]:
        class Answer(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                if receiver.behave is not None:
                    self.close_connection = True
                    with suppress(OSError):
                        receiver.behave(self.connection)
                    return
                note(ledger, self.headers["idempotency-key"])
                if token := self.headers.get("pgsched-completion-token"):
                    receiver._completer.take(self.headers["idempotency-key"], int(token))
                self.send_response(202 if token else 200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Logs nothing."""

        return Answer
