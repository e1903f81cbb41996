"""One worker as a process of its own: checked, run until it is told to stop, drained."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from pgsched.delivery.python import App
from pgsched.domain.execution import Execution
from pgsched.errors import InvalidSettings
from pgsched.events import Events
from pgsched.scheduler import Trials, Worker
from pgsched.settings import Settings
from pgsched.store.admin.migrate import check_schema
from pgsched.store.admin.workers import check_queues
from pgsched.store.core.following import check_not_following
from pgsched.store.core.pooling import check_sessions, watch_sessions
from pgsched.store.core.transactions import transaction
from pgsched.worker.run import forks
from pgsched.worker.run.witness import Start


def _runner() -> Callable[[Coroutine[Any, Any, None]], None]:
    """uvloop where there is one: it has none for Windows, nor for other Pythons."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    return uvloop.run


async def _run(url: str, worker: Callable[[Callable[[], None]], Worker], ready: Callable[[], None] | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        loop.add_signal_handler(number, stop.set)
    running = worker(stop.set)
    await running.start()
    if ready:
        ready()
    unfit: list[InvalidSettings] = []
    watching = asyncio.create_task(_watch(url, stop, unfit))
    await stop.wait()
    watching.cancel()
    await running.drain()
    if running.has_stragglers:
        # A thread cannot be interrupted, and a coroutine may refuse to be. All is settled and handed back: what they
        # still do is of no account, and the process must not wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(2 if unfit else 0)
    if unfit:
        raise unfit[0]


async def _watch(url: str, stop: asyncio.Event, unfit: list[InvalidSettings]) -> None:
    """Stops the worker where a pooler was told to leave it no sessions any more."""
    try:
        await watch_sessions(url)
    except InvalidSettings as error:
        sys.stderr.write(f"stopping: {error}\n")
        unfit.append(error)
        stop.set()


def run_worker(
    settings: Settings,
    *,
    app: App | None = None,
    events: Events | None = None,
    ready: Callable[[], None] | None = None,
    start_alone: Start | None = None,
    alone: Callable[[Execution], None] | None = None,
) -> None:
    """Runs one worker process until SIGTERM or SIGINT, then drains and returns.

    ``start_alone`` starts a process for what may have ended its worker's; with ``alone`` this is such a process, which
    returns when nothing waits for it any more.

    Raises SchemaMismatch when the database was not migrated, Conflict where it follows another by logical replication,
    NotFound for a queue that does not exist, InvalidSettings where a pooler leaves it no sessions, now or one day, and
    Unavailable or psycopg's OperationalError when the database cannot be reached at the start; afterwards it may come
    and go.
    """
    if settings.database_url is None:
        raise InvalidSettings("which database? set database_url, or PGSCHED_DATABASE_URL")
    with transaction(settings.database_url) as connection:
        check_schema(connection)
        check_not_following(connection)
        check_queues(connection, settings.queue_names)
    asyncio.run(check_sessions(settings.database_url))
    forks.guard()
    # Rows live for milliseconds; what start-up made lives for ever. Collecting seldom and young keeps pauses short.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)

    def make(over: Callable[[], None]) -> Worker:
        trials = Trials(start=start_alone, tell=alone, over=over)
        return Worker(settings, app=app, events=events or Events(), trials=trials)

    _runner()(_run(settings.database_url, make, ready))
