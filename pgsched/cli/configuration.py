"""Settings on the command line: the flag of each, and the merge with ``PGSCHED_*`` variables and ``pgsched.toml``."""

import dataclasses
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from pgsched.cli.reply import Command
from pgsched.cli.running import running_url
from pgsched.errors import InvalidSettings
from pgsched.settings import Settings, from_environment, load, unread

DEFAULT_FILE = Path("pgsched.toml")

_SECONDS = "SECONDS"
_FLAGS: dict[str, tuple[str | None, str]] = {
    "database_url": ("URL", "PostgreSQL to use, such as postgresql://user@host/database."),
    "host": ("ADDRESS", "Address on which the API listens."),
    "port": ("NUMBER", "Port on which the API listens; 0 takes a free one."),
    "data_dir": ("DIR", "Where the embedded PostgreSQL keeps its data."),
    "app": ("MODULE:NAME", "The pgsched.App whose handlers python: targets name."),
    "queues": ("NAMES", "Queues to serve, separated by commas."),
    "processes": ("NUMBER", "Worker processes."),
    "concurrency": ("NUMBER", "Executions that one process delivers at the same time."),
    "handler_threads": ("NUMBER", "Threads of one process for handlers that are not async."),
    "in_hand_bytes": ("NUMBER", "Bytes of large payloads and results that one process has in memory."),
    "batch": ("NUMBER", "Most rows that one claim takes."),
    "lease": (_SECONDS, "How long a claimed row is a worker's before others may take it."),
    "drain_timeout": (_SECONDS, "How long a stopping worker finishes what it has in hand."),
    "blocked_timeout": (_SECONDS, "How long a handler may block its process, before that ends itself; 0: for ever."),
    "receive_timeout": (_SECONDS, "How long a request to the API may take to arrive."),
    "send_timeout": (_SECONDS, "How long the API waits for a client that does not read its answer."),
    "poll_interval": (_SECONDS, "How long an idle worker waits when no notification arrives."),
    "look_ahead": (_SECONDS, "How early a row is claimed, to start at its instant."),
    "sideline_after": ("NUMBER", "Failures within ten seconds after which a target is left alone; 0: never."),
    "recovery_rate": ("NUMBER", "Executions a second that reach a target first when it is back."),
    "history_days": ("NUMBER", "Days for which finished executions are kept."),
    "audit_days": ("NUMBER", "Days for which the audit log is kept; 0 is for ever."),
    "connections_per_host": ("NUMBER", "Most connections of one process to one target host."),
    "allow_private_targets": (None, "Whether targets at private and loopback addresses are called."),
    "proxy": ("URL", "Proxy that all callbacks go through, such as http://user:password@host:3128."),
    "tls_authorities": ("FILE", "PEM file of authorities that callbacks trust beside the system's."),
    "tls_certificates": ("JSON", "PEM file of the certificate that is shown to each host, or client@host."),
    "notify": (None, "Whether workers listen for notifications; without, they poll."),
    "sql_role": ("ROLE", "Role as which functions of clients without a database_role are called."),
    "sql_login": ("PARAMETERS", "How workers log in to call functions; {role} stands for the role."),
    "kafka_brokers": ("HOSTS", "Kafka brokers, host:port separated by commas."),
    "kafka_config": ("JSON", "Further librdkafka settings, as a JSON object."),
    "log_level": ("LEVEL", "debug, info, warning or error."),
}
DATABASE = ("database_url", "data_dir")
API = ("database_url", "data_dir", "host", "port", "drain_timeout", "receive_timeout", "send_timeout", "log_level")
WORKER = tuple(name for name in _FLAGS if name not in {"host", "port", "receive_timeout", "send_timeout"})
EVERYTHING = tuple(_FLAGS)


def settings_options(names: tuple[str, ...]) -> Callable[[Command], Command]:
    """Gives a command the flags of these settings, and ``--config``; they arrive as keyword arguments."""

    def decorate(command: Command) -> Command:
        for name in reversed(names):
            command = _flag(name)(command)
        return click.option(
            "--config", metavar="FILE", help="File of settings.  [default: pgsched.toml, where there is one]"
        )(command)

    return decorate


def load_settings(flags: Mapping[str, Any], *, defaults: Mapping[str, Any] | None = None) -> Settings:
    """Merges the flags of a command, the environment and the file; ``defaults`` hold where none of them speaks.

    Raises InvalidSettings.
    """
    given = {name: value for name, value in flags.items() if name != "config"}
    file = _file(flags.get("config"))
    settings = load(flags=given, environment=os.environ, file=file)
    for variable in unread(os.environ):
        click.echo(f"note: {variable} is no setting, and not read", err=True)
    unsaid = {name: value for name, value in (defaults or {}).items() if not _is_said(name, given, file)}
    return dataclasses.replace(settings, **unsaid)


def with_database(settings: Settings) -> Settings:
    """The settings with a database: the one that was set, or that of a ``pgsched up`` running in this data directory.

    Raises InvalidSettings when there is neither.
    """
    url = settings.database_url or running_url(Path(settings.data_dir))
    if url is None:
        raise InvalidSettings(
            "which database? set --database-url or PGSCHED_DATABASE_URL, or run pgsched up in this directory"
        )
    return dataclasses.replace(settings, database_url=url)


def as_environment(settings: Settings) -> dict[str, str]:
    """The environment that gives a child process exactly these settings."""
    ours = {
        f"PGSCHED_{field.name.upper()}": str(value)
        for field in dataclasses.fields(settings)
        if (value := getattr(settings, field.name)) is not None
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PGSCHED_")}
    return {**inherited, **ours}


def _flag(name: str) -> Callable[[Command], Command]:
    metavar, text = _FLAGS[name]
    flag = name.replace("_", "-")
    if metavar is None:
        return click.option(f"--{flag}/--no-{flag}", name, default=None, help=text)
    return click.option(f"--{flag}", name, metavar=metavar, help=text)


def _file(chosen: str | None) -> Path | None:
    if chosen is not None:
        return Path(chosen)
    return DEFAULT_FILE if DEFAULT_FILE.is_file() else None


def _is_said(name: str, flags: Mapping[str, Any], file: Path | None) -> bool:
    if flags.get(name) is not None or name in from_environment(os.environ):
        return True
    return file is not None and name in tomllib.loads(file.read_text(encoding="utf-8"))
