"""The health checks of a process: is it alive, and can it serve requests?"""

import asyncio
from typing import Literal

import msgspec
from litestar import get

from pgsched.api.access import PUBLIC, SCOPE
from pgsched.api.parameters import Pooled
from pgsched.api.routing import problems
from pgsched.errors import Unavailable
from pgsched.store.admin.schema_revisions import expected_revision, is_served, mismatch, newest_of, revisions_async
from pgsched.store.core.fitness import READ_ONLY, takes_writes


class Health(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The health of the process, and the ``revision`` of the schema."""

    status: Literal["alive", "ready"]
    revision: str | None = None


@get("/healthz", summary="Check that the process is alive", opt={SCOPE: PUBLIC}, security=[{}])
async def alive() -> Health:
    """This check does not query the database."""
    return Health(status="alive")


@get(
    "/readyz",
    summary="Check that the database is reachable and migrated",
    responses={503: problems()[503]},
    opt={SCOPE: PUBLIC},
    security=[{}],
)
async def ready(database: Pooled) -> Health:
    """The status is 503 while the database is unreachable or read-only, or has a schema that this release does not
    support."""
    wanted = await asyncio.to_thread(expected_revision)  # read from files, once
    async with database.connection() as connection:
        found = await revisions_async(connection)
        if not await is_served(connection, found):
            raise await asyncio.to_thread(mismatch, found)
        if not await takes_writes(connection):
            await connection.close()  # a new connection may reach the primary
            raise Unavailable(READ_ONLY)
    return Health(status="ready", revision=newest_of(found) or wanted)
