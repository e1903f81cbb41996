"""``pgsched up``: runs everything in one terminal, with an embedded PostgreSQL unless a database is given."""

import asyncio
import dataclasses
import importlib
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pgsched.cli.database_connection import explained
from pgsched.cli.log_setup import Relay, decided
from pgsched.cli.migrate import bring_up
from pgsched.cli.own_api_key import own_key
from pgsched.cli.own_logins import instead_of_superuser, own_logins
from pgsched.cli.own_secret_keys import own_secret_keys
from pgsched.cli.postgres_restarts import keep_running
from pgsched.cli.reply import Reply, json_option
from pgsched.cli.server_commands import shown, worker_program
from pgsched.cli.settings_flags import EVERYTHING, load_settings, settings_options
from pgsched.cli.supervised import api_program
from pgsched.cli.supervisor import Supervisor
from pgsched.cli.welcome import Welcome, embedded_psql, plain_psql
from pgsched.embedded import EmbeddedPostgres
from pgsched.errors import Conflict, InvalidSettings
from pgsched.extras import missing
from pgsched.own_files import make_directory
from pgsched.settings import Settings
from pgsched.store.core.pooler import check_sessions

if TYPE_CHECKING:
    from pgsched.metrics.serving import MetricsPage


@click.command()
@settings_options(EVERYTHING)
@json_option
@click.pass_obj
def up(reply: Reply, /, **flags: Any) -> None:
    """Start PostgreSQL (unless a database is given), migrate the schema, and start the API and the workers.

    Ctrl-C drains the workers and stops everything.
    """
    for stop in (signal.SIGTERM, signal.SIGQUIT):
        signal.signal(stop, lambda number, _: sys.exit(128 + number))
    if find_spec("litestar") is None:  # checked here because the API, a separate process, would report it only later
        raise InvalidSettings(missing("server", by="pgsched up"))
    settings = _with_free_port(load_settings(flags, delivers=True))
    run = _run_given if settings.database_url else _run_embedded
    with _api_begun() as begun:
        run(settings, reply, begun)


def _with_free_port(settings: Settings) -> Settings:
    """Returns the settings, with a free port instead of port 0. Raises Conflict if the port is taken, and
    InvalidSettings if the host name does not resolve."""
    host, port = settings.host, settings.port
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return dataclasses.replace(settings, port=probe.getsockname()[1])
    except socket.gaierror as error:
        raise InvalidSettings(f"host {host!r} does not resolve to an address: {error.strerror}") from None
    except OSError as error:
        raise Conflict(f"cannot listen on {host} port {port}: {error.strerror}; choose another --port") from None


@dataclasses.dataclass(frozen=True, slots=True)
class _Begun:
    """The API's process, and the event loop that started the process. The process does its imports while the database
    is being prepared."""

    api: asyncio.subprocess.Process
    runner: asyncio.Runner


@contextmanager
def _api_begun() -> Iterator[_Begun]:
    with asyncio.Runner() as runner:
        begun = _Begun(runner.run(api_program().begin()), runner)
        try:
            yield begun
        finally:
            runner.run(_ended(begun.api))


async def _ended(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.communicate()


def _run_embedded(settings: Settings, reply: Reply, begun: _Begun) -> None:
    make_directory(Path(settings.data_dir), "another --data-dir")
    directory = Path(settings.data_dir) / "postgres"
    reply.note(f"starting PostgreSQL in {directory}")
    _import_meanwhile("pgsched.store.admin.migrate")
    with EmbeddedPostgres(directory) as server:
        settings = _with_secret_keys(settings)
        _migrate(server.url, reply)
        logins = own_logins(server.url, directory / "logins")
        found = dataclasses.replace(settings, database_url=logins.url)
        server.announce(logins.url)
        psql, key = embedded_psql(logins.url), own_key(found)
        role = logins.client_role
        welcome = Welcome(settings=found, psql=psql, own_url=logins.told_url, sql_role=role, authorization=key)
        _run(found, reply, welcome, logins.api_url, begun, server)


def _import_meanwhile(name: str) -> None:
    """Imports a slow module in a thread, while initdb and the server keep another core busy. Later imports wait."""
    threading.Thread(target=importlib.import_module, args=(name,), daemon=True).start()


def _run_given(settings: Settings, reply: Reply, begun: _Begun) -> None:
    """Runs everything on the user's database. If the URL is a superuser's, uses pgsched's own logins instead."""
    settings = _with_secret_keys(settings)
    url = settings.database_url or ""
    _migrate(url, reply)
    with explained():
        begun.runner.run(check_sessions(url))
    logins = instead_of_superuser(url, Path(settings.data_dir) / "logins", reply)
    role = logins.client_role if logins else None
    found = dataclasses.replace(settings, database_url=logins.url) if logins else settings
    key = own_key(found)
    welcome = Welcome(settings=found, psql=plain_psql(url), sql_role=role, authorization=key)
    _run(found, reply, welcome, logins.api_url if logins else url, begun)


def _with_secret_keys(settings: Settings) -> Settings:
    if settings.secret_keys:
        return settings
    return dataclasses.replace(settings, secret_keys=own_secret_keys(Path(settings.data_dir)))


def _migrate(url: str, reply: Reply) -> None:
    _, missing = bring_up(url)
    if missing:
        reply.note(
            f"this login cannot create the missing roles {', '.join(missing)}; pgsched migrate prints the SQL for them"
        )


def _run(
    settings: Settings,
    reply: Reply,
    welcome: Welcome,
    api_url: str,
    begun: _Begun,
    server: EmbeddedPostgres | None = None,
) -> None:
    try:
        with shown(settings) as metrics:
            begun.runner.run(_supervise(settings, reply, welcome, api_url, begun.api, server, metrics))
    finally:  # the rest of the clean-up is quick, and must not be interrupted
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
    reply.note("stopped")


async def _supervise(
    settings: Settings,
    reply: Reply,
    welcome: Welcome,
    api_url: str,
    begun: asyncio.subprocess.Process,
    server: EmbeddedPostgres | None,
    metrics: "MetricsPage | None",
) -> None:
    settings = decided(settings)  # children write to a pipe, so they cannot choose the format themselves
    programs = [api_program(dataclasses.replace(settings, database_url=api_url))]
    numbers = range(1, settings.processes + 1)
    programs += [worker_program(number, settings, metrics) for number in numbers]
    log = Relay(reply.note, settings)
    supervisor = Supervisor(
        programs, drain_timeout=settings.drain_timeout, report=log.say, relay=log.line, begun={"api": begun}
    )
    async with _guarded(server, reply):
        await supervisor.run(on_ready=lambda: reply.give({**welcome.value(), "pid": os.getpid()}, welcome.text()))


@asynccontextmanager
async def _guarded(server: EmbeddedPostgres | None, reply: Reply) -> AsyncIterator[None]:
    if server is None:
        yield
        return
    guarding = asyncio.create_task(keep_running(server, reply.note))
    try:
        yield
    finally:
        guarding.cancel()
        await asyncio.wait([guarding])
