"""Starts and stops the server of one data directory."""

import contextlib
import hashlib
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import psycopg

from pgsched.embedded import cluster, processes
from pgsched.embedded.account import ServerAccount, account_for, process_options, reachable
from pgsched.embedded.binaries import bundled_bin_dir, major_of, runnable
from pgsched.embedded.data_directory_lock import announce, drop_lock, hold_lock
from pgsched.embedded.lifeline import Lifeline
from pgsched.errors import EmbeddedPostgresError, InvalidInput
from pgsched.own_files import make_directory, open_own, write_own
from pgsched.store.core.sql import statement

_SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "shared_buffers": "256MB",
    "max_connections": "200",
    "max_locks_per_transaction": "512",  # reading all partitions of many queues takes thousands of locks
    "max_wal_size": "4GB",
    "autovacuum_naptime": "10s",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
_START_TIMEOUT = 300.0  # a crash recovery replays up to max_wal_size
_RETRY_TIMEOUT = 15.0  # the backends of a killed server end at their next wait
_NAME_PREFIX = "pgsched-"
_PASSING = "Address already in use", "is still in use", 'lock file "postmaster.pid" already exists'
"""Errors that prevent a start only briefly: another program has just taken the port, backends are still running, or a
killed server is still in the process table.
"""


class EmbeddedPostgres:
    """One PostgreSQL server on one data directory, started and stopped by this process. All methods block.

    ``bin_dir`` contains `initdb` and `postgres` of version 15 to 18, by default those of the wheel. ``settings``
    override the defaults. A free port is chosen once and kept. Starting raises Conflict if another server uses the
    directory, and EmbeddedPostgresError if the server cannot start for another reason.

        with EmbeddedPostgres(Path(".pgsched")) as server:
            connection = psycopg.connect(server.url)
    """

    def __init__(
        self, data_dir: Path, *, bin_dir: Path | None = None, settings: Mapping[str, str] | None = None
    ) -> None:
        self._directory = data_dir.absolute()
        self._cluster = self._directory / "cluster"
        self._log = self._directory / "postgres.log"
        self._bin_dir = bin_dir.absolute() if bin_dir else None
        self._settings = _SETTINGS | dict(settings or {})
        # Part of the server's command line, by which a left-over server of this directory is recognized.
        self._name = _NAME_PREFIX + hashlib.sha256(os.fsencode(self._directory.resolve())).hexdigest()[:12]
        self._lock: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: Lifeline | None = None
        self._url: str | None = None
        self._port: int | None = None
        self._given_up = threading.Event()

    @property
    def url(self) -> str:
        """The superuser's URL for the database `pgsched`. Do not log it: it contains the password."""
        if self._url is None:
            raise self._not_started()
        return self._url

    @property
    def pid(self) -> int:
        """The process id of the server."""
        if self._process is None:
            raise self._not_started()
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """The exit status, as in ``subprocess``, of a server that has ended by itself; None while it runs."""
        return None if self._process is None else self._process.poll()

    def start(self) -> str:
        """Starts the server, initialising the data directory if it is new. Returns ``url`` once the server accepts
        connections."""
        with self._explained():
            make_directory(self._directory, "another data directory", mode=0o700)
            self._lock = hold_lock(self._directory)
            try:
                self._launch()
            except BaseException:
                self.stop()
                raise
        return self.url

    def stop(self) -> None:
        """Stops the server, if it is running, with a fast shutdown that ends all connections. Returns once the server
        has ended."""
        try:
            self._end_process()
        finally:
            lock, self._lock = self._lock, None
            if lock is not None:
                drop_lock(lock)

    def restart(self) -> str:
        """Stops the server, unless it has crashed, and starts it again on the same port.

        Raises EmbeddedPostgresError if the port has been taken.
        """
        if self._lock is None:
            raise self._not_started()
        with self._explained():
            self._end_process()
            self._launch(port=self._port)
        return self.url

    def announce(self, url: str) -> None:
        """Announces the address at which other processes can reach the database. ``running_url`` reads this address."""
        if self._lock is None:
            raise self._not_started()
        announce(self._lock, url)

    def give_up(self) -> None:
        """Makes a ``restart`` that is running in another thread raise EmbeddedPostgresError."""
        self._given_up.set()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _not_started(self) -> EmbeddedPostgresError:
        return EmbeddedPostgresError(f"the PostgreSQL in {self._directory} has not been started")

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, InvalidInput, psycopg.Error) as error:
            message = f"the PostgreSQL in {self._directory} cannot be run: {error}"
            raise EmbeddedPostgresError(message) from error

    def _launch(self, *, port: int | None = None) -> None:
        account = account_for(self._cluster)
        bin_dir = runnable(self._bin_dir or bundled_bin_dir(), account)
        major = major_of(bin_dir, account)
        if not self._cluster.exists():
            options = cluster.initdb_options(major, durable=self._settings["fsync"] != "off")
            cluster.initialise(self._directory, bin_dir, account, options=options)
        cluster.refuse_other_major(self._cluster, major)
        self._stop_left_over()
        self._port = self._serve(bin_dir, account, port)
        password = (self._directory / "password").read_text().strip()
        _ensure_database(self._port, password)
        self._url = f"postgresql://postgres:{password}@127.0.0.1:{self._port}/pgsched"

    def _end_process(self) -> None:
        process, self._process, self._url = self._process, None, None
        if process is not None:
            processes.shut_down(process.pid, lambda: process.poll() is not None)
        self._cut_lifeline()

    def _cut_lifeline(self) -> None:
        lifeline, self._lifeline = self._lifeline, None
        if lifeline is not None:
            lifeline.cut()

    def _stop_left_over(self) -> None:
        pid = cluster.recorded_pid(self._cluster)
        ours = f"cluster_name={self._name}"
        if ours in processes.command_line(pid):
            processes.shut_down(pid, lambda: ours not in processes.command_line(pid))
        cluster.remove_stale_pid_file(self._cluster)  # also needed if a server was killed during its shutdown

    def _serve(self, bin_dir: Path, account: ServerAccount | None, wanted: int | None) -> int:
        """Starts the server and returns its port. Retries if the port is taken, or while old backends still run."""
        deadline = time.monotonic() + _RETRY_TIMEOUT
        while True:
            port = self._choose_port(wanted)
            offset = cluster.size_after_rotation(self._log)
            self._process = self._spawn(bin_dir, account, port)
            self._lifeline = Lifeline(self._process.pid, process_options(account))
            if self._is_up(self._process):
                return port
            self._cut_lifeline()
            output = self._log.read_bytes()[offset:].decode(errors="replace")
            passing = any(reason in output for reason in _PASSING)
            if not passing or time.monotonic() > deadline:
                shown = f"the end of {self._log}:\n{cluster.last_lines(output)}"
                raise EmbeddedPostgresError(f"PostgreSQL did not start in {self._directory}; {shown}")
            processes.end_orphans(self._name)
            self._stop_left_over()
            time.sleep(processes.POLL)

    def _spawn(self, bin_dir: Path, account: ServerAccount | None, port: int) -> subprocess.Popen[bytes]:
        settings = self._settings | {
            "listen_addresses": "127.0.0.1",
            "port": str(port),
            "unix_socket_directories": "",
            "cluster_name": self._name,
        }
        arguments = [part for item in settings.items() for part in ("-c", "=".join(item))]
        with (
            reachable(self._cluster, account) as (place, options),
            os.fdopen(open_own(self._log, append=True), "ab") as log,
        ):
            return subprocess.Popen(
                [bin_dir / "postgres", "-D", place, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **options,
            )

    def _is_up(self, process: subprocess.Popen[bytes]) -> bool:
        """Waits until the server accepts connections. Returns False if the server ends instead."""

        def decided() -> bool:
            if self._given_up.is_set():
                raise EmbeddedPostgresError("the start of PostgreSQL was cancelled")
            return process.poll() is not None or cluster.is_ready(self._cluster, process.pid)

        if not processes.within(_START_TIMEOUT, decided):
            raise EmbeddedPostgresError(f"PostgreSQL was not ready within {_START_TIMEOUT:g} s: see {self._log}")
        return process.poll() is None

    def _choose_port(self, wanted: int | None) -> int:
        """Returns ``wanted`` if given, or else the stored port if it is free, or else a new port."""
        if wanted is not None:
            if not processes.is_free(wanted):
                raise EmbeddedPostgresError(f"port {wanted} of 127.0.0.1 is already in use")
            return wanted
        kept = self._directory / "port"
        text = kept.read_text().strip() if kept.exists() else ""
        port = int(text) if text.isdigit() else 0
        if not port or not processes.is_free(port):
            port = processes.free_port()
            write_own(kept, f"{port}\n")
        return port


def _ensure_database(port: int, password: str) -> None:
    with psycopg.connect(
        host="127.0.0.1", port=port, user="postgres", password=password, dbname="postgres", autocommit=True
    ) as connection:
        if not connection.execute(statement("admin/our_database")).rowcount:
            connection.execute(statement("admin/create_database"))
