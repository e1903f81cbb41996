"""Chooses the account that the server runs as, and gives this account access to the server's directory."""

import contextlib
import os
import pwd
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgsched.errors import EmbeddedPostgresError

_PREFERRED = ("postgres", "nobody")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAccount:
    """The unprivileged account that root starts the server as."""

    uid: int
    gid: int

    def give(self, path: Path) -> None:
        """Makes the account the owner of a file or directory."""
        os.chown(path, self.uid, self.gid)


def account_for(cluster: Path) -> ServerAccount | None:
    """Returns the account to run a cluster's server as. Returns None if this process is not root, because the server
    then runs as this process's account."""
    if os.geteuid() != 0:
        return None
    if cluster.exists() and (owner := cluster.stat()).st_uid != 0:
        return ServerAccount(uid=owner.st_uid, gid=owner.st_gid)
    for name in _PREFERRED:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return ServerAccount(uid=entry.pw_uid, gid=entry.pw_gid)
    raise EmbeddedPostgresError(
        "PostgreSQL does not run as root, and there is no account `postgres` or `nobody` to run it as: create one "
        "of these accounts, or start pgsched as an ordinary user"
    )


def process_options(account: ServerAccount | None) -> dict[str, Any]:
    """Returns ``subprocess`` options for a program that runs as the account.

    The program does not inherit this process's environment, which contains secrets.
    """
    options: dict[str, Any] = {"cwd": "/", "env": {"LC_ALL": "C", "PATH": os.defpath}}
    if account:
        options |= {"user": account.uid, "group": account.gid, "extra_groups": []}
    return options


@contextlib.contextmanager
def reachable(directory: Path, account: ServerAccount | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields a path by which a process of the account can reach the directory, and that process's ``subprocess``
    options.

    The path uses a descriptor opened by root, so the permissions of parent directories do not matter. Changing into the
    directory would not be enough: PostgreSQL 15 leaves its working directory to resolve its own path, and could not
    change back.
    """
    options = process_options(account)
    if account is None or sys.platform != "linux":
        yield str(directory), options
        return
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}", options | {"pass_fds": (descriptor,)}
    finally:
        os.close(descriptor)
