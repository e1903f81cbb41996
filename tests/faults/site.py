"""An installation under load: two worker commands, an API and a dedicated database server."""

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from pgsched.embedded import EmbeddedPostgres
from tests.adversary.account import Ledger
from tests.adversary.house import as_login
from tests.adversary.metronome import Metronome
from tests.adversary.programs import Programs
from tests.benchmarks.measuring.memory import sample
from tests.faults.clocks import Clock
from tests.faults.load import Load
from tests.faults.proxy import Proxy
from tests.replication.standby import Standby

Connection = psycopg.Connection[Any]
LEASE = 6.0
_PEOPLE = """
create role faults_first login password 'x' in role pgsched_client;
create role faults_worker login password 'x' in role pgsched_worker;
create role faults_front login password 'x' in role pgsched_api;
insert into pgsched.clients (client_id, database_role) values ('first', 'faults_first');
insert into pgsched.clients (client_id) values ('limited');
select pgsched.set_limit('client', 'limited', rate => 10);
select pgsched.create_queue('pulled', '{"pulled": true}');
grant usage on schema pgsched to faults_first;
"""


def descendants(pid: int) -> list[int]:
    """Returns a process's descendants."""
    with suppress(OSError):
        listed = Path(f"/proc/{pid}/task").glob("*/children")
        children = [child for path in listed for child in path.read_text().split()]
        return [found for child in map(int, children) for found in (child, *descendants(child))]
    return []


class Site:
    """``url`` is the address that the client uses. Faults are applied to ``server`` and its surroundings."""

    def __init__(
        self,
        server: EmbeddedPostgres,
        directory: Path,
        *,
        rate: int,
        clock: Clock | None = None,
        standby: Standby | None = None,
        proxy: Proxy | None = None,
        disk: Path | None = None,
        watches: Sequence[Clock] = (),
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.server, self.clock, self.standby, self.proxy, self.disk = server, clock, standby, proxy, disk
        self.watches = watches
        self.unreplicated: tuple[float, float] | None = None
        """The period in which nothing committed reached the promoted server, in seconds since 1970."""
        self.url = standby.either if standby else server.url
        self.ledger = Ledger(directory / "ledger")
        self.programs = Programs(directory)
        self.metronome = Metronome()
        self._memory: dict[int, float] = {}
        self._ended = threading.Event()
        with self.owner() as db:
            db.execute(_PEOPLE.encode())
        clocks = [watch.environment for watch in watches] or [{}, {}]
        self.workers = [self._run("worker", "--app", "tests.faults.handlers:app", *_WORKER, **its) for its in clocks]
        self.api = self._run("api", "--port", "0")
        for worker in self.workers:
            self.programs.ready(worker)
        address = self.programs.ready(self.api)["url"]
        self.load = Load(as_login(self.url, "faults_first"), address, self.ledger, rate=rate)
        self._sampling = threading.Thread(target=self._sample, daemon=True)
        for thread in (self.metronome, self._sampling, self.load):
            thread.start()

    def close(self) -> None:
        self.load.end()
        self.load.close()
        self._ended.set()
        self.metronome.end()
        self._sampling.join()
        self.programs.stop()

    def owner(self) -> Connection:
        """Opens a new superuser session."""
        return psycopg.connect(self.url, autocommit=True, application_name="the faults", connect_timeout=5)

    def owner_patiently(self, *, seconds: float = 60) -> Connection:
        """Opens a superuser session, retrying until the database accepts it."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.owner()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def worker(self, number: int = 0) -> int:
        """Returns the pid of the process that delivers, for one of the two commands."""
        deadline = time.monotonic() + 20
        while not (found := descendants(self.workers[number].pid)) and time.monotonic() < deadline:
            time.sleep(0.02)
        return found[0]

    @property
    def memory(self) -> float:
        """The peak resident memory of any worker process, in MB."""
        return max(self._memory.values(), default=0.0)

    def _sample(self) -> None:
        while not self._ended.wait(0.5):
            for command in self.workers:
                for pid in descendants(command.pid):
                    resident = sample(pid, 0.0).rss_mb or 0.0
                    self._memory[pid] = max(self._memory.get(pid, 0.0), resident)

    def _run(self, *words: str, **more: str) -> Any:
        url = as_login(self.url, "faults_front" if words[0] == "api" else "faults_worker")
        if self.proxy is not None:
            url = url.replace(f":{urlsplit(url).port}/", f":{self.proxy.port}/")
        environment = {
            "PGSCHED_DATABASE_URL": url,
            "PGSCHED_ALLOW_PRIVATE_TARGETS": "true",
            "ADVERSARY_LEDGER": str(self.ledger.path),
            "ADVERSARY_EPOCH": repr(time.time() - time.monotonic()),
        }
        return self.programs.run(*words, environment=environment | more)


_WORKER = "--processes", "2", "--lease", f"{LEASE:g}", "--drain-timeout", "3", "--concurrency", "50"


@contextmanager
def signalled(pids: list[int], first: signal.Signals, then: signal.Signals) -> Iterator[None]:
    """Sends these processes one signal now and another at the end."""
    try:
        _signal(pids, first)
        yield
    finally:
        _signal(pids, then)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@contextmanager
def site(server: EmbeddedPostgres, directory: Path, *, rate: int, **more: Any) -> Iterator[Site]:
    """Runs an installation under load."""
    built = Site(server, directory, rate=rate, **more)
    try:
        yield built
    finally:
        built.close()
