"""Keeps the embedded PostgreSQL running while ``pgsched up`` is running.

A server that dies (for example, because the machine ran out of memory) is started again on the same port. Failed starts
are retried after growing pauses. The reason for a failure is reported once, and again only if it changes.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable

from pgsched.cli.supervisor import how_it_ended
from pgsched.embedded import EmbeddedPostgres
from pgsched.errors import EmbeddedPostgresError

_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 10.0
_STEADY = 60.0
"""A server that ran for more than this number of seconds is restarted without a pause."""


async def keep_running(server: EmbeddedPostgres, report: Callable[[str], None]) -> None:
    """Restarts the server whenever it dies, until cancelled. ``report`` is called with each message."""
    pause = 0.0
    while True:
        since = time.monotonic()
        while (status := server.exit_status) is None:  # noqa: ASYNC110  no event reports the end of a process
            await asyncio.sleep(0.2)
        report(f"PostgreSQL ended unexpectedly ({how_it_ended(status)}); starting it again")
        pause = 0.0 if time.monotonic() - since > _STEADY else _longer(pause)
        said, is_back = "", False
        while not is_back:
            await asyncio.sleep(pause)
            try:
                await _restart(server)
                is_back = True
            except EmbeddedPostgresError as error:
                pause = _longer(pause)
                if str(error) != said:
                    said = str(error)
                    report(f"PostgreSQL could not be started ({said}); trying again")
        report("PostgreSQL is running again")


def _longer(pause: float) -> float:
    return min(_LONGEST_PAUSE, max(_FIRST_PAUSE, pause * 2))


async def _restart(server: EmbeddedPostgres) -> None:
    """Restarts the server in a thread, because recovery may block for a long time. Aborts the start when cancelled."""
    starting = asyncio.create_task(asyncio.to_thread(server.restart))
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        server.give_up()
        with contextlib.suppress(EmbeddedPostgresError):
            await starting
        raise
