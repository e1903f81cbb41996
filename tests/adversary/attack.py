"""The means of an attacker, and the list of attacks.

An attack is a function that takes the means, does its worst, and leaves everything open. Sessions are rolled back and
closed after the first client has been measured. To add an attack, write such a function.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, Self

import httpx
import psycopg

from tests.adversary.account import SETTLED_AFTER
from tests.adversary.every_way import EveryWay
from tests.adversary.house import Connection, House

# A refused attack has failed as it should. These SQLSTATEs mean that the attack itself is written wrongly.
_MISWRITTEN = {"42601", "42703", "42883", "42P01", "42P02", "42804", "42P18", "42725", "42846", "3F000"}


class Means:
    """Sessions, requests and threads of the attacker. All of them end with the attack."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.refusals: list[str] = []
        self._open = ExitStack()
        self._until = time.monotonic() + _LONGEST_MOUNT
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._session: Connection | None = None
        self._rest: httpx.Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(timeout=10)
        self._open.close()

    def mallory(self, **options: str) -> Connection:
        """Opens a session of the second client, in a transaction that stays open. Waits for room while sessions of the
        previous attack end."""
        while True:
            try:
                return self._connect(self.house.mallory, **options)
            except psycopg.OperationalError as error:
                if _FULL not in str(error) or time.monotonic() > self._until:
                    raise
                time.sleep(0.05)

    def nobody(self, **options: str) -> Connection:
        """Opens a session of a login without rights in pgsched."""
        return self._connect(self.house.nobody, **options)

    def operator(self) -> Connection:
        """Opens an autocommit session of the database's owner."""
        connection = self._connect(self.house.url)
        connection.autocommit = True
        return connection

    def rest(self) -> httpx.Client:
        return self._open.enter_context(httpx.Client(base_url=self.house.api, timeout=10))

    def attempt(
        self, connection: Connection, statement: str, parameters: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]] | None:
        """Executes a statement and returns its rows. If it is refused, rolls back and returns None."""
        if time.monotonic() > self._until:
            self.refusals.append("not tried: earlier statements took too long")
            return None
        try:
            cursor = connection.execute(statement.encode(), list(parameters) or None)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            if error.sqlstate in _MISWRITTEN:
                raise
            self.refusals.append(f"{error.sqlstate}: {error.diag.message_primary or error}")
            with suppress(psycopg.Error):
                connection.rollback()
            return None

    def commit(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]] | None:
        """Executes a statement of mallory in its own transaction."""
        if self._session is None:
            self._session = self.mallory()
            self._session.autocommit = True
        return self.attempt(self._session, statement, parameters)

    def mount(self, *attacks: Callable[[Self], None]) -> None:
        """Mounts several attacks, each with its own time limit."""
        for one in attacks:
            self._until = time.monotonic() + _LONGEST_MOUNT
            one(self)

    def schedule(self, **arguments: Any) -> Any:
        """Schedules an execution or job of mallory and returns its id, or None if it is refused."""
        given = {"target": "python:mallory", "client": "mallory"} | arguments
        named = ", ".join(f"{name} => %s{_CASTS.get(name, '')}" for name in given)
        found = self.commit(f"select pgsched.schedule({named})", list(given.values()))
        return found[0][0] if found else None

    def post(self, path: str, **body: Any) -> httpx.Response:
        if self._rest is None:
            self._rest = self.rest()
        return self._rest.post(path, json=body)

    def keep(self, action: Callable[[], object]) -> None:
        """Repeats an action in a thread until the attack ends, also after refusals."""

        def run() -> None:
            while not self._over.is_set():
                try:
                    action()
                except (psycopg.Error, httpx.HTTPError):
                    self._over.wait(0.05)

        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()

    def first_works_in_every_way(self) -> None:
        """During the attack, the first client also schedules work in threads, on connections and by callbacks."""
        more = EveryWay(self.house.first, self.house.account)
        self.house.in_every_way(more)
        self._open.callback(more.end)
        more.start()

    def wait(self, seconds: float) -> None:
        """Sleeps, but no longer than the attack lasts."""
        self._over.wait(seconds)

    def cut(self) -> None:
        """Terminates all sessions of workers and API, and waits until they have reconnected."""
        self.house.owner.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'pgsched%'"
        )
        deadline = time.monotonic() + 20
        time.sleep(SETTLED_AFTER)
        while not self.house.account.is_served(time.time() - 5) and time.monotonic() < deadline:
            time.sleep(0.1)

    def at_end(self, action: Callable[[], object]) -> None:
        """Registers an undo action for changes beyond sessions, such as database settings."""
        self._open.callback(action)

    def _connect(self, url: str, **options: str) -> Connection:
        connection = psycopg.connect(url, options=_PATIENCE, application_name="the adversary", **options)  # type: ignore[arg-type]
        self._open.callback(connection.close)
        return connection


_LONGEST_MOUNT = 4.0
_FULL = "remaining connection slots"
_PATIENCE = "-c statement_timeout=1s"  # the attacker's own statements may block, and the test must continue
_CASTS = {"payload": "::jsonb", "options": "::jsonb", "rules": "::jsonb", "labels": "::jsonb",
    "fire_at": "::timestamptz",
          "delay": "::interval", "every": "::interval", "after": "::text[]"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack of a neighbour."""

    name: str
    mount: Callable[[Means], None]
    seconds: float
    after_mount: bool
    recovers_within: float | None


ATTACKS: list[Attack] = []


def attack(
    *, seconds: float = 1.0, after_mount: bool = False, recovers_within: float | None = None
) -> Callable[[Callable[[Means], None]], Callable[[Means], None]]:
    """Registers an attack, during which the first client is measured for this many seconds.

    ``after_mount``: measure only once the attack is mounted, for attacks that make workers reconnect.
    ``recovers_within``: the attack may delay executions, but for at most this many seconds after its end, and without
    losing any.
    """

    def listed(mount: Callable[[Means], None]) -> Callable[[Means], None]:
        ATTACKS.append(Attack(mount.__name__, mount, seconds, after_mount, recovers_within))
        return mount

    return listed
