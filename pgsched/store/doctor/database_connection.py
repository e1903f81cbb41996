"""Checks the connection to the database: poolers, notifications, clocks. Checks that need the address are skipped if it
is unknown.
"""

import asyncio
import secrets
import time

from psycopg import AsyncConnection

from pgsched.errors import Unavailable
from pgsched.store.core.listening import listen
from pgsched.store.core.pooler import has_sessions, is_pooled
from pgsched.store.core.query import value
from pgsched.store.core.session_settings import KEPT_ALIVE
from pgsched.store.core.sql import statement
from pgsched.store.doctor.finding import CheckContext, Finding, error, note, seconds_in, warning

_HEARD_WITHIN = 3.0


async def pooler(ground: CheckContext) -> list[Finding]:
    """Checks whether the address leads to a pooler, and whether workers could use it."""
    if ground.url is None:
        return []
    async with await _connected(ground.url) as connection:
        if not await is_pooled(connection):
            return []
    try:
        sessions = await has_sessions(ground.url)
    except Unavailable as full:
        return [
            warning(
                f"the pooler that database_url leads to has no free connections: {full}",
                why="Everything that needs a connection has to wait.",
                do="Make its pool larger: ten connections per worker process and ten per API process.",
            )
        ]
    if sessions:
        return [
            note(
                "database_url leads to a pooler that uses one server connection for each session",
                why="This works, but each connection of the workers and the API takes up a server connection.",
                do="Nothing.",
            )
        ]
    return [
        note(
            "database_url leads to a pooler that lends a server connection for one transaction at a time",
            why="This is enough for the API and for commands, but a worker refuses to start with this address.",
            do="Give workers PostgreSQL's own address, or a pool in session mode: docs/how-to/pgbouncer.md.",
        )
    ]


async def round_trip(ground: CheckContext) -> list[Finding]:
    """Checks whether a notification arrives, and how soon."""
    if ground.url is None:
        return []
    channel, word = f"pgsched_doctor_{secrets.token_hex(8)}", secrets.token_hex(8)
    async with await _connected(ground.url) as connection:
        if await is_pooled(connection):
            return []  # behind a pooler, listeners have sessions of their own, or do not listen
        await listen(connection, channel)
        before = time.monotonic()
        sent = await connection.execute(statement("core/notify"), {"channel": channel, "said": word})
        if not sent.rowcount:
            return []  # the notification queue is filling up; another check reports this
        took = await _heard(connection, word, before)
    if took is None:
        return [
            error(
                f"a notification did not arrive within {seconds_in(_HEARD_WITHIN)}",
                why="Workers then find new executions only by polling, up to a second late.",
                do="Check the network between this machine and the server, and whether the server writes its log "
                "slowly.",
            )
        ]
    return [] if took < ground.bounds.round_trip else [_slow(took)]


def _slow(took: float) -> Finding:
    return warning(
        f"a notification took {seconds_in(took)} to arrive",
        why="Executions that are due immediately start that much later.",
        do="Check the server's load, and how long commits take: the disk may be slow, or commits may wait for a "
        "standby.",
    )


async def _heard(connection: AsyncConnection, word: str, before: float) -> float | None:
    async for notification in connection.notifies(timeout=_HEARD_WITHIN):
        if notification.payload == word:
            return time.monotonic() - before
    return None


async def clock(ground: CheckContext) -> list[Finding]:
    """Compares this machine's clock with the database's."""
    before = time.time()
    theirs = (await value(ground.connection, "core/clock")).timestamp()
    after = time.time()
    skew = max(before - theirs, theirs - after, 0.0)
    if skew < ground.bounds.skew:
        return []
    side = "behind" if theirs > after else "ahead of"
    return [
        warning(
            f"this machine's clock is {seconds_in(skew)} {side} the database's",
            why="Executions follow the database's clock, but instants that are computed here, and tokens and "
            "certificates that are checked here, follow this machine's.",
            do="Synchronise both machines' clocks with the same source: see chronyc tracking, or timedatectl "
            "timesync-status.",
        )
    ]


async def _connected(url: str) -> AsyncConnection:
    async with asyncio.timeout(6):
        return await AsyncConnection.connect(
            url, autocommit=True, prepare_threshold=None, **{**KEPT_ALIVE, "application_name": "pgsched doctor"}
        )
