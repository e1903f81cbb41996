"""Sending statements over a connection of asyncpg, which pgsched does not import.

asyncpg numbers its parameters, and its method for COPY writes the statement itself.
"""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from functools import cache
from typing import Any, Protocol, TypeGuard

from pgsched.store.core.sql import statement
from pgsched.store.schedule.many import Load

_COPY = re.compile(r"(\w+)\.(\w+) \((.+)\) from stdin \(format (\w+)\)")


class Fetches(Protocol):
    """A connection of asyncpg, or one that its pool lends, as far as it is used here."""

    def transaction(self) -> Any: ...

    def is_in_transaction(self) -> bool: ...

    def get_settings(self) -> Any: ...

    async def execute(self, query: str, *parameters: Any) -> Any: ...

    async def fetch(self, query: str, *parameters: Any) -> Any: ...

    async def fetchrow(self, query: str, *parameters: Any) -> Any: ...

    async def copy_to_table(self, table_name: str, **options: Any) -> Any: ...


def is_of_asyncpg(candidate: Any) -> TypeGuard[Fetches]:
    """Whether it is a connection of asyncpg, or one that its pool lends."""
    asyncpg = sys.modules.get("asyncpg")
    return asyncpg is not None and isinstance(candidate, asyncpg.Connection | asyncpg.pool.PoolConnectionProxy)


@cache
def numbered(name: str) -> tuple[str, tuple[str, ...]]:
    """The statement with numbered parameters, and the names of these. JSON goes as text: a codec that the application
    has set for it would encode it once more."""
    names: list[str] = []

    def number(found: re.Match[str]) -> str:
        names.append(found[1])
        return f"${len(names)}" + ("::text as jsonb" if found[2] else "")

    return re.sub(r"%\((\w+)\)s( as jsonb)?", number, statement(name)), tuple(names)


def encoding_of(connection: Fetches) -> str:
    """The encoding of its text, by Python's name."""
    name: str = connection.get_settings().get_text_codec().name
    return name


async def send(connection: Fetches, load: Load) -> None:
    """Sends all of a load in the connection's transaction."""
    while not load.exhausted:
        if load.start.without_copy:
            load.fill()
        else:
            await _copy(connection, load)
        for aside in load.set_aside():
            text, names = numbered(aside.statement)
            load.note(aside, await connection.fetch(text, *[_values(aside.columns[name]) for name in names]))


async def _copy(connection: Fetches, load: Load) -> None:
    found = _COPY.search(statement("schedule/copy_many"))
    assert found is not None
    schema, table, columns, kind = found.groups()
    await connection.copy_to_table(
        table, source=_blocks(load), schema_name=schema, columns=columns.split(", "), format=kind
    )


async def _blocks(load: Load) -> AsyncIterator[bytes]:
    for block in load.blocks():
        yield block
        await asyncio.sleep(0)  # what can be written at once lets nobody else have a turn


def _values(column: tuple[Any, ...]) -> list[Any]:
    return [value.decode() if isinstance(value, bytes) else value for value in column]
