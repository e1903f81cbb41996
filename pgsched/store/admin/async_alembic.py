"""Lets migrations use psycopg's async connection in an Alembic environment made from the async template.

SQLAlchemy runs such an environment in a greenlet beside the event loop. The method ``run_async`` of SQLAlchemy's
connection runs a coroutine on the loop and returns its result.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import AdaptedConnection

Driver = psycopg.AsyncConnection[Any]


class Rows:
    """The result rows of a statement."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = iter(rows)

    def __iter__(self) -> Iterator[Any]:
        return self._rows

    def fetchone(self) -> Any:
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        return list(self._rows)


class AwaitedConnection:
    """The part of ``psycopg.Connection`` that migrations use: ``execute`` and ``transaction``."""

    def __init__(self, adapted: AdaptedConnection) -> None:
        self._adapted = adapted

    def execute(self, query: Any, params: Any = None) -> Rows:
        async def executed(driver: Driver) -> Rows:
            cursor = await driver.execute(query, params)
            return Rows(await cursor.fetchall() if cursor.description else [])

        return self._adapted.run_async(executed)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Runs the block in a savepoint, which is released when the block ends and rolled back if it raises."""
        opened: Any = None

        async def begin(driver: Driver) -> None:
            nonlocal opened
            opened = driver.transaction()
            await opened.__aenter__()

        def end(error: BaseException | None) -> None:
            told = (type(error), error, error.__traceback__) if error else (None, None, None)
            self._adapted.run_async(lambda driver: opened.__aexit__(*told))

        self._adapted.run_async(begin)
        try:
            yield
        except BaseException as error:
            end(error)
            raise
        end(None)
