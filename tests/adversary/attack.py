"""What an attacker has to work with, and the list of attacks.

An attack is a function that is given the means, does its worst, and leaves open what it has opened: all of it is
closed, and rolled back, when the first client has been measured. To add one is to write such a function.
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

# An attack that is refused has been met. One that is not understood has been written wrongly.
_MISWRITTEN = {"42601", "42703", "42883", "42P01", "42P02", "42804", "42P18", "42725", "42846", "3F000"}


class Means:
    """Sessions, requests and threads of the attacker's, all of which end with the attack."""

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
        """A session of the second client's, in a transaction that stays open. Those of the attack before may take a
        moment to end, and leave no room until then."""
        while True:
            try:
                return self._connect(self.house.mallory, **options)
            except psycopg.OperationalError as error:
                if _FULL not in str(error) or time.monotonic() > self._until:
                    raise
                time.sleep(0.05)

    def nobody(self, **options: str) -> Connection:
        """A session of a login without any right of ours."""
        return self._connect(self.house.nobody, **options)

    def operator(self) -> Connection:
        """A session of the database's owner, in autocommit."""
        connection = self._connect(self.house.url)
        connection.autocommit = True
        return connection

    def rest(self) -> httpx.Client:
        return self._open.enter_context(httpx.Client(base_url=self.house.api, timeout=10))

    def attempt(
        self, connection: Connection, statement: str, parameters: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]] | None:
        """The rows of an answer, none of a statement without; None, and the transaction over, where it is refused."""
        if time.monotonic() > self._until:
            self.refusals.append("not tried any more: the statements before had to wait too long")
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
        """One statement of mallory's in a transaction of its own."""
        if self._session is None:
            self._session = self.mallory()
            self._session.autocommit = True
        return self.attempt(self._session, statement, parameters)

    def mount(self, *attacks: Callable[[Self], None]) -> None:
        """Several at once, which do not stand in each other's way; each has its time."""
        for one in attacks:
            self._until = time.monotonic() + _LONGEST_MOUNT
            one(self)

    def schedule(self, **arguments: Any) -> Any:
        """An execution or a job of mallory's, committed; its id, or None where it is refused."""
        given = {"target": "python:mallory", "client": "mallory"} | arguments
        named = ", ".join(f"{name} => %s{_CASTS.get(name, '')}" for name in given)
        found = self.commit(f"select pgsched.schedule({named})", list(given.values()))
        return found[0][0] if found else None

    def post(self, path: str, **body: Any) -> httpx.Response:
        if self._rest is None:
            self._rest = self.rest()
        return self._rest.post(path, json=body)

    def keep(self, action: Callable[[], object]) -> None:
        """Does something over and over until the attack ends; what is refused is tried again."""

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
        """For the time of the attack the first client also schedules what runs in threads, on connections and
        elsewhere."""
        more = EveryWay(self.house.first, self.house.account)
        self.house.in_every_way(more)
        self._open.callback(more.end)
        more.start()

    def wait(self, seconds: float) -> None:
        """For a thread that keeps doing something: not until the attack ends at the longest."""
        self._over.wait(seconds)

    def cut(self) -> None:
        """Ends all sessions of workers and API, and waits until they have new ones."""
        self.house.owner.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'pgsched%'"
        )
        deadline = time.monotonic() + 20
        time.sleep(SETTLED_AFTER)
        while not self.house.account.is_served(time.time() - 5) and time.monotonic() < deadline:
            time.sleep(0.1)

    def at_end(self, action: Callable[[], object]) -> None:
        """Undoes what is no session's, such as a setting of the database."""
        self._open.callback(action)

    def _connect(self, url: str, **options: str) -> Connection:
        connection = psycopg.connect(url, options=_PATIENCE, application_name="the adversary", **options)  # type: ignore[arg-type]
        self._open.callback(connection.close)
        return connection


_LONGEST_MOUNT = 4.0
_FULL = "remaining connection slots"
_PATIENCE = "-c statement_timeout=1s"  # the attacker's own statements may have to wait, and the test goes on
_CASTS = {"payload": "::jsonb", "options": "::jsonb", "rules": "::jsonb", "labels": "::jsonb",
    "fire_at": "::timestamptz",
          "delay": "::interval", "every": "::interval", "after": "::text[]"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attack:
    """One thing that a neighbour does."""

    name: str
    mount: Callable[[Means], None]
    seconds: float
    after_mount: bool
    recovers_within: float | None


ATTACKS: list[Attack] = []


def attack(
    *, seconds: float = 1.0, after_mount: bool = False, recovers_within: float | None = None
) -> Callable[[Callable[[Means], None]], Callable[[Means], None]]:
    """Puts an attack on the list, which is measured for so many seconds once it stands.

    ``after_mount``: what takes sessions away from the workers is measured from when they have new ones.
    ``recovers_within``: what is done to the process itself delays what is in it, and no longer than for so many seconds
    after the attack; it loses nothing all the same.
    """

    def listed(mount: Callable[[Means], None]) -> Callable[[Means], None]:
        ATTACKS.append(Attack(mount.__name__, mount, seconds, after_mount, recovers_within))
        return mount

    return listed
