"""A whole installation as deployed: database, roles, worker processes and API, with a client that uses it."""

import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from tests.adversary.account import Account, Ledger
from tests.adversary.every_way import EveryWay
from tests.adversary.metronome import Metronome
from tests.adversary.programs import Programs
from tests.adversary.trickle import Trickle
from tests.adversary.turns import Turns

Connection = psycopg.Connection[tuple[Any, ...]]
LEASE = 5.0
_TIMES = "--lease", str(LEASE), "--drain-timeout", "2"
_DEADLOCKS = 5
_MALLORYS = """
select c.oid::regclass::text, a.attname
  from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
 where n.nspname in ('pgsched', 'pgsched_internal') and c.relkind in ('r', 'p') and not c.relispartition
   and (a.attname = 'client_id' and c.relname <> 'clients' or c.relname = 'gates' and a.attname = 'name')
 order by c.relname"""


_OURS = "select count(*) from pg_stat_activity where application_name like 'pgsched%'"


def as_login(url: str, role: str) -> str:
    """Returns the URL for a login of these tests, which all have the same password."""
    parts = urlsplit(url)
    hosts = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{role}:x@{hosts}"))


class House:
    """The installation. ``first`` and ``mallory`` are clients with separate logins; ``nobody`` is a bare login."""

    def __init__(self, url: str, directory: Path, turns: Turns) -> None:
        self.url, self.turns = url, turns
        self.account = Account(Ledger(directory / "ledger"))
        self._suffix = secrets.token_hex(4)
        self.owner = psycopg.connect(url, autocommit=True, application_name="the test")
        self.first = self._login("first", "pgsched_client")
        self.mallory = self._login("mallory", "pgsched_client")
        self.nobody = self._login("nobody", None)
        self._worker = self._login("worker", "pgsched_worker")
        self._front = self._login("front", "pgsched_api")
        for client in ("first", "mallory"):
            self.owner.execute(
                "insert into pgsched.clients (client_id, database_role) values (%s, %s)", [client, self.role(client)]
            )
        self._programs = Programs(directory)
        self.api = ""
        self._trickle: Trickle | None = None
        self._more: list[EveryWay] = []
        self.metronome = Metronome()
        self.metronome.start()

    def role(self, name: str) -> str:
        """Returns the name of a login in the database."""
        return f"adversary_{name}_{self._suffix}"

    def _login(self, name: str, member_of: str | None) -> str:
        """Creates a login and returns its URL."""
        role = self.role(name)
        self.owner.execute(sql.SQL("create role {} login password 'x'").format(sql.Identifier(role)))
        if member_of is not None:
            self.owner.execute(sql.SQL("grant {} to {}").format(sql.Identifier(member_of), sql.Identifier(role)))
        return as_login(self.url, role)

    def start(self) -> None:
        """Starts workers, API and the first client, and returns when all of them work."""
        worker = self._run("worker", "--app", "tests.adversary.handlers:app", "--processes", "2", *_TIMES)
        api = self._run("api", "--port", "0")
        self._programs.ready(worker)
        self.api = self._programs.ready(api)["url"]
        self._trickle = Trickle(self.first, self.api, self.account)
        self._trickle.start()

    def stop(self) -> None:
        if self._trickle is not None:
            self._trickle.end()
        self._programs.stop()
        self._wait_until_gone()

    def _wait_until_gone(self) -> None:
        """Waits until leftovers of worker processes have ended, since connections are scarce."""
        deadline = time.monotonic() + 20
        while self.owner.execute(_OURS).fetchone() != (0,) and time.monotonic() < deadline:
            time.sleep(0.1)

    def in_every_way(self, more: EveryWay) -> None:
        """Registers it to be closed with the house, since its callbacks can be late."""
        self._more.append(more)

    def close(self) -> None:
        self.stop()
        for more in self._more:
            more.close()
        self.metronome.end()
        for name in ("first", "mallory", "nobody", "worker", "front"):
            role = sql.Identifier(self.role(name))
            self.owner.execute(sql.SQL("drop owned by {} cascade").format(role))
            self.owner.execute(sql.SQL("drop role {}").format(role))
        self.owner.close()

    def restart(self) -> None:
        """Restarts everything after a defect, so that it does not affect the next attack."""
        self.stop()
        self.start()
        self.wait_until_served()

    def wait_until_served(self) -> None:
        """Waits up to half a minute until scheduled executions begin again."""
        deadline = time.monotonic() + 30
        while not self.account.is_served(time.time() - 3) and time.monotonic() < deadline:
            time.sleep(0.1)

    def clear(self) -> None:
        """Deletes mallory's rows, so that they do not affect the next attack."""
        with psycopg.connect(self.url, autocommit=True, options="-c statement_timeout=60s") as connection:
            for table, column in connection.execute(_MALLORYS).fetchall():
                _insist(connection, f"delete from {table} where {column} ~ 'mallory'")

    def unrecorded(self, ids: list[str]) -> int:
        """Returns how many of these executions did not succeed in history."""
        [(found,)] = self.owner.execute(
            "select count(*) from unnest(%s::uuid[]) as id"
            " where not exists (select from pgsched.history h where h.id = id.id and h.status = 'succeeded')",
            [ids],
        ).fetchall()
        return int(found)

    def log(self) -> str:
        """Returns the end of the processes' logs."""
        return self._programs.log()

    def _run(self, *words: str) -> subprocess.Popen[str]:
        environment = {
            "PGSCHED_DATABASE_URL": self._front if words[0] == "api" else self._worker,
            "PGSCHED_ALLOW_PRIVATE_TARGETS": "true",
            "PGSCHED_SQL_LOGIN": "user={role} password=x",
            "ADVERSARY_LEDGER": str(self.account.ledger.path),
        }
        return self._programs.run(*words, environment=environment)


def _insist(connection: Connection, statement: str) -> None:
    """Retries on deadlocks, since workers settle some of the rows in another order."""
    for _ in range(_DEADLOCKS):
        with suppress(psycopg.errors.DeadlockDetected):
            connection.execute(statement.encode())
            return
    connection.execute(statement.encode())


@contextmanager
def house(url: str, directory: Path, turns: Turns) -> Iterator[House]:
    """Runs an installation."""
    built = House(url, directory, turns)
    try:
        built.start()
        time.sleep(1.0)  # lets each session plan its first statements before anything is measured
        yield built
    finally:
        built.close()
