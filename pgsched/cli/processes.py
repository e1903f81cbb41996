"""``pgsched api`` and ``pgsched worker``: the processes of a production installation, each in the foreground."""

import asyncio
import dataclasses
import logging
import os
import signal
import socket
from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from pgsched.cli.child import Orders, program, stop_when_orphaned
from pgsched.cli.configuration import API, WORKER, load_settings, settings_options, with_database
from pgsched.cli.database import explained
from pgsched.cli.logs import Relay, begin_log, decided
from pgsched.cli.reply import Reply, json_option
from pgsched.cli.supervisor import Program, Supervisor
from pgsched.errors import NotFound, Unavailable
from pgsched.events import Events, logging_listener
from pgsched.settings import Settings
from pgsched.store.admin.workers import of_host
from pgsched.store.core.transactions import transaction

supervised_option = click.option("--supervised", is_flag=True, hidden=True)
alone_option = click.option("--alone", type=int, hidden=True)
without_option = click.option("--without", multiple=True, hidden=True)


@click.command()
@settings_options(API)
@json_option
@supervised_option
@click.pass_obj
def api(reply: Reply, /, supervised: bool, **flags: Any) -> None:
    """Serve the REST API until SIGTERM or Ctrl-C."""
    settings = with_database(load_settings(flags))
    from pgsched.api.server import serve

    _begin(settings)
    if supervised:
        stop_when_orphaned(settings)
    events = Events(logging_listener(logging.getLogger("pgsched")))
    with explained():
        serve(
            settings, events=events, listening=lambda url: reply.give({"url": url, "pid": os.getpid()}, f"API: {url}")
        )


@click.command()
@settings_options(WORKER)
@click.option("--check", is_flag=True, help="Say whether a worker of this machine is alive; start none.")
@json_option
@supervised_option
@alone_option
@without_option
@click.pass_context
def worker(
    context: click.Context, /, check: bool, supervised: bool, alone: int | None, without: Sequence[str], **flags: Any
) -> None:
    """Deliver what is due until SIGTERM or Ctrl-C, then finish what is in hand."""
    settings = with_database(load_settings(flags))
    from pgsched.worker.run.channels import ways_out

    ways_out(settings)  # here, so that it is said once and not by each process
    reply: Reply = context.obj
    try:
        if check:
            _check(settings, reply)
        elif settings.processes > 1:
            _supervise(settings, reply)
        else:
            _work(settings, reply, supervised=supervised, alone=alone, without=without)
    except Unavailable as error:
        if not supervised:
            raise
        reply.fail(error.code, str(error))
        context.exit(os.EX_TEMPFAIL)


def _check(settings: Settings, reply: Reply) -> None:
    """Answers whether a worker of this machine is alive, for a container's health. Raises NotFound where none is."""
    host = socket.gethostname()
    with explained(), transaction(settings.database_url or "") as connection:
        found = of_host(connection, host)
    if not found:
        raise NotFound(f"no worker of {host} is alive as far as the database knows: look at what it has logged")
    reply.give({"workers": found}, f"alive: {', '.join(found)}")


def _work(settings: Settings, reply: Reply, *, supervised: bool, alone: int | None, without: Sequence[str]) -> None:
    from pgsched.cli.alone import Alone, teller
    from pgsched.cli.app import load_app
    from pgsched.process import run_worker

    _begin(settings)
    os.environ.pop("PGSCHED_SECRET_KEYS", None)  # it is in the settings; what handlers start is not to inherit it
    orders = Orders(settings) if supervised else None
    app = load_app(settings.app) if settings.app else None
    events = Events(logging_listener(logging.getLogger("pgsched")))
    with explained():
        if alone is not None:
            run_worker(settings, app=app, events=events, alone=teller(alone), without=without, orders=orders)
        else:
            ready, start_alone = partial(_ready, settings, reply), Alone(settings) if app else None
            run_worker(settings, app=app, events=events, ready=ready, start_alone=start_alone, orders=orders)


def _supervise(settings: Settings, reply: Reply) -> None:
    from pgsched.process import checked_database

    with explained():
        checked_database(settings)  # here, so that it is said once and not by each process
    asyncio.run(_keep_running(settings, reply))


async def _keep_running(settings: Settings, reply: Reply) -> None:
    settings = decided(settings)  # the processes write to this one, and not to where it writes
    programs = [worker_program(number, settings) for number in range(1, settings.processes + 1)]
    log = Relay(reply.note, settings)
    supervisor = Supervisor(programs, drain_timeout=settings.drain_timeout, report=log.say, relay=log.line)
    await supervisor.run(on_ready=partial(_ready, settings, reply))


def worker_program(number: int, settings: Settings) -> Program:
    """One worker process as a child."""
    return program(f"worker-{number}", ["worker"], dataclasses.replace(settings, processes=1))


def _ready(settings: Settings, reply: Reply) -> None:
    queues, count = settings.queue_names, settings.processes
    text = f"working on {', '.join(queues)}: {count} process{'es' if count > 1 else ''}"
    reply.give({"pid": os.getpid(), "processes": count, "queues": queues}, text)


def _begin(settings: Settings) -> None:
    # Until it serves nothing is in hand, so it may end on the spot. Raising SystemExit would be no safer: what is being
    # started may swallow it.
    for stop in (signal.SIGTERM, signal.SIGQUIT):
        signal.signal(stop, lambda *_: os._exit(0))
    begin_log(settings)
