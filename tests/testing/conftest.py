"""The fixtures that an application defines: its database and its handlers."""

from typing import Any

import psycopg
import pytest

import pgsched
from pgsched.testing import pgsched_kit as pgsched_kit

Calls = list[tuple[str, Any]]


@pytest.fixture
def pgsched_database_url(database_url: str) -> str:
    return database_url


@pytest.fixture
def calls() -> Calls:
    """The calls of the handlers."""
    return []


@pytest.fixture
def pgsched_app(calls: Calls) -> pgsched.App:
    app = pgsched.App()

    @app.handler("ship")
    async def ship(payload: Any, context: pgsched.Context) -> dict[str, int]:
        calls.append(("ship", payload))
        return {"attempt": context.attempt}

    @app.handler("count")
    def count(payload: Any) -> None:
        calls.append(("count", payload))

    @app.handler("break")
    async def broken() -> None:
        raise ValueError("the printer is out of paper")

    @app.handler("book")
    async def book(payload: Any, connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.execute("insert into bookings values (%s)", [payload])

    return app
