"""Chooses a command's backend: the database, or the API at an address.

``DatabaseBackend`` and ``ApiBackend`` (a subclass of the SDK's client) have the same methods and return the same types,
so that each command is written once.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import click

from pgsched.cli.settings_flags import DATABASE, load_settings, with_database
from pgsched.cli.settings_sources import API, API_KEY
from pgsched.errors import InvalidInput, InvalidSettings
from pgsched.password_hiding import has_password

Question = Callable[[Any], Awaitable[Any]]
Ask = Callable[[Question], Any]
"""Runs a question on a backend. On the database, each question has its own transaction."""


def api_option(*, hidden: bool = False) -> Callable[[Any], Any]:
    """Adds ``--api``. With ``hidden``, the help omits the flag, because the command needs the database and only
    explains why it refuses ``--api``."""
    return click.option(
        "--api",
        metavar="URL",
        hidden=hidden,
        callback=_no_password,
        help=f"Use the API at this address instead of the database, with the key in {API_KEY}.",
    )


def _no_password(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
    if given and has_password(given):
        raise InvalidSettings(
            "--api contains a password, and every user of this machine can read process arguments: leave the "
            f"password out and set {API_KEY} to the key"
        )
    return given


def asking(flags: Mapping[str, Any], api: str | None, actor: str | None = None) -> Ask:
    """Returns a function that runs questions on the backend selected by the flags and the environment. ``actor``, if
    given, is the author of changes. Raises InvalidInput if flags contradict each other, and InvalidSettings if settings
    are invalid."""
    address = _address(flags, api)
    if address is None:
        return _asking_database(flags, actor)
    if actor is not None:
        raise InvalidInput(
            "--actor and --api cannot be combined: leave --actor out; the audit log records the key's subject"
        )
    from pgsched.cli.api_backend import ask_api

    return lambda question: ask_api(address, os.environ.get(API_KEY), question)


def refuse_api(path: str, api: str | None) -> None:
    """Raises InvalidInput if ``--api`` was given to a command that needs the database."""
    if api is not None:
        raise InvalidInput(f"{path} needs the database itself: give --database-url instead of --api")


def _address(flags: Mapping[str, Any], api: str | None) -> str | None:
    """Returns the API's address, or None for the database. Flags take precedence over the environment."""
    is_of_database = any(flags.get(name) is not None for name in DATABASE)
    if api is not None and is_of_database:
        raise InvalidInput("--api cannot be combined with --database-url or --data-dir: leave one of them out")
    if is_of_database:
        return None
    return os.environ.get(API) or None if api is None else api


def _asking_database(flags: Mapping[str, Any], actor: str | None) -> Ask:
    from pgsched.cli.database_backend import DatabaseBackend
    from pgsched.cli.database_connection import ask

    settings = with_database(load_settings(flags))
    return lambda question: ask(settings, lambda connection: question(DatabaseBackend(connection, settings, actor)))
