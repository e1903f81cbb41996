"""Whom a command asks: the database, or the API at an address.

Commands are written once, for a backend: ``DatabaseBackend`` and ``ApiBackend``, the client of the SDK, have the
methods that they call, and answer with the same types.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import click

from pgsched.cli.settings_flags import DATABASE, load_settings, with_database
from pgsched.errors import InvalidInput, InvalidSettings
from pgsched.password_hiding import has_password
from pgsched.settings import API, API_KEY

Question = Callable[[Any], Awaitable[Any]]
Ask = Callable[[Question], Any]
"""Asks a question of a backend, in a transaction of its own if that is the database."""


def api_option(*, hidden: bool = False) -> Callable[[Any], Any]:
    """``--api``; a command that only the database can answer has it to say so."""
    return click.option(
        "--api",
        metavar="URL",
        hidden=hidden,
        callback=_no_password,
        help=f"Ask the API at this address, with the key in {API_KEY}, instead of the database.",
    )


def _no_password(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
    if given and has_password(given):
        raise InvalidSettings(
            "--api has a password in it, and everybody on this machine can read the arguments of a process: leave it "
            f"out, and set {API_KEY} to the key"
        )
    return given


def asking(flags: Mapping[str, Any], api: str | None, actor: str | None = None) -> Ask:
    """How to ask whom the flags and the environment name, as the actor if one is given. Raises InvalidInput and
    InvalidSettings."""
    address = _address(flags, api)
    if address is None:
        return _asking_database(flags, actor)
    if actor is not None:
        raise InvalidInput("--actor does not go with --api: the audit log names whose key it is; leave it out")
    from pgsched.cli.api_backend import ask_api

    return lambda question: ask_api(address, os.environ.get(API_KEY), question)


def refuse_api(path: str, api: str | None) -> None:
    """Raises InvalidInput where an API was asked for what it cannot answer."""
    if api is not None:
        raise InvalidInput(f"{path} asks the database itself: leave --api out, and give --database-url")


def _address(flags: Mapping[str, Any], api: str | None) -> str | None:
    """The API's; what is said by a flag counts before the environment."""
    is_of_database = any(flags.get(name) is not None for name in DATABASE)
    if api is not None and is_of_database:
        raise InvalidInput("ask the API or the database: give --api, or --database-url or --data-dir, and not both")
    if is_of_database:
        return None
    return os.environ.get(API) or None if api is None else api


def _asking_database(flags: Mapping[str, Any], actor: str | None) -> Ask:
    from pgsched.cli.database_backend import DatabaseBackend
    from pgsched.cli.database_connection import ask

    settings = with_database(load_settings(flags))
    return lambda question: ask(settings, lambda connection: question(DatabaseBackend(connection, settings, actor)))
