"""The CPU time of the PostgreSQL server's processes, read from /proc if the server runs on this machine."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

PROC = Path("/proc")
SECONDS_A_TICK = 1 / os.sysconf("SC_CLK_TCK")
_ROLES = ("claim", "settle")


class ServerCpu:
    """CPU seconds since the server's start. All figures are None if the server's processes are not visible."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._postmaster = _postmaster_of(connection)

    def seconds(self) -> float | None:
        """Returns the CPU seconds of all server processes, including those that have ended."""
        if self._postmaster is None:
            return None
        own = _stat(self._postmaster)
        ended = sum(map(int, own[11:15])) if own else 0
        return (ended + sum(ticks(child) for child in _children(self._postmaster))) * SECONDS_A_TICK

    def of_roles(self) -> dict[str, float | None]:
        """Returns the CPU seconds of the open connections on which workers claim and settle."""
        if self._postmaster is None:
            return dict.fromkeys(_ROLES)
        rows = self._connection.execute(
            "select pid, application_name from pg_stat_activity where datname = current_database()"
        ).fetchall()
        return {
            role: sum(ticks(pid) for pid, name in rows if f"{name} ".startswith(f"pgsched {role} ")) * SECONDS_A_TICK
            for role in _ROLES
        }


def _postmaster_of(connection: psycopg.Connection[Any]) -> int | None:
    """Returns the process id of the server, or None if the connection's backend does not run on this machine."""
    pid = connection.info.backend_pid
    stat = _stat(pid) if is_backend(pid, connection.info.dbname) else None
    return int(stat[1]) if stat else None


def is_backend(pid: int, database: str) -> bool:
    """Whether the process is a backend of this database. A remote backend can have the same id as a local process."""
    try:
        command = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False
    return b"postgres" in command and database.encode() in command


def _children(parent: int) -> Iterator[int]:
    for place in PROC.iterdir():
        if place.name.isdigit():
            stat = _stat(int(place.name))
            if stat and int(stat[1]) == parent:
                yield int(place.name)


def ticks(pid: int) -> int:
    """Returns the CPU ticks of a process; 0 if it is gone."""
    stat = _stat(pid)
    return int(stat[11]) + int(stat[12]) if stat else 0


def _stat(pid: int) -> list[str] | None:
    """Returns the fields of a stat file after the process name (the second field), which may contain anything."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
