"""Keeps the embedded PostgreSQL running while ``pgsched up`` does.

A server that ends by itself (the machine ran out of memory, somebody killed it) is started again on its port, and
recovers what was committed. Workers and API need nothing of this: to them the database is away for a while. What keeps
it from starting is said once, and again only where it becomes something else; the attempts go on, with longer pauses.
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
"""Seconds after which a server that ends is started again at once."""


async def keep_running(server: EmbeddedPostgres, report: Callable[[str], None]) -> None:
    """Starts the server again whenever it has ended, until it is cancelled. ``report`` gets what is said about it."""
    pause = 0.0
    while True:
        since = time.monotonic()
        while (status := server.exit_status) is None:  # noqa: ASYNC110  nothing tells that it has ended
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
                    report(f"PostgreSQL does not start yet, trying again: {said}")
        report("PostgreSQL is back")


def _longer(pause: float) -> float:
    return min(_LONGEST_PAUSE, max(_FIRST_PAUSE, pause * 2))


async def _restart(server: EmbeddedPostgres) -> None:
    """Restarts it in a thread, since that blocks for as long as a recovery takes. Cancelled, it gives the start up."""
    starting = asyncio.create_task(asyncio.to_thread(server.restart))
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        server.give_up()
        with contextlib.suppress(EmbeddedPostgresError):
            await starting
        raise
