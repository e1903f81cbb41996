"""Creates the cluster in a data directory, and reads its state from its files."""

import os
import secrets
import shutil
import subprocess
from pathlib import Path

from pgsched.embedded.account import ServerAccount, reachable
from pgsched.embedded.processes import command_line
from pgsched.errors import EmbeddedPostgresError
from pgsched.own_files import write_own


def initialise(directory: Path, bin_dir: Path, account: ServerAccount | None, *, options: list[str]) -> None:
    """Creates ``cluster`` and ``password``, passing these options to initdb. If interrupted, leaves no ``cluster``."""
    password = secrets.token_hex(24)
    staging = directory / "new"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(mode=0o700)
    for place in (directory, staging):
        write_own(place / "password", f"{password}\n")
    if account:
        account.give(staging / "password")
        account.give(staging)
    with reachable(staging, account) as (place_name, process):
        arguments = [f"--pgdata={place_name}/cluster", f"--pwfile={place_name}/password", *options]
        command = [str(bin_dir / "initdb"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **process)
    if done.returncode:
        raise EmbeddedPostgresError(f"initdb failed in {directory}:\n{last_lines(done.stderr)}")
    (staging / "cluster").rename(directory / "cluster")
    shutil.rmtree(staging)


def initdb_options(major: int, *, durable: bool) -> list[str]:
    """Returns the options for initdb: UTF-8, sorting by code point, checksums, and password authentication."""
    locale = ["--encoding=UTF8", "--locale=C"]
    if major >= 17:
        locale += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    sync = [] if durable else ["--no-sync"]
    return ["--username=postgres", "--auth=scram-sha-256", "--data-checksums", *locale, *sync]


def refuse_other_major(cluster: Path, major: int) -> None:
    """Raises EmbeddedPostgresError if the cluster was created by a major version other than ``major``."""
    held = (cluster / "PG_VERSION").read_text().strip()
    if held != str(major):
        raise EmbeddedPostgresError(
            f"{cluster.parent} was created by PostgreSQL {held}, and PostgreSQL {major} cannot read it: use "
            f"PostgreSQL {held}, or dump the data with that release (pg_dumpall) and load it into a new data directory"
        )


def recorded_pid(cluster: Path) -> int:
    """Returns the recorded process id of the cluster's server, which may have been killed. Returns 0 if no id is
    recorded."""
    recorded = _pid_file(cluster)
    text = recorded[0].lstrip("-") if recorded else ""  # negative for a single-user server, started by hand
    return int(text) if text.isdigit() else 0


def remove_stale_pid_file(cluster: Path) -> None:
    """Removes a stale ``postmaster.pid`` that would prevent the next start.

    Must be called only while no server started by pgsched runs on the cluster. PostgreSQL assumes that any process with
    the recorded id is the server, even if a different process has reused the id, or the dead server is still a zombie.
    PostgreSQL also refuses to start if the file is empty or corrupt, for example after a power failure. A file whose id
    belongs to no process is kept, because PostgreSQL uses it to find the shared memory of remaining backends.
    """
    recorded = cluster / "postmaster.pid"
    pid = recorded_pid(cluster)
    if recorded.exists() and (pid <= 0 or (_exists(pid) and not _serves(pid, cluster))):
        recorded.unlink()


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _serves(pid: int, cluster: Path) -> bool:
    """Whether the process may be a server started by hand on the cluster. A server's working directory is the cluster
    directory."""
    if not Path("/proc").is_dir():
        return "postgres" in command_line(pid) and "cluster_name=" not in command_line(pid)
    try:
        return Path(f"/proc/{pid}/cwd").samefile(cluster)
    except OSError:  # a zombie, or a process of another account, which cannot serve a cluster that it does not own
        return False


def is_ready(cluster: Path, pid: int) -> bool:
    """Whether the server with this process id accepts connections."""
    recorded = _pid_file(cluster)
    return len(recorded) > 7 and recorded[0] == str(pid) and recorded[7].startswith("ready")


def _pid_file(cluster: Path) -> list[str]:
    try:
        return (cluster / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return []


def size_after_rotation(log: Path) -> int:
    """Renames the log to ``.log.1`` if it is large. Returns the size of the current log in bytes."""
    size = log.stat().st_size if log.exists() else 0
    if size < 16 * 1024 * 1024:
        return size
    log.replace(log.with_suffix(".log.1"))
    return 0


def last_lines(text: str) -> str:
    """Returns the last lines of a log, to show in an error."""
    return "\n".join(text.strip().splitlines()[-12:])
