"""The commands' way to the database: one connection, one transaction, and every error as one of ours."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection

from pgsched.errors import PgschedError
from pgsched.settings import Settings
from pgsched.store.core.own_connection import transaction_async
from pgsched.store.core.refusals import refusal

_Found = TypeVar("_Found")


def ask(settings: Settings, question: Callable[[AsyncConnection[Any]], Awaitable[_Found]]) -> _Found:
    """Runs ``question`` in a transaction of its own, which is committed when it returns.

    Raises Unavailable, SchemaMismatch, and what the database refused as the error it stands for.
    """

    async def run() -> _Found:
        async with transaction_async(settings.database_url or "") as connection:
            return await question(connection)

    with explained():
        return asyncio.run(run())


@contextmanager
def explained() -> Iterator[None]:
    """Lets the driver's errors out as ours, with a message of one line for whoever typed the command."""
    try:
        yield
    except Exception as error:
        # SQLAlchemy wraps the driver's error; importing it to say so would take longer than most commands.
        if not isinstance(getattr(error, "orig", error), psycopg.Error):
            raise
        found = refusal(error) or PgschedError(str(error))
        raise type(found)(" ".join(str(found).split())) from error
