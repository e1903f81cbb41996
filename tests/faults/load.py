"""The client whose executions must not be lost. It schedules all kinds at a steady rate, over SQL and REST, and records
what was acknowledged."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import psycopg

from tests.faults.counterparts import Consumer, Receiver

DELAY = 0.08
_EACH = 0.05
_KEYS = 7
_ONE_SHOTS = (
    "insert into pgsched.executions (client_id, target, fire_at)"
    " select 'first', %s, now() + interval '80 ms' from generate_series(1, %s) returning id::text"
)
_ONE = (
    "select pgsched.schedule(%s, client => 'first', delay => '80 ms', queue => %s, key => %s, ordering_key => %s,"
    " after => %s::text[], options => %s::jsonb)::text"
)
_CALL = {"timeout": "5s", "max_attempts": 50, "backoff": {"initial": "200ms", "maximum": "2s"}}
_LATER = _CALL | {"deferred": "1m"}
KINDS = {"plain", "ordered", "after", "pulled", "call", "deferred", "rest", "limited"}
JOBS = {"each": '{"on_missed": "all", "on_overlap": "allow"}', "latest": "{}"}
_JOB = "select pgsched.schedule('python:tick', every => '1 second', client => 'first', key => %s, rules => %s::jsonb)"


@dataclass(frozen=True, slots=True)
class Promise:
    """An acknowledged execution: its kind, when it is due, what it must not precede, and when it was acknowledged;
    times are in seconds since 1970."""

    kind: str
    owed: float
    order: tuple[str, int] | None = None
    noted: float = field(default_factory=time.time)


@dataclass(slots=True)
class Book:
    """Acknowledged executions by id, the number of temporary refusals, and refusals that no fault explains."""

    promises: dict[str, Promise] = field(default_factory=dict)
    refusals: int = 0
    mistakes: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, promises: dict[str, Promise]) -> None:
        with self._lock:
            self.promises.update(promises)

    def known(self) -> dict[str, Promise]:
        """Returns what has been acknowledged so far."""
        with self._lock:
            return dict(self.promises)


class Load:
    """Two threads, one for SQL and one for REST. A failed call counts as not acknowledged; its session is replaced."""

    def __init__(self, url: str, api: str, ledger: Any, *, rate: int) -> None:
        self.book, self.url = Book(), url
        self.receiver = Receiver(url, ledger)
        self.consumer = Consumer(url, ledger)
        self._each, self._number = max(1, round(rate * _EACH)), 0
        self._api = httpx.Client(base_url=api, timeout=4)
        self._ended = threading.Event()
        self._connection: psycopg.Connection | None = None
        self._threads = [threading.Thread(target=self._over_and_over, args=[what]) for what in (self._sql, self._rest)]

    def start(self) -> None:
        for key, rules in JOBS.items():
            self._execute(_JOB, [key, rules])
        for thread in [*self._threads, self.consumer]:
            thread.start()

    def end(self) -> None:
        """Stops scheduling. Receiver and consumer continue until ``close``."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def move(self, url: str) -> None:
        """Connects to a new address from now on; open sessions stay connected to the old one."""
        self.url = url
        self.consumer.move(url)
        self.receiver.move(url)

    def close(self) -> None:
        self._api.close()
        if self._connection is not None:
            self._connection.close()
        self.consumer.end()
        self.receiver.close()

    def _over_and_over(self, schedule: Callable[[], None]) -> None:
        next_at = time.monotonic()
        while not self._ended.is_set():
            try:
                schedule()
            except (psycopg.OperationalError, psycopg.InternalError, httpx.HTTPError, ConnectionError):
                self.book.refusals += 1
            except psycopg.Error as error:
                self.book.mistakes.add(str(error).splitlines()[0])
            next_at = max(next_at + _EACH, time.monotonic() - 1)  # does not catch up on what an outage delayed
            self._ended.wait(next_at - time.monotonic())

    def _sql(self) -> None:
        self._number += 1
        number = self._number
        self._schedule("plain", _ONE_SHOTS, ["python:note", self._each])
        match number % 5:
            case 0:
                key = f"account-{number // 5 % _KEYS}"
                self._schedule("ordered", _ONE, ["python:note", "default", None, key, None, None], order=(key, number))
            case 1:
                first, then = f"first-{number}", f"then-{number}"
                self._schedule("plain", _ONE, ["python:note", "default", first, None, None, None], order=(first, 1))
                self._schedule("after", _ONE, ["python:note", "default", then, None, [first], None], order=(first, 2))
            case 2:
                self._schedule("pulled", _ONE, ["queue:", "pulled", None, None, None, None])
            case 3:
                self._schedule("call", _ONE, [self.receiver.url, "default", None, None, None, json.dumps(_CALL)])
            case 4:
                later = f"{self.receiver.url}later"
                self._schedule("deferred", _ONE, [later, "default", None, None, None, json.dumps(_LATER)])

    def _rest(self) -> None:
        for client in ("first", "limited") if self._number % 4 == 0 else ("first",):
            sent = time.time()
            answer = self._api.post("/v1/jobs", json={"client": client, "target": "python:note"})
            if answer.status_code >= 500:
                raise ConnectionError(answer.text)
            if answer.status_code != 201:
                self.book.mistakes.add(answer.text)
                continue
            kind = "rest" if client == "first" else "limited"
            self.book.note({answer.json()["id"]: Promise(kind, max(sent, time.time()))})
            self._ended.wait(_EACH)

    def _schedule(self, kind: str, statement: str, parameters: list[Any], order: tuple[str, int] | None = None) -> None:
        sent = time.time()
        ids = self._execute(statement, parameters)
        owed = max(sent + DELAY, time.time())
        self.book.note({id: Promise(kind, owed, order) for (id,) in ids})

    def _execute(self, statement: str, parameters: list[Any]) -> list[Any]:
        if self._connection is None or self._connection.closed:
            given: Any = {"options": "-c statement_timeout=5s", "connect_timeout": 3}
            self._connection = psycopg.connect(self.url, autocommit=True, **given)
        try:
            return self._connection.execute(statement.encode(), parameters).fetchall()
        except psycopg.OperationalError:
            self._connection.close()
            raise
