"""The first client: it schedules steadily, in every ordinary way."""

import threading
import time
from uuid import uuid4

import httpx
import psycopg

from pgsched.api.connection_pool import WAIT
from pgsched.errors import Unavailable
from tests.adversary.account import Account, Promise

RATE = 50
"""Executions a second."""

_ANSWERED_WITHIN = WAIT + 1
"""Seconds. By then, the API has given up waiting for a connection and answered 503."""

_SCHEDULE = (
    "select id::text, extract(epoch from pgsched.now() + delay)::float8 from (values (interval '80 ms')) d(delay),"
    " lateral pgsched.schedule('python:note', '{\"n\": 1}', delay => d.delay, client => 'first', key => %s,"
    " ordering_key => %s) as id"
)
_INSERT = (
    "insert into pgsched.executions (client_id, target, fire_at) values ('first', 'python:note',"
    " now() + interval '80 ms') returning id::text, extract(epoch from fire_at)::float8"
)
_JOB = "select pgsched.schedule('python:tick', every => '1 second', client => 'first', key => 'tick')"


class Trickle(threading.Thread):
    """Schedules until `end`. A failed statement is recorded, and a lost session replaced."""

    def __init__(self, url: str, api: str, account: Account) -> None:
        super().__init__(name="first client", daemon=True)
        self._url, self._account = url, account
        self._api = httpx.Client(base_url=api, timeout=_ANSWERED_WITHIN)
        self._ended = threading.Event()
        self._connection: psycopg.Connection | None = None
        self._run = uuid4().hex[:6]

    def end(self) -> None:
        self._ended.set()
        self.join(timeout=10)
        self._api.close()
        if self._connection is not None:
            self._connection.close()

    def run(self) -> None:
        self._sql(_JOB, [])
        number, next_at = 0, time.monotonic()
        while not self._ended.is_set():
            started = time.time()
            try:
                self._schedule(number)
            except (psycopg.Error, httpx.HTTPError, Unavailable, AssertionError) as error:
                self._account.refused(started, f"{type(error).__name__}: {error}")
            number, next_at = number + 1, max(next_at + 1 / RATE, time.monotonic())
            self._ended.wait(next_at - time.monotonic())

    def _schedule(self, number: int) -> None:
        match number % 10:
            case 9:
                self._by_rest()
            case 8:
                self._by_sql(_INSERT, [])
            case 6 | 7:
                self._by_sql(_SCHEDULE, [f"{self._run}-{number}", None])
            case 5:
                self._by_sql(_SCHEDULE, [None, f"account-{number // 10 % 5}"])
            case _:
                self._by_sql(_SCHEDULE, [None, None])

    def _by_sql(self, statement: str, parameters: list[str | None]) -> None:
        started = time.time()
        [(id, due)] = self._sql(statement, parameters)
        now = time.time()
        self._account.promised(id, Promise(due, now, now - started))

    def _sql(self, statement: str, parameters: list[str | None]) -> list[tuple[str, float]]:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                self._url, autocommit=True, options="-c statement_timeout=5s", application_name="the first client"
            )
        return self._connection.execute(statement.encode(), parameters).fetchall()

    def _by_rest(self) -> None:
        started = time.time()
        answer = self._api.post("/v1/jobs", json={"client": "first", "target": "python:note"})
        if answer.status_code == 503:
            raise Unavailable(answer.json()["detail"])
        assert answer.status_code == 201, answer.text
        now = time.time()
        self._account.promised(answer.json()["id"], Promise(started, now, now - started))
