"""The files of one data directory: creates a cluster, and reads what its files say about it."""

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
    """Creates ``cluster`` and ``password`` with initdb's options. If killed halfway, it leaves no cluster."""
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
    """Returns our initdb options: UTF-8, compared by code point, checksums, no login without the password."""
    locale = ["--encoding=UTF8", "--locale=C"]
    if major >= 17:
        locale += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    sync = [] if durable else ["--no-sync"]
    return ["--username=postgres", "--auth=scram-sha-256", "--data-checksums", *locale, *sync]


def refuse_other_major(cluster: Path, major: int) -> None:
    """Raises EmbeddedPostgresError if the cluster was written by another major version than the one to run."""
    held = (cluster / "PG_VERSION").read_text().strip()
    if held != str(major):
        raise EmbeddedPostgresError(
            f"{cluster.parent} was created by PostgreSQL {held}, and PostgreSQL {major} cannot read it: use "
            f"PostgreSQL {held}, or dump the data with that release (pg_dumpall) and load it into a new data directory"
        )


def recorded_pid(cluster: Path) -> int:
    """Returns the process id of the server that runs on the cluster, or ran until it was killed; 0 if there is none."""
    recorded = _pid_file(cluster)
    text = recorded[0].lstrip("-") if recorded else ""  # negative: a single-user server, started by hand
    return int(text) if text.isdigit() else 0


def remove_stale_pid_file(cluster: Path) -> None:
    """Removes a ``postmaster.pid`` that no server on this cluster holds, and that would prevent the next start.

    Only for use while no server of ours runs on the cluster. PostgreSQL takes any process with the recorded id for the
    server: a dead server's id may have been reused, or its process not yet reaped (a zombie). It refuses an empty or
    broken file, as left by a power failure. The id of a process that is gone does no harm and stays, because PostgreSQL
    uses that file to find the shared memory of remaining backends.
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
    """Whether this process may be a server that was started by hand here: a server works in its cluster directory."""
    if not Path("/proc").is_dir():
        return "postgres" in command_line(pid) and "cluster_name=" not in command_line(pid)
    try:
        return Path(f"/proc/{pid}/cwd").samefile(cluster)
    except OSError:  # a zombie; or another account's process, which cannot serve a cluster it does not own
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
    """Returns the length of the log in bytes, after moving a long one aside as ``.log.1``."""
    size = log.stat().st_size if log.exists() else 0
    if size < 16 * 1024 * 1024:
        return size
    log.replace(log.with_suffix(".log.1"))
    return 0


def last_lines(text: str) -> str:
    """Returns the last lines of a log, to show in an error."""
    return "\n".join(text.strip().splitlines()[-12:])
