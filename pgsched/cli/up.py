"""``pgsched up``: everything in one terminal, with its own PostgreSQL where none is given."""

import asyncio
import dataclasses
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from pgsched.cli.child import program
from pgsched.cli.configuration import EVERYTHING, load_settings, settings_options
from pgsched.cli.listening import with_free_port
from pgsched.cli.migrate import bring_up
from pgsched.cli.processes import worker_program
from pgsched.cli.reply import Reply, json_option
from pgsched.cli.running import owned
from pgsched.cli.supervisor import Supervisor
from pgsched.cli.welcome import Welcome, embedded_psql, plain_psql
from pgsched.settings import Settings


@click.command()
@settings_options(EVERYTHING)
@json_option
@click.pass_obj
def up(reply: Reply, /, **flags: Any) -> None:
    """Start everything: PostgreSQL unless one is given, the schema, the API, the workers. Ctrl-C drains and stops."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    settings = load_settings(flags)
    embedded = settings.database_url is None
    if embedded:
        settings = load_settings(flags, defaults={"allow_private_targets": True})
    settings = with_free_port(settings)
    if embedded:
        with _own_database(settings, reply) as (found, psql):
            _run(found, reply, Welcome(settings=found, psql=psql, embedded=True))
    else:
        _run(settings, reply, Welcome(settings=settings, psql=plain_psql(settings.database_url or ""), embedded=False))


@contextmanager
def _own_database(settings: Settings, reply: Reply) -> Iterator[tuple[Settings, str]]:
    from pgsched.embedded import EmbeddedPostgres

    directory = Path(settings.data_dir)
    with owned(directory) as ownership:
        reply.note(f"starting PostgreSQL in {directory / 'postgres'}")
        with EmbeddedPostgres(directory / "postgres") as server:
            ownership.announce(server.url)
            found = dataclasses.replace(settings, database_url=server.url)
            yield found, embedded_psql(server.url)


def _run(settings: Settings, reply: Reply, welcome: Welcome) -> None:
    _, missing = bring_up(settings.database_url or "")
    if missing:
        reply.note(f"roles that this role may not create are missing: {', '.join(missing)}; see pgsched migrate")
    try:
        asyncio.run(_supervise(settings, reply, welcome))
    finally:  # what is left to do is quick, and must not be cut short
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    reply.note("stopped")


async def _supervise(settings: Settings, reply: Reply, welcome: Welcome) -> None:
    programs = [program("api", ["api"], settings)]
    programs += [worker_program(number, settings) for number in range(1, settings.processes + 1)]
    supervisor = Supervisor(programs, drain_timeout=settings.drain_timeout, report=reply.note)
    await supervisor.run(on_ready=lambda: reply.give({**welcome.value(), "pid": os.getpid()}, welcome.text()))
