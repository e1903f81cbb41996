"""Runs a command's question on the database, in one transaction, and converts database errors to PgschedErrors."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection

from pgsched.errors import PgschedError
from pgsched.settings import Settings
from pgsched.store.core.new_connection import transaction_async
from pgsched.store.core.refusals import refusal

_Found = TypeVar("_Found")


def ask(settings: Settings, question: Callable[[AsyncConnection[Any]], Awaitable[_Found]]) -> _Found:
    """Runs ``question`` in a transaction, and commits when ``question`` returns.

    Raises Unavailable, SchemaMismatch, or the PgschedError that corresponds to the database's error.
    """

    async def run() -> _Found:
        async with transaction_async(settings.database_url or "") as connection:
            return await question(connection)

    with explained():
        return asyncio.run(run())


@contextmanager
def explained() -> Iterator[None]:
    """Converts the driver's errors to a PgschedError with a one-line message."""
    try:
        yield
    except Exception as error:
        # SQLAlchemy wraps the driver's error as ``orig``. To import SQLAlchemy's class would take longer than most
        # commands.
        if not isinstance(getattr(error, "orig", error), psycopg.Error):
            raise
        found = refusal(error) or PgschedError(str(error))
        raise type(found)(" ".join(str(found).split())) from error
