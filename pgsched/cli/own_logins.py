"""The logins that ``pgsched up`` gives the API and the workers, so that they do not run as a superuser."""

import os
from pathlib import Path

import psycopg

from pgsched.cli.database_connection import explained
from pgsched.cli.reply import Reply
from pgsched.errors import PgschedError
from pgsched.store.admin.up_logins import Logins, is_superuser, let_act_as_api, make_logins

_NOT_POSSIBLE = (
    "the API and the workers run as a superuser, because they cannot log in as a less privileged role ({error}). "
    "Create one (create role … login in role pgsched_worker) and start with its URL; use the superuser's only for "
    "pgsched migrate"
)


def own_logins(url: str, passwords: Path) -> Logins:
    """Returns the logins for the embedded server. Raises PgschedError."""
    return _make(url, passwords, is_ours=True)


def instead_of_superuser(url: str, passwords: Path, reply: Reply) -> Logins | None:
    """If the URL is a superuser's, creates and returns our own logins. Returns None for any other URL, and also, after
    printing a note, if the logins cannot be created. Raises PgschedError if the database cannot be reached."""
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
    os.environ.pop("PGPASSWORD", None)  # the superuser's password, which libpq would prefer to the password file
    return logins
