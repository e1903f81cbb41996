"""The logins of the API and the workers under ``pgsched up``: not a superuser's, where that can be avoided."""

import os
from pathlib import Path

import psycopg

from pgsched.cli.database_connection import explained
from pgsched.cli.reply import Reply
from pgsched.errors import PgschedError
from pgsched.store.admin.logins import Logins, is_superuser, let_act_as_api, make_logins

_NOT_POSSIBLE = (
    "the API and the workers run as a superuser, for they cannot log in as a role of their own ({error}). Make one, "
    "create role … login in role pgsched_worker, and give its address; pgsched migrate goes on with this one"
)


def own_logins(url: str, passwords: Path) -> Logins:
    """The logins of a cluster that is ours. Raises PgschedError."""
    return _make(url, passwords, is_ours=True)


def instead_of_superuser(url: str, passwords: Path, reply: Reply) -> Logins | None:
    """Logins of our own where the address is a superuser's; None where it is not, or, with a note, where none can be.

    Raises PgschedError where the database cannot be reached.
    """
    with explained():
        if not is_superuser(url):
            _let_act_as_api(url, reply)
            return None
    try:
        return _make(url, passwords, is_ours=False)
    except (PgschedError, OSError) as error:
        reply.note(_NOT_POSSIBLE.format(error=error))
        return None


def _let_act_as_api(url: str, reply: Reply) -> None:
    try:
        let_act_as_api(url)
    except psycopg.Error as error:
        reply.note(f"the API will answer 503: grant its login the role pgsched_api ({str(error).strip()})")


def _make(url: str, passwords: Path, *, is_ours: bool) -> Logins:
    with explained():
        logins = make_logins(url, passwords, is_ours=is_ours)
    os.environ.pop("PGPASSWORD", None)  # it was the superuser's, and libpq prefers it to the file
    return logins
