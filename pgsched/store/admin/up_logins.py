"""Creates the logins for ``pgsched up``, so that nothing it starts runs as a superuser.

``pgsched up`` migrates as the role that it is given. If this role is a superuser, the workers log in as a member of
only ``pgsched_worker``, and the API as a member of ``pgsched_api``. The client ``default`` gets a role of its own,
which calls the functions of its ``sql:`` targets.

Passwords are kept in a libpq password file that only its owner can read. The addresses passed to processes name this
file, so no password is on a command line or in an environment. Each password file has its own logins. Their names begin
with ``pgsched_up``, followed by some digits if the plain name belongs to another file.
"""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import psycopg
from psycopg import sql

from pgsched.own_files import open_own
from pgsched.store import verbs
from pgsched.store.core.lock_capacity import public_revokes
from pgsched.store.core.new_connection import transaction
from pgsched.store.core.sql import statement

_WORKER = ("pgsched_up", "pgsched_worker")
_API = ("pgsched_api_up", "pgsched_api")
_CLIENT = ("pgsched_default", "pgsched_client")
_OF_A_LOGIN = {"user", "password", "passfile"}
_LET_CREATE_TABLES = "grant create on schema public to {}"
# The role in these statements cannot be a parameter, so psycopg.sql quotes its name.
_CREATE = "create role {} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls"

Connection = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Logins:
    """The addresses with which workers and the API log in, and the role of the client ``default``, if it has one.
    ``told_url`` is the workers' address including the password, for programs that do not read libpq's password file.
    """

    url: str
    api_url: str
    told_url: str
    client_role: str | None


def is_superuser(url: str) -> bool:
    """Whether the role in ``url`` is a superuser. Raises psycopg.Error."""
    with transaction(url) as connection:
        row = connection.execute(statement("admin/is_superuser")).fetchone()
    return bool(row and row[0])


def let_act_as_api(url: str) -> None:
    """Makes the login in ``url`` a member of ``pgsched_api``, the API's role. Raises psycopg.Error."""
    with transaction(url) as connection:
        connection.execute(statement("admin/grant_api"))


def make_logins(url: str, passwords: Path, *, is_ours: bool) -> Logins:
    """Creates the logins that the password file does not contain yet, and checks that the workers can log in. The role
    in ``url`` must be a superuser.

    If the cluster ``is_ours``, existing roles with these names are reused, workers may create tables and functions in
    the schema public, and other logins are kept from filling the server's lock table. Raises OSError or psycopg.Error,
    for example if the server rejects the new login.
    """
    with _entries(passwords) as entries, transaction(url) as connection:
        worker = _login(connection, entries, *_WORKER, is_ours=is_ours)
        api = _login(connection, entries, *_API, is_ours=is_ours)
        if is_ours:
            connection.execute(sql.SQL(_LET_CREATE_TABLES).format(sql.Identifier(worker)))
            connection.execute(public_revokes().encode())
        client = _client_role(connection, entries, is_ours=is_ours)
    address = as_login(url, worker, passwords)
    psycopg.connect(address, connect_timeout=10).close()
    told = f"{worker}:{entries[worker]}"
    return Logins(
        url=address,
        api_url=as_login(url, api, passwords),
        told_url=_address(url, told, []),
        client_role=client,
    )


def as_login(url: str, role: str, passwords: Path) -> str:
    """Returns the address with another login, whose password is in the password file."""
    return _address(url, quote(role), [f"passfile={quote(str(passwords.absolute()))}"])


def _address(url: str, login: str, more: list[str]) -> str:
    parts = urlsplit(url)
    query = [item for item in parts.query.split("&") if item and item.partition("=")[0] not in _OF_A_LOGIN]
    netloc = f"{login}@{parts.netloc.rpartition('@')[2]}"
    return parts._replace(netloc=netloc, query="&".join([*query, *more])).geturl()


def _client_role(connection: Connection, entries: dict[str, str], *, is_ours: bool) -> str | None:
    """Returns the role of the client ``default``. If the client has none, gives it a new role."""
    found = connection.execute(statement("admin/default_role")).fetchone()
    given = found[0] if found else None
    if given is None or given in entries:
        made = _login(connection, entries, *_CLIENT, is_ours=is_ours)
        changes = json.dumps({"database_role": made})
        connection.execute(verbs.set_client.text("client", "changes"), {"client": "default", "changes": changes})
        return made
    return str(given)


def _login(connection: Connection, entries: dict[str, str], name: str, group: str, *, is_ours: bool) -> str:
    """Creates or updates a role that logs in with the password from its entry and is a member of the group."""
    there = connection.execute(statement("admin/roles_among"), {"names": [*entries, name]})
    taken = {str(row[0]) for row in there}
    role = _name_of(name, taken, entries, is_ours=is_ours)
    password = entries.setdefault(role, secrets.token_hex(24))
    identifier = sql.Identifier(role)
    if role not in taken:
        connection.execute(sql.SQL(_CREATE).format(identifier))
    # The server receives, and may log, only a verifier, not the password.
    verifier = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
    connection.execute(sql.SQL("alter role {} login password {}").format(identifier, sql.Literal(verifier)))
    connection.execute(sql.SQL("grant {} to {}").format(sql.Identifier(group), identifier))
    database = sql.Identifier(connection.info.dbname)
    connection.execute(sql.SQL("grant connect on database {} to {}").format(database, identifier))
    return role


def _name_of(name: str, taken: set[str], entries: dict[str, str], *, is_ours: bool) -> str:
    for known in entries:
        if known in taken and (known == name or known.startswith(f"{name}_")):
            return known
    return name if is_ours or name not in taken else f"{name}_{secrets.token_hex(3)}"


@contextmanager
def _entries(passwords: Path) -> Iterator[dict[str, str]]:
    """Yields the passwords in the file, by role. If the block changes them, they are written back when it ends. Other
    processes wait until the block ends."""
    passwords.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(open_own(passwords), "r+", encoding="utf-8") as file:  # libpq ignores a file that others can read
        fcntl.flock(file, fcntl.LOCK_EX)
        lines = [line.strip().split(":") for line in file]
        entries = {line[3]: line[4] for line in lines if len(line) == 5}
        known = dict(entries)
        yield entries
        if entries != known:
            file.seek(0)
            file.truncate()
            file.writelines(f"*:*:*:{role}:{password}\n" for role, password in entries.items())
