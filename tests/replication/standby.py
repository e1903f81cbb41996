"""A hot standby made with `pg_basebackup`, and its promotion."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from pgsched.embedded import EmbeddedPostgres
from pgsched.embedded.account import account_for, reachable
from pgsched.embedded.binaries import bundled_bin_dir, runnable
from pgsched.embedded.processes import free_port
from tests.replication.pair import until


@dataclass(frozen=True, slots=True)
class Standby:
    """A standby that follows ``primary``. ``url`` is its own URL; ``either`` lists both servers and connects to the one
    that accepts writes."""

    primary: EmbeddedPostgres
    primary_url: str
    url: str
    either: str

    @property
    def pid(self) -> int:
        """The pid of the standby's postmaster."""
        with psycopg.connect(self.url) as connection:
            [(found,)] = connection.execute("select pg_read_file('postmaster.pid')").fetchall()
        return int(found.split()[0])

    def take_over(self) -> None:
        """Kills all processes of the primary and promotes this standby."""
        for pid in processes_of(self.primary.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.promote()

    def promote(self) -> None:
        """Promotes this standby to accept writes, whatever the primary does."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            assert connection.execute("select pg_promote()").fetchone() == (True,)


def processes_of(pid: int) -> list[int]:
    """Returns the pids of a server and its sessions."""
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


@contextmanager
def standby_of(primary: EmbeddedPostgres, place: Path, bin_dir: Path, *, synchronous: bool = True) -> Iterator[Standby]:
    """Runs a standby of this server in a new directory. If ``synchronous``, the server's commits wait for it."""
    given = conninfo_to_dict(primary.url)
    with copy_of(primary, place, bin_dir, "-R") as url:
        port = conninfo_to_dict(url)["port"]
        with psycopg.connect(primary.url, autocommit=True) as connection:
            if synchronous:
                connection.execute("alter system set synchronous_standby_names = '*'")
                connection.execute("select pg_reload_conf()")
            query = "select from pg_stat_replication where state = 'streaming' and sync_state = %s"
            until(lambda: connection.execute(query, ["sync" if synchronous else "async"]).rowcount)
        both = f"{given['host']}:{given['port']},{given['host']}:{port}"
        either = primary.url.replace(f"{given['host']}:{given['port']}", both) + "?target_session_attrs=read-write"
        yield Standby(primary, primary.url, url, either)


@contextmanager
def copy_of(
    primary: EmbeddedPostgres, place: Path, bin_dir: Path, *more: str, meanwhile: Callable[[], list[str]] = list
) -> Iterator[str]:
    """Copies this server's files into a new directory and runs a server there. Yields its URL. ``meanwhile`` is called
    during the backup, so its changes are not in the copy; it returns the settings for recovery, or none to start the
    copy as it is."""
    place.mkdir()
    account = account_for(place / "none")
    if account:
        account.give(place)
    programs, port, given = runnable(bin_dir, account), free_port(), conninfo_to_dict(primary.url)
    with reachable(place, account) as (name, options):
        source = f"host={given['host']} port={given['port']} user={given['user']} password={given['password']}"
        newest = runnable(bundled_bin_dir(), account)  # works with older servers too; some packages have none
        _run([newest / "pg_basebackup", "-D", f"{name}/data", *more, "-c", "fast", "-d", source], options)
        if settings := meanwhile():
            (place / "data" / "recovery.signal").touch()
        server = _start(programs, name, port, options, settings)
    try:
        url = primary.url.replace(f":{given['port']}/", f":{port}/")
        until(lambda: _answers(url))
        yield url
    finally:
        server.send_signal(signal.SIGQUIT)
        server.wait(30)


def _run(words: list[Any], options: dict[str, Any]) -> None:
    subprocess.run([str(word) for word in words], check=True, stdin=subprocess.DEVNULL, **options)


def _start(
    programs: Path, name: str, port: int, options: dict[str, Any], settings: list[str]
) -> subprocess.Popen[bytes]:
    said = ["listen_addresses=127.0.0.1", f"port={port}", "unix_socket_directories=", "shared_buffers=64MB"]
    said += ["max_connections=200", "max_locks_per_transaction=512"]  # no less than on the primary
    given = [part for one in said + settings for part in ("-c", one)]
    words = [str(programs / "postgres"), "-D", f"{name}/data", *given]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, **options)


def _answers(url: str) -> bool:
    with suppress(psycopg.OperationalError), psycopg.connect(url, connect_timeout=5):
        return True
    return False
