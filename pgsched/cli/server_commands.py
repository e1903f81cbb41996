"""``pgsched api`` and ``pgsched worker``: the processes of a production installation, which run in the foreground."""

import asyncio
import dataclasses
import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pgsched.cli.database_connection import explained
from pgsched.cli.log_setup import Relay, begin_log, decided
from pgsched.cli.reply import Reply, json_option
from pgsched.cli.settings_flags import API, WORKER, load_settings, settings_options, with_database
from pgsched.cli.supervised import Orders, counting_words, hear_settings, program, stop_when_orphaned
from pgsched.cli.supervisor import Program, Supervisor
from pgsched.errors import NotFound, Unavailable
from pgsched.extras import extra
from pgsched.metrics.counters import Counters
from pgsched.metrics.files import Counting
from pgsched.settings import Settings
from pgsched.store.admin.worker_registry import of_host
from pgsched.store.core.new_connection import transaction
from pgsched.telemetry import Events, logging_listener

if TYPE_CHECKING:
    from pgsched.metrics.serving import MetricsPage

supervised_option = click.option("--supervised", is_flag=True, hidden=True)
told_option = click.option("--told", is_flag=True, hidden=True)
isolated_option = click.option("--isolated", is_flag=True, hidden=True)
count_option = click.option("--count-into", type=Path, hidden=True)


@click.command()
@settings_options(API)
@json_option
@supervised_option
@told_option
@click.pass_obj
def api(reply: Reply, /, supervised: bool, told: bool, **flags: Any) -> None:
    """Serve the REST API until SIGTERM or Ctrl-C."""
    with extra("server", by="pgsched api"):
        from pgsched.api.server import serve  # imported first, because the parent may still be preparing the database
    if told:
        hear_settings()
    settings = with_database(load_settings(flags))
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
@click.option("--check", is_flag=True, help="Only check whether a worker on this machine is running.")
@json_option
@supervised_option
@isolated_option
@count_option
@click.pass_context
def worker(
    context: click.Context,
    /,
    check: bool,
    supervised: bool,
    isolated: bool,
    count_into: Path | None,
    **flags: Any,
) -> None:
    """Deliver what is due until SIGTERM or Ctrl-C, then finish what is in flight."""
    settings = with_database(load_settings(flags, delivers=True))
    if isolated:
        _serve_isolated(settings)
        return
    from pgsched.scheduler.channels import ways_out

    ways_out(settings)  # reports invalid settings once, instead of in each process
    reply: Reply = context.obj
    try:
        if check:
            _check(settings, reply)
            return
        with shown(settings) as metrics:
            if settings.processes > 1:
                _supervise(settings, reply, metrics)
            else:
                _work(settings, reply, metrics, supervised=supervised, count_into=count_into)
    except Unavailable as error:
        if not supervised:
            raise
        reply.fail(error.code, str(error))
        context.exit(os.EX_TEMPFAIL)


def _check(settings: Settings, reply: Reply) -> None:
    """Lists this machine's running workers, for a container's health check. Raises NotFound if there are none."""
    host = socket.gethostname()
    with explained(), transaction(settings.database_url or "") as connection:
        found = of_host(connection, host)
    if not found:
        raise NotFound(f"there is no live worker on {host} in the database: check the worker's log")
    reply.give({"workers": found}, f"alive: {', '.join(found)}")


@contextmanager
def shown(settings: Settings) -> Iterator["MetricsPage | None"]:
    """Serves the metrics of the worker processes during the block, if ``metrics`` is set."""
    if not settings.metrics:
        yield None
        return
    with extra("server", by="metrics"):
        from pgsched.metrics.serving import serving
    with serving(settings.metrics) as metrics:
        yield metrics


def _work(
    settings: Settings, reply: Reply, metrics: "MetricsPage | None", *, supervised: bool, count_into: Path | None
) -> None:
    """Runs a worker in this process. ``count_into`` is the supervisor's directory for counts, if there are
    several processes."""
    from pgsched.cli.isolated import child_starter
    from pgsched.cli.load_app import load_app
    from pgsched.worker_process import run_worker

    _begin(settings)
    os.environ.pop("PGSCHED_SECRET_KEYS", None)  # programs that handlers start must not inherit the keys
    orders = Orders(settings) if supervised else None
    app = load_app(settings.app) if settings.app else None
    into = metrics.directory if metrics else count_into
    counting = Counting(Counters(), into) if into else None
    with explained():
        run_worker(
            settings,
            app=app,
            events=_events(counting),
            ready=partial(_ready, settings, reply, metrics),
            start_child=child_starter(settings) if app else None,
            orders=orders,
            counting=counting,
            waits=not supervised,  # a supervisor restarts the process instead
        )


def _serve_isolated(settings: Settings) -> None:
    from pgsched.cli.isolated import serve_isolated

    _begin(settings)
    with explained():
        serve_isolated(settings, _events(None))


def _events(counting: Counting | None) -> Events:
    log = logging_listener(logging.getLogger("pgsched"))
    return Events(log, counting.counters, observers=[counting.counters]) if counting else Events(log)


def _supervise(settings: Settings, reply: Reply, metrics: "MetricsPage | None") -> None:
    from pgsched.worker_process import awaited_database

    _begin(settings)
    with explained():
        awaited_database(settings, _events(None))  # reports a missing database once, instead of in each process
    asyncio.run(_keep_running(settings, reply, metrics))


async def _keep_running(settings: Settings, reply: Reply, metrics: "MetricsPage | None") -> None:
    settings = decided(settings)  # children write to a pipe, so they cannot choose the format themselves
    programs = [worker_program(number, settings, metrics) for number in range(1, settings.processes + 1)]
    log = Relay(reply.note, settings)
    supervisor = Supervisor(programs, drain_timeout=settings.drain_timeout, report=log.say, relay=log.line)
    await supervisor.run(on_ready=partial(_ready, settings, reply, metrics))


def worker_program(number: int, settings: Settings, metrics: "MetricsPage | None") -> Program:
    """Returns the program for one worker process. If there is a metrics page, the process writes counts for it."""
    own = dataclasses.replace(settings, processes=1, metrics="")
    return program(f"worker-{number}", ["worker", *counting_words(metrics.directory if metrics else None)], own)


def _ready(settings: Settings, reply: Reply, metrics: "MetricsPage | None") -> None:
    queues, count = settings.queue_names, settings.processes
    text = f"working on {', '.join(queues)}: {count} process{'es' if count > 1 else ''}"
    value = {"pid": os.getpid(), "processes": count, "queues": queues}
    if metrics:
        value, text = {**value, "metrics": metrics.url}, f"{text}; metrics: {metrics.url}"
    reply.give(value, text)


def _begin(settings: Settings) -> None:
    # Nothing is in flight during startup, so the process can exit at once. Other code could catch a SystemExit.
    for stop in (signal.SIGTERM, signal.SIGQUIT):
        signal.signal(stop, lambda *_: os._exit(0))
    begin_log(settings)
