"""The flags for settings, which are merged with ``PGSCHED_*`` variables and ``pgsched.toml``."""

import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from pgsched.cli.options import no_password, options
from pgsched.cli.own_secret_keys import kept_keys
from pgsched.cli.reply import Command
from pgsched.cli.settings_sources import load, unread
from pgsched.embedded.data_directory_lock import running_url
from pgsched.errors import InvalidSettings
from pgsched.settings import Settings

DEFAULT_FILE = Path("pgsched.toml")

_FLAGS = {setting.name: setting for setting in dataclasses.fields(Settings) if not setting.metadata["secret"]}
_CONFIG = click.option("--config", metavar="FILE", help="Settings file.  [default: pgsched.toml, if it exists]")
_METAVARS: dict[Any, str] = {int: "NUMBER", float: "SECONDS"}
DATABASE = ("database_url", "data_dir")
API = (
    "database_url",
    "data_dir",
    "host",
    "allowed_hosts",
    "port",
    "oidc",
    "dashboard",
    "drain_timeout",
    "receive_timeout",
    "send_timeout",
    "tracing",
    "log_format",
    "log_level",
)
WORKER = tuple(
    name
    for name in _FLAGS
    if name not in {"host", "allowed_hosts", "port", "oidc", "dashboard", "receive_timeout", "send_timeout"}
)
EVERYTHING = tuple(_FLAGS)


def settings_options(names: tuple[str, ...]) -> Callable[[Command], Command]:
    """Adds the flags of these settings, and ``--config``. The command gets their values as keyword arguments."""

    return options(_CONFIG, *map(_flag, names))


def load_settings(flags: Mapping[str, Any], *, delivers: bool = False) -> Settings:
    """Merges a command's flags, the environment and the configuration file. If none of them sets ``secret_keys``, uses
    the keys that ``pgsched up`` stored in the data directory. Raises InvalidSettings if a setting is invalid.

    With ``delivers`` and the embedded database of ``pgsched up``, private targets are allowed by default. The targets
    of such a database are usually on the same machine, and all its workers should treat them alike.
    """
    given = {name: value for name, value in flags.items() if name != "config"}
    file = _file(flags.get("config"))
    settings = load(flags=given, environment=os.environ, file=file)
    if delivers and settings.database_url is None:
        settings = load(flags=given, environment=os.environ, file=file, defaults={"allow_private_targets": True})
    for variable in unread(os.environ):
        click.echo(f"note: {variable} is not a setting and is ignored", err=True)
    if settings.secret_keys:
        return settings
    return dataclasses.replace(settings, secret_keys=kept_keys(Path(settings.data_dir)))


def with_database(settings: Settings) -> Settings:
    """Returns the settings with a database: the database that is set or, if there is none, that of the ``pgsched up``
    running in this data directory. Raises InvalidSettings if there is neither."""
    url = settings.database_url or running_url(Path(settings.data_dir) / "postgres")
    if url is None:
        raise InvalidSettings(
            "no database is given: set --database-url or PGSCHED_DATABASE_URL, or run pgsched up in this directory"
        )
    return dataclasses.replace(settings, database_url=url)


def as_environment(settings: Settings) -> dict[str, str]:
    """Returns the environment for a child process with exactly these settings."""
    return without_settings() | as_variables(settings)


def as_variables(settings: Settings) -> dict[str, str]:
    """Returns the environment variables for these settings."""
    return {
        f"PGSCHED_{field.name.upper()}": str(value)
        for field in dataclasses.fields(settings)
        if (value := getattr(settings, field.name)) is not None
    }


def without_settings() -> dict[str, str]:
    """Returns this process's environment without ``PGSCHED_*`` variables."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PGSCHED_")}


def _flag(name: str) -> Callable[[Command], Command]:
    setting, flag = _FLAGS[name], name.replace("_", "-")
    text = setting.metadata["text"]
    if setting.type is bool:
        return click.option(f"--{flag}/--no-{flag}", name, default=None, help=text)
    metavar = _METAVARS.get(setting.type) or setting.metadata["metavar"]
    callback = no_password if setting.metadata["password"] else None
    return click.option(f"--{flag}", name, metavar=metavar, help=text, callback=callback)


def _file(chosen: str | None) -> Path | None:
    if chosen is not None:
        return Path(chosen)
    return DEFAULT_FILE if DEFAULT_FILE.is_file() else None
