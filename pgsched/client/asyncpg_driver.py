"""Runs pgsched's statements on an asyncpg connection, without importing asyncpg.

asyncpg needs numbered parameters, and its COPY method builds the statement itself.
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
    """The methods that this module calls on an asyncpg connection, or on the proxy that a pool returns."""

    def transaction(self) -> Any: ...

    def is_in_transaction(self) -> bool: ...

    def get_settings(self) -> Any: ...

    async def execute(self, query: str, *parameters: Any) -> Any: ...

    async def fetch(self, query: str, *parameters: Any) -> Any: ...

    async def fetchrow(self, query: str, *parameters: Any) -> Any: ...

    async def copy_to_table(self, table_name: str, **options: Any) -> Any: ...


def is_of_asyncpg(candidate: Any) -> TypeGuard[Fetches]:
    """Whether ``candidate`` is an asyncpg connection, or the proxy that a pool returns."""
    asyncpg = sys.modules.get("asyncpg")
    return asyncpg is not None and isinstance(candidate, asyncpg.Connection | asyncpg.pool.PoolConnectionProxy)


@cache
def numbered(name: str) -> tuple[str, tuple[str, ...]]:
    """The statement with numbered parameters, and the parameters' names in order. JSON is sent as text, because a JSON
    codec registered by the application would encode it a second time."""
    names: list[str] = []

    def number(found: re.Match[str]) -> str:
        names.append(found[1])
        return f"${len(names)}" + ("::text as jsonb" if found[2] else "")

    return re.sub(r"%\((\w+)\)s( as jsonb)?", number, statement(name)), tuple(names)


def encoding_of(connection: Fetches) -> str:
    """The Python name of the connection's text encoding."""
    name: str = connection.get_settings().get_text_codec().name
    return name


async def send(connection: Fetches, load: Load) -> None:
    """Sends the whole load in the connection's current transaction."""
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
        await asyncio.sleep(0)  # asyncpg's write yields to other tasks only when it blocks


def _values(column: tuple[Any, ...]) -> list[Any]:
    return [value.decode() if isinstance(value, bytes) else value for value in column]
