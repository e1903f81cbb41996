"""Targets with hostile, hanging or endless answers, and handlers of mallory in the first client's workers."""

import socket
import threading

from tests.adversary.attack import Means, attack

_OK = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
_ANSWERS = (
    b"", b"\x00" * 1000, b"HTTP/1.1 200 OK\r\n", b"HTTP/9.9 999 \xff\r\n\r\n",
    b"HTTP/1.1 " + b"2" * 5000 + b" x\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\nx", b"HTTP/1.1 200 OK\r\ncontent-length:"
                                                                         b" -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 50_000 + b"\r\n", b"HTTP/1.1 200 OK\r\nx: " + b"y" * 1_000_000 + b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffff\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\nno",
    b"HTTP/1.1 301 x\r\nlocation: /again\r\ncontent-length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n[1e131000]",
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n\"\\u0000\\ud800\"",
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 40000\r\n\r\n" + b"[" * 40_000,
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 81001\r\n\r\n["
    + b"1e131000," * 8999 + b"1e131000]",
    b"HTTP/1.1 500 \x1b[2J\x00\r\ncontent-length: 3\r\n\r\n\x1b[2", b"HTTP/1.1 200 OK\r\n\r\n" + b"z" * 3_000_000,
    *(b"HTTP/1.1 503 x\r\nretry-after: " + after + b"\r\ncontent-length: 0\r\n\r\n" for after in (
        b"99999999999999999999999", b"-1", b"nan", b"inf", b"1e308", b"Fri, 31 Dec 9999 23:59:59 GMT", b"\xb2",
        b"9" * 5000,
        b"Mon, 01 Jan 0001 00:00:00 GMT", b"Fri, 31 Dec 99999 23:59:59 GMT", b"Fri, 31 Dec 9999 23:59:59 -9999")),
)  # fmt: skip


class Target:
    """A server that answers each connection with these bytes, hangs, or streams forever."""

    def __init__(self, means: Means, answer: bytes, *, then: str = "close") -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._answer, self._then = answer, then
        self._open: list[socket.socket] = []
        self._closing = False
        means.at_end(self._close)
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/"

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                if self._closing:  # closing the listener does not end a thread in accept
                    connection.close()
                    return
                if self._then == "stream":
                    threading.Thread(target=self._stream, args=[connection], daemon=True).start()
                elif self._then != "hang":
                    connection.settimeout(2)
                    connection.recv(65536)
                    connection.sendall(self._answer)
                    connection.close()
            except OSError:
                if self._listener.fileno() < 0:
                    return

    def _stream(self, connection: socket.socket) -> None:
        try:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                connection.sendall(b"x" * 16384)
        except OSError:
            return

    def _close(self) -> None:
        self._closing = True
        self._listener.close()
        for connection in self._open:
            connection.close()


def call(means: Means, target: str, times: int, options: str = '{"max_attempts": 2}') -> None:
    """Schedules this many executions of mallory, due now."""
    means.commit("insert into pgsched.executions (client_id, target, fire_at, options) select 'mallory', %s, now(),"
                 " %s::jsonb"
                 " from generate_series(1, %s)", [target, options, times])  # fmt: skip


@attack(seconds=2.0)
def a_target_with_hostile_answers(means: Means) -> None:
    for answer in _ANSWERS:
        url = Target(means, answer).url
        call(means, url, 2)
        call(means, url, 1, '{"max_attempts": 1, "deferred": "1m"}')


@attack(seconds=2.0)
def a_target_that_streams(means: Means) -> None:
    call(means, Target(means, b"", then="stream").url, 20, '{"timeout": "2s", "max_attempts": 1}')


@attack(seconds=2.0)
def thousands_of_refused_connections(means: Means) -> None:
    call(means, "http://127.0.0.1:9/", 1000)


@attack(seconds=2.0)
def thousands_of_handler_exceptions(means: Means) -> None:
    call(means, "python:mallory_fails", 1000)


@attack(seconds=3.0, recovers_within=6.0)
def endless_exceptions(means: Means) -> None:
    """Creating a text of 300 MB blocks the interpreter for a moment, so it happens only once."""
    for name in ("raises", "raises_in_a_thread"):
        for payload in ('"circle"', '"chain"', '"circle"', '"chain"', '"text"'):
            means.schedule(target=f"python:mallory_{name}", payload=payload, options='{"max_attempts": 1}')


@attack(seconds=3.0, recovers_within=3.0)
def handlers_that_fork(means: Means) -> None:
    for name in ("forks", "forks_in_a_thread"):
        for payload in ('"return"', '"await"'):
            means.schedule(target=f"python:mallory_{name}", payload=payload, options='{"max_attempts": 1}')


@attack(seconds=2.0)
def handlers_that_exit_in_every_way(means: Means) -> None:
    for name in ("leaves", "cancels", "answers"):
        call(means, f"python:mallory_{name}", 30)
    means.schedule(target="python:mallory_answers", payload="1")


@attack(seconds=2.0)
def a_handler_that_cannot_be_cancelled(means: Means) -> None:
    call(means, "python:mallory_insists", 100, '{"timeout": "1s", "max_attempts": 1}')


@attack(seconds=3.0)
def two_hundred_handlers_that_occupy_a_thread(means: Means) -> None:
    call(means, "python:mallory_sleeps", 200, '{"timeout": "5s", "max_attempts": 1}')


@attack(seconds=9.0, recovers_within=3.0)
def a_handler_that_blocks_the_loop(means: Means) -> None:
    """Executions in flight in its process are a second late. Those that start elsewhere meanwhile must not start here
    afterwards."""
    means.schedule(target="python:mallory_blocks", payload='{"seconds": 7}', options='{"max_attempts": 1}')


@attack(seconds=9.0, recovers_within=3.0)
def handlers_that_block_the_loop_and_are_retried(means: Means) -> None:
    means.schedule(target="python:mallory_blocks", payload='{"seconds": 3}')


@attack(seconds=9.0, recovers_within=12.0)
def a_handler_that_blocks_the_loop_beyond_its_timeout(means: Means) -> None:
    """Its worker is lost, and the handler is retried."""
    means.schedule(
        target="python:mallory_blocks",
        payload='{"seconds": 8, "is_lost": true}',
        options='{"timeout": "2s", "max_attempts": 2}',
    )


@attack(seconds=4.0, recovers_within=60.0)
def a_handler_that_ends_its_process(means: Means) -> None:
    """Both processes may end twice before the handler is called in isolation. Starting a process takes a second or two.
    Then the other executions in flight in the lost workers are called in isolation, too."""
    call(means, "python:mallory_exits", 3)


@attack(seconds=1.5)
def a_target_that_hangs(means: Means) -> None:
    call(means, Target(means, b"", then="hang").url, 300, '{"timeout": "2s", "max_attempts": 1}')


@attack(seconds=1.5)
def a_thousand_calls_that_hang(means: Means) -> None:
    """Uses enough hosts that the limit of connections per host does not hold them back."""
    for _ in range(10):
        call(means, Target(means, b"", then="hang").url, 100, '{"timeout": "3s", "max_attempts": 1}')


@attack(seconds=1.5)
def a_thousand_slow_handlers(means: Means) -> None:
    call(means, "python:mallory_slow", 1000, '{"timeout": "3s", "max_attempts": 1}')


@attack(seconds=1.5)
def slow_sql_functions(means: Means) -> None:
    """Uses sql: targets, which run as mallory's role."""
    means.house.owner.execute(
        "create or replace function public.mallory_waits(payload jsonb) returns void language sql as $$ select"
        " pg_sleep(10) $$;"
        " create or replace function public.mallory_locks(payload jsonb) returns void language plpgsql as $$ begin"
        " perform from pgsched.executions where client_id = 'mallory' for update; perform pg_sleep(10); end $$;"
        " grant execute on all functions in schema public to public"
    )
    means.at_end(lambda: means.house.owner.execute("drop function public.mallory_waits, public.mallory_locks"))
    for name in ("waits", "locks"):
        call(means, f"sql:public.mallory_{name}", 50, '{"timeout": "3s", "max_attempts": 1}')
