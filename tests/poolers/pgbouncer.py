"""A real PgBouncer in front of the tests' server."""

import pwd
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psycopg
from psycopg.conninfo import conninfo_to_dict

from pgsched.embedded.account import account_for
from pgsched.embedded.processes import free_port
from tests.programs.debian import debian_program

VERSIONS = ("1.18", "1.24")
Mode = Literal["session", "transaction", "statement"]
_CONFIGURATION = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = plain
auth_file = {directory}/users
admin_users = {user}
pool_mode = {mode}
default_pool_size = {size}
server_round_robin = {round_robin}
max_client_conn = 500
ignore_startup_parameters = extra_float_digits
"""


@dataclass(frozen=True, slots=True)
class PgBouncer:
    """A running PgBouncer. ``through`` returns the URL of a database behind it."""

    port: int
    configuration: Path
    process: subprocess.Popen[bytes]

    def switch(self, before: Mode, after: Mode) -> None:
        """Change the pool mode as an administrator would: edit the file and reload."""
        text = self.configuration.read_text().replace(f"pool_mode = {before}", f"pool_mode = {after}")
        self.configuration.write_text(text)
        self.process.send_signal(signal.SIGHUP)

    def through(self, url: str) -> str:
        given = conninfo_to_dict(url)
        return f"postgresql://{given['user']}:{given['password']}@127.0.0.1:{self.port}/{given['dbname']}"


@contextmanager
def pgbouncer(
    url: str,
    mode: Mode,
    *,
    version: str = VERSIONS[-1],
    size: int = 20,
    round_robin: bool = False,
    users: dict[str, str] | None = None,
) -> Iterator[PgBouncer]:
    """Run a PgBouncer in front of the server of ``url`` for the duration of the block."""
    given = conninfo_to_dict(url)
    port = free_port()
    passwords = {str(given["user"]): str(given["password"])} | (users or {})
    with tempfile.TemporaryDirectory(prefix="pgsched-pgbouncer-") as place:
        directory = Path(place)
        (directory / "users").write_text("".join(f'"{user}" "{word}"\n' for user, word in passwords.items()))
        (directory / "pgbouncer.ini").write_text(
            _CONFIGURATION.format(**given, own_port=port, directory=place, mode=mode, size=size,
                                  round_robin=int(round_robin))
        )  # fmt: skip
        account = account_for(directory / "none")  # PgBouncer refuses to run as root
        command = [str(debian_program("pgbouncer", version)), "--quiet"]
        if account:
            command += ["--user", pwd.getpwuid(account.uid).pw_name]
            for path in (directory, *directory.iterdir()):
                account.give(path)
        process = subprocess.Popen([*command, directory / "pgbouncer.ini"], stdin=subprocess.DEVNULL)
        try:
            running = PgBouncer(port, directory / "pgbouncer.ini", process)
            _wait(running.through(url), process)
            yield running
        finally:
            process.kill()
            process.wait()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until it answers."""
    until = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"PgBouncer does not answer: {error}") from error
            time.sleep(0.02)
        else:
            return
