"""Runs a worker process: checks the database, works until asked to stop, and drains."""

import asyncio
import contextlib
import functools
import os
import signal
import sys
import time
from collections.abc import Callable

import psycopg

from pgsched.delivery.app import App
from pgsched.delivery.exception_outcomes import describe
from pgsched.delivery.isolated_handlers import StartChild
from pgsched.delivery.threads import LoopsThreads
from pgsched.errors import InvalidSettings
from pgsched.metrics.files import Counting
from pgsched.scheduler import Containment, Worker
from pgsched.service import collect_seldom, event_text, is_away
from pgsched.settings import Settings
from pgsched.store.admin.schema_revisions import check_schema
from pgsched.store.admin.worker_registry import check_queues
from pgsched.store.core.fitness import check_not_following
from pgsched.store.core.new_connection import transaction
from pgsched.store.core.pooler import check_sessions, watch_sessions
from pgsched.telemetry import Events
from pgsched.worker.run.event_loop_runner import run_to_its_end
from pgsched.worker.run.forced_exit import ExitStatus, ProcessExit, end_forked_children, named

Orders = Callable[[Callable[[], None]], None]
_LOOK_EVERY, _ORDERS_WITHIN, _NEXT_TRY = 1.0, 2.0, 1.0
_SWITCH_INTERVAL = 0.0001
"""Seconds after which a computing thread yields the GIL. At each step, the event loop may wait this long for each
computing thread."""


async def _run(
    url: str,
    worker: Callable[[Callable[[], None]], Worker],
    *,
    ready: Callable[[], None] | None,
    orders: Orders | None,
    process_exit: ProcessExit | None,
) -> None:
    stop = asyncio.Event()
    running = worker(stop.set)
    _handle_signals(stop, running, orders)
    asyncio.get_running_loop().set_default_executor(LoopsThreads())
    await running.start()
    unfit: list[InvalidSettings] = []
    try:
        if ready:
            ready()
        watching = asyncio.create_task(_watch(url, stop, unfit))
        await _wait_until_stopped(stop, running, process_exit)
        watching.cancel()
        await running.drain()
    except BaseException as error:
        if process_exit is not None:  # exit at once, because closing the loop would wait for handlers and lanes
            process_exit.now(
                ExitStatus.BROKEN, f"the worker's main task ended: {describe(error)}", running.parts.dispatcher.running
            )
        raise
    if running.has_stragglers:
        # A thread cannot be interrupted, and a coroutine may ignore its cancellation. Their executions were settled or
        # handed back, so do not wait for them.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(2 if unfit else 0)
    if unfit:
        raise unfit[0]


async def _watch(url: str, stop: asyncio.Event, unfit: list[InvalidSettings]) -> None:
    """Stops the worker if a connection pooler no longer provides real sessions, which workers need."""
    try:
        await watch_sessions(url)
    except InvalidSettings as error:
        sys.stderr.write(f"stopping: {error}\n")
        unfit.append(error)
        stop.set()


def _handle_signals(stop: asyncio.Event, running: Worker, orders: Orders | None) -> None:
    """Arranges that the supervisor's order or, without a supervisor, a signal sets ``stop``. A supervised process only
    logs signals, because any of its handlers can send them."""
    loop = asyncio.get_running_loop()
    if orders is not None:
        orders(functools.partial(_set_from_a_thread, loop, stop))

    def report_ignored(number: signal.Signals) -> None:
        if not stop.is_set():
            running.parts.events.emit(
                "signal.ignored", signal=number.name, running=named(running.parts.dispatcher.running)
            )

    waiting: dict[int, asyncio.TimerHandle] = {}

    def receive(number: signal.Signals) -> None:
        if orders is None:
            stop.set()
        elif number not in waiting or waiting[number].when() < loop.time():
            waiting[number] = loop.call_later(_ORDERS_WITHIN, report_ignored, number)  # the order may still arrive

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        loop.add_signal_handler(number, receive, number)


def _set_from_a_thread(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is already closed
        loop.call_soon_threadsafe(stop.set)


async def _wait_until_stopped(stop: asyncio.Event, running: Worker, process_exit: ProcessExit | None) -> None:
    """Waits until ``stop`` is set. Ends the process if a part of the worker ends first."""
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _LOOK_EVERY)
        if process_exit is not None and not stop.is_set() and (broken := running.broken):
            process_exit.now(
                ExitStatus.BROKEN,
                f"these parts of the worker have stopped or are stuck: {broken}",
                running.parts.dispatcher.running,
            )


def run_worker(
    settings: Settings,
    *,
    app: App | None = None,
    events: Events | None = None,
    ready: Callable[[], None] | None = None,
    start_child: StartChild | None = None,
    orders: Orders | None = None,
    counting: Counting | None = None,
    waits: bool = False,
) -> None:
    """Runs a worker process until SIGTERM, SIGINT or SIGQUIT, then drains and returns. Ends the process if a handler
    keeps it from working (``worker.run.forced_exit``), unless ``blocked_timeout`` is 0.

    ``start_child`` starts a process for handlers that may end their process (``delivery.isolated_handlers``).
    ``orders`` receives a thread-safe function that stops the worker; if ``orders`` is given, signals are only logged.
    ``counting`` counts for the metrics. If ``waits`` is true, the process waits for a database that cannot be reached
    at the start.

    Raises SchemaMismatch if the database is not migrated, Conflict if it follows another database by logical
    replication, NotFound if a queue does not exist, InvalidSettings if a pooler provides no real sessions (at the start
    or later), and Unavailable or psycopg's OperationalError if the database cannot be reached at the start. The process
    survives later outages.
    """
    events = events or Events()
    url = awaited_database(settings, events) if waits else checked_database(settings)
    end_forked_children()
    tune_interpreter()
    process_exit = (
        ProcessExit(events, after=settings.blocked_timeout + settings.lease) if settings.blocked_timeout else None
    )

    def make(drain: Callable[[], None]) -> Worker:
        containment = Containment(start_child=start_child, drain=drain, process_exit=process_exit)
        return Worker(settings, app=app, events=events, containment=containment, counting=counting)

    run_to_its_end(_run(url, make, ready=ready, orders=orders, process_exit=process_exit), events)


def checked_database(settings: Settings) -> str:
    """Returns the database's URL. Raises the same errors as ``run_worker`` if a worker cannot use the database."""
    if settings.database_url is None:
        raise InvalidSettings("database_url is missing: set it, or the environment variable PGSCHED_DATABASE_URL")
    with transaction(settings.database_url) as connection:
        check_schema(connection)
        check_not_following(connection)
        check_queues(connection, settings.queue_names)
    asyncio.run(check_sessions(settings.database_url))
    return settings.database_url


def awaited_database(settings: Settings, events: Events) -> str:
    """Waits until the database can be reached, and then returns its URL like ``checked_database``. Emits an event for
    each failed try, and another when the database can be reached again."""
    began, failures = time.monotonic(), 0
    while True:
        try:
            url = checked_database(settings)
        except psycopg.OperationalError as error:
            if not is_away(error):
                raise
            failures += 1
            events.emit("service.failed", service="start", away=True, by_database=True, error=event_text(error))
            time.sleep(_NEXT_TRY)
            continue
        if failures:
            lasted = round(time.monotonic() - began, 3)
            events.emit("service.recovered", service="start", failures=failures, seconds=lasted)
        return url


def tune_interpreter() -> None:
    """Shortens the event loop's waits for threads and for the garbage collector."""
    sys.setswitchinterval(_SWITCH_INTERVAL)
    collect_seldom()
